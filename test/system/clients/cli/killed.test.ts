/**
 * Every command of the customer's command line, as a process of its own, in whose middle the service is killed and started again: nothing is
 * done twice, nothing is lost, and what cannot be known is said with what to do.
 *
 * The middle is a request that is held (HeldProxy): it never arrives, or only a part of it does, or its answer does not come back. One kill is
 * for many commands, and whichever of them was not in its middle by then, on a slow machine, is tried again.
 */
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isGroup } from "../../../../clients/typescript/src/cli/Command.ts"
import { commands } from "../../../../clients/typescript/src/cli/commands.ts"
import type { LogEntry } from "../../../../clients/typescript/src/generated/schemas.ts"
import { Atoll, type SandboxHandle, type TransitionEvent } from "../../../../clients/typescript/src/index.ts"
import { newSecret } from "../../../../src/account/ApiKeySecret.ts"
import { skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { serviceIn } from "../../../support/ServiceIn.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { untilFound } from "../../../support/until.ts"
import { type HeldProxy, type Hold, heldProxy } from "../HeldProxy.ts"
import { customerAt, type Ended, type Started } from "./Customer.ts"
import { imageCases } from "./imageCases.ts"
import {
  type Asked,
  besides,
  type Case,
  gathered,
  isDone,
  lostAndUnheard,
  type Middle,
  marked,
  requested,
  type World
} from "./killedCase.ts"
import { snapshotCases } from "./snapshotCases.ts"

const MiB = 1024 ** 2

/** Done, or: nobody knows, and what to do is said. */
const isDoneOr = ({ code, stderr }: Ended, advice: RegExp): void => {
  assert.strictEqual(besides(stderr).trim().split("\n").length, 1, stderr)
  if (code === 0) assert.strictEqual(besides(stderr), "")
  else assert.match(`${code}: ${besides(stderr)}`, advice)
}

/** Only reads: its answer is lost, and comes all the same. */
const reads =
  (words: ReadonlyArray<string>, line: RegExp, told: (stdout: string, world: World) => void): Case =>
  async (world) => {
    const command = await world.begin(words, { line })
    await world.restart()
    told(isDone(await command.ended), world)
  }

/** One a line; the last one may not be whole yet. */
const documents = <A>(stdout: string): ReadonlyArray<A> =>
  stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line))

const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** Counts until the test ends it, however long a service is away. */
const counting = (mark: string) => `i=0; until [ -e end-${mark} ]; do i=$((i+1)); echo $i; sleep 0.02; done; echo end`
const toldToEnd = (sandbox: SandboxHandle, mark: string) => sandbox.files.write(`end-${mark}`, "")
/** All that it wrote, each once. */
const isWhole = (output: string): void => {
  const count = output.split("\n").length - 2
  assert.strictEqual(output, `${Array.from({ length: count }, (_, at) => `${at + 1}\n`).join("")}end\n`)
}

const echo = `require("net").createServer((socket) => { socket.on("error", () => {}); socket.pipe(socket) }).listen(4000, "127.0.0.1")`

const activeUntil = async (sandbox: SandboxHandle): Promise<ReadonlyArray<string>> =>
  (await sandbox.previews.list()).filter(({ status }) => status === "active").map(({ expiresAt }) => expiresAt)

/** How many commands make one for themselves, and delete it. */
let ownSandboxes = 0

/** What the service said but for the requests that it answered well within a second. */
const faults = (said: string): string =>
  said
    .split("\n")
    .filter((line) => !(line.includes('"level":"INFO"') && /"durationMs":\d{1,3}[.}]/.test(line)))
    .slice(-200)
    .join("\n")

/** What comes back over a forwarded port; nothing where that carries nothing. */
const echoes = (localPort: number): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(localPort, "127.0.0.1")
    socket.on("error", () => {})
    socket.on("close", () => resolve(""))
    socket.on("data", (answer) => {
      resolve(answer.toString())
      socket.destroy()
    })
    socket.write("ping")
  })

/** With two large files, an executable one, and a link. */
const fillDirectory = (folder: string): void => {
  mkdirSync(join(folder, "below"), { recursive: true })
  writeFileSync(join(folder, "first"), randomBytes(6 * MiB))
  writeFileSync(join(folder, "below/second"), randomBytes(6 * MiB))
  writeFileSync(join(folder, "run"), "#!/bin/sh\n", { mode: 0o755 })
  symlinkSync("below/second", join(folder, "link"))
}

const sentAgain = /^1: atoll: .*Copy it again; every file is the old one or the new one/

const uploads =
  (hold: Hold, content: (folder: string) => string, asked: Asked = {}): Case =>
  async ({ begin, folder, mark, restart, sandbox }) => {
    const from = content(folder)
    const words = ["cp", from, `dev:${mark}`]
    const command = await begin(words, hold, asked)
    await restart()
    const ended = await command.ended
    isDoneOr(ended, sentAgain)
    if (ended.code !== 0) isDone(await command.customer.atoll(words, asked))
    const wanted = asked.input ?? readFileSync(from)
    assert.strictEqual(await sandbox.files.sha256(mark), digest(Buffer.from(wanted as Uint8Array)))
    await sandbox.files.remove(mark)
    const left = (await gathered(sandbox.files.list())).filter(({ name }) => name.startsWith(".atoll"))
    assert.deepStrictEqual(left, [])
  }

/** A case for each command: its words, and behind a colon what is the middle of it. */
const cases: Readonly<Record<string, Case>> = {
  login: async ({ begin, key, restart }) => {
    const command = await begin(["login"], { line: /^GET \/api\/v2\/me / }, { isNobody: true, input: `${key}\n` })
    await restart()
    assert.match(isDone(await command.ended), /^Logged in to http/)
    const stored = readFileSync(join(command.customer.folder, ".config/atoll/credentials.json"), "utf8")
    assert.deepStrictEqual(JSON.parse(stored), { url: command.customer.url, apiKey: key })
  },
  whoami: async ({ begin, restart }) => {
    const command = await begin(["whoami", "--json"], { line: /^GET \/api\/v2\/me / })
    await restart()
    assert.strictEqual(JSON.parse(isDone(await command.ended)).me.account.name, "default")
  },
  ...lostAndUnheard("logout", /^DELETE \/api\/v2\/auth /, async ({ anotherKey, begin, restart }, hold) => {
    const key = await anotherKey()
    const command = await begin(["logout", "--revoke"], hold, { isNobody: true, input: `${key}\n` })
    await restart()
    const { bare, folder, url, atoll } = command.customer
    assert.strictEqual(isDone(await command.ended), "Logged out.\n")
    assert.isFalse(existsSync(join(folder, ".config/atoll/credentials.json")))
    const useless = await atoll(["usage"], { env: { ...bare, ATOLL_URL: url, ATOLL_API_KEY: key } })
    assert.match(useless.stderr, /does not take this API key/)
  }),

  ...lostAndUnheard(
    "sandbox create",
    /^POST \/api\/v2\/sandboxes[ ?]/,
    async ({ atoll, begin, mark, restart }, hold) => {
      const command = await begin(["sandbox", "create", "--no-network", "-m", `mark=${mark}`], hold)
      await restart()
      const id = isDone(await command.ended).trim()
      const made = await marked(atoll, mark)
      assert.deepStrictEqual(
        made.map((sandbox) => [sandbox.id, sandbox.status]),
        [[id, "running"]]
      )
      await made[0]!.delete()
    }
  ),
  "sandbox list": reads(
    ["sandbox", "list", "-q", "--metadata", "mark=shared"],
    /^GET \/api\/v2\/sandboxes\?/,
    (stdout, { sandbox }) => assert.strictEqual(stdout, `${sandbox.id}\n`)
  ),
  "sandbox show": reads(["sandbox", "show", "dev", "--json"], /^GET \/api\/v2\/sandboxes\?/, (stdout, { sandbox }) =>
    assert.deepStrictEqual([JSON.parse(stdout).sandbox.id, JSON.parse(stdout).sandbox.status], [sandbox.id, "running"])
  ),
  ...lostAndUnheard("sandbox update", requested("PATCH", ""), async ({ another, begin, mark, restart }, hold) => {
    const sandbox = await another()
    const words = ["sandbox", "update", sandbox.id, "--name", mark]
    const command = await begin(words, hold)
    await restart()
    isDoneOr(await command.ended, /^1: .*It may have been done: look before you repeat it/)
    assert.strictEqual(isDone(await command.customer.atoll(words)), `${sandbox.id} (${mark}) is changed.\n`)
    await sandbox.delete()
  }),
  ...lostAndUnheard("sandbox stop", requested("POST", "/stop"), async ({ another, begin, restart }, hold) => {
    const sandbox = await another()
    const command = await begin(["sandbox", "stop", sandbox.id], hold)
    await restart()
    assert.strictEqual(isDone(await command.ended), `${sandbox.id} is stopped.\n`)
    assert.strictEqual((await sandbox.refresh()).status, "stopped")
    const stops = (await gathered(sandbox.transitions())).filter(({ to }) => to === "stopped")
    assert.lengthOf(stops, 1)
    await sandbox.delete()
  }),
  ...lostAndUnheard("sandbox start", requested("POST", "/start"), async ({ another, begin, restart }, hold) => {
    const sandbox = await another()
    await sandbox.stop()
    const command = await begin(["sandbox", "start", sandbox.id], hold)
    await restart()
    assert.strictEqual(isDone(await command.ended), `${sandbox.id} runs.\n`)
    const { status, generation } = (await sandbox.refresh()).record
    assert.deepStrictEqual([status, generation], ["running", 2], "it was booted once")
    await sandbox.delete()
  }),
  ...lostAndUnheard("sandbox delete", requested("DELETE", ""), async ({ another, begin, restart }, hold) => {
    const sandbox = await another()
    const command = await begin(["sandbox", "delete", sandbox.id], hold)
    await restart()
    assert.strictEqual(isDone(await command.ended), `${sandbox.id} is deleted.\n`)
    await untilFound(async () => (await sandbox.refresh()).status === "deleted")
  }),

  ...snapshotCases,
  ...imageCases,

  ...lostAndUnheard("run", requested("POST", "/operations"), async ({ begin, mark, restart, sandbox }, hold) => {
    const script = `echo once >> ${mark}; ${counting(mark)}; exit 3`
    const command = await begin(["run", "-s", "dev", "--", "sh", "-c", script], hold)
    await restart()
    await toldToEnd(sandbox, mark)
    const { code, stdout, stderr } = await command.ended
    assert.strictEqual(`${code}: ${besides(stderr)}`, "3: ")
    isWhole(stdout)
    assert.strictEqual(await sandbox.files.read(mark), "once\n")
  }),
  ...lostAndUnheard("run: in a new Sandbox", /^POST \/api\/v2\/sandboxes[ ?]/, async ({ begin, restart }, hold) => {
    ownSandboxes++
    const command = await begin(["run", "--no-network", "--", "hostname"], hold)
    await restart()
    isDone(await command.ended)
  }),

  "shell: it is open": async ({ begin, restart }) => {
    const command = await begin(["shell", "dev"], null, { input: null })
    command.child.stdin.write("echo $((6 * 7))\n")
    await command.hasSaid("42")
    await restart()
    const { code, stderr } = await command.ended
    assert.strictEqual(code, 125)
    assert.match(stderr, /^atoll: .*connection.*`atoll shell dev`.*\n$/i)
  },
  "shell: it is being opened": async ({ begin, restart }) => {
    const command = await begin(["shell", "dev"], { line: requested("GET", "/terminal") }, { input: "exit 4\n" })
    await restart()
    const { code, stderr } = await command.ended
    assert.deepStrictEqual([code, besides(stderr)], [4, ""])
  },
  "ssh: it is open": async ({ begin, restart }) => {
    const command = await begin(["ssh", "dev", "--", "cat"], null, { input: null })
    command.child.stdin.write("here\n")
    await command.hasSaid("here\n")
    await restart()
    const { code, stderr } = await command.ended
    assert.strictEqual(code, 255, "ssh's own")
    assert.match(stderr, /^atoll: .*connection.*`atoll ssh dev`/im)
    assert.strictEqual(isDone(await command.customer.atoll(["ssh", "dev", "--", "echo", "again"])), "again\n")
  },
  ...lostAndUnheard("ssh", requested("POST", "/cooperative-connection"), async ({ begin, restart }, hold) => {
    const words = ["ssh", "dev", "--", "echo", "here"]
    const command = await begin(words, hold)
    await restart()
    assert.strictEqual(isDone(await command.ended), "here\n")
  }),

  "cp: a file, its content is cut": uploads({ line: requested("POST", "/files/archive"), asked: 5 * MiB }, (folder) => {
    writeFileSync(join(folder, "large"), randomBytes(20 * MiB))
    return join(folder, "large")
  }),
  "cp: a file, its answer is lost": uploads({ line: requested("PUT", "/files/content") }, (folder) => {
    writeFileSync(join(folder, "small"), randomBytes(MiB))
    return join(folder, "small")
  }),
  "cp: stdin, it is not heard": uploads({ line: requested("PUT", "/files/content"), asked: 0 }, () => "-", {
    input: "from stdin"
  }),
  "cp: a directory, its content is cut": async ({ begin, folder, mark, restart, sandbox }) => {
    const from = join(folder, "from")
    fillDirectory(from)
    const words = ["cp", from, `dev:${mark}`]
    const command = await begin(words, { line: requested("POST", "/files/archive"), asked: 5 * MiB })
    await restart()
    const { code, stderr } = await command.ended
    assert.match(`${code}: ${besides(stderr)}`, sentAgain)
    // In a directory that is there, it would be under its own name.
    isDone(await command.customer.atoll(["cp", `${from}/.`, `dev:${mark}`]))
    const { stdout } = await sandbox.run(["readlink", `${mark}/link`])
    assert.strictEqual(stdout, "below/second\n")
    for (const name of ["first", "below/second", "run"])
      assert.strictEqual(await sandbox.files.sha256(`${mark}/${name}`), digest(readFileSync(join(from, name))), name)
    assert.strictEqual((await sandbox.files.stat(`${mark}/run`)).mode, "0755")
    await sandbox.files.remove(mark, { recursive: true })
  },
  "cp: a file out of it": async ({ begin, folder, mark, restart, sandbox }) => {
    const content = randomBytes(20 * MiB)
    await sandbox.files.write(mark, content)
    const command = await begin(["cp", `dev:${mark}`, folder], {
      line: requested("GET", "/files/content"),
      answered: 5 * MiB
    })
    await restart()
    isDone(await command.ended)
    assert.strictEqual(digest(readFileSync(join(folder, mark))), digest(content))
    assert.deepStrictEqual(
      readdirSync(folder).filter((name) => name.startsWith(".atoll")),
      []
    )
    await sandbox.files.remove(mark)
  },
  "cp: a file to stdout": async ({ begin, mark, restart, sandbox }) => {
    const content = randomBytes(9 * MiB).toString("base64")
    await sandbox.files.write(mark, content)
    const command = await begin(["cp", `dev:${mark}`, "-"], {
      line: requested("GET", "/files/content"),
      skips: 1,
      answered: MiB
    })
    await restart()
    assert.isTrue(isDone(await command.ended) === content)
    await sandbox.files.remove(mark)
  },
  "cp: a directory out of it": async ({ begin, folder, mark, restart, sandbox }) => {
    const from = join(folder, "from")
    fillDirectory(from)
    await sandbox.files.uploadDirectory(from, mark)
    const to = join(folder, "to")
    const command = await begin(["cp", `dev:${mark}`, to], {
      line: requested("GET", "/files/archive"),
      answered: 5 * MiB
    })
    await restart()
    isDone(await command.ended)
    for (const name of ["first", "below/second", "run", "link"]) {
      assert.isTrue(readFileSync(join(to, name)).equals(readFileSync(join(from, name))), name)
      assert.strictEqual(lstatSync(join(to, name)).mode, lstatSync(join(from, name)).mode, name)
    }
    assert.deepStrictEqual(readdirSync(to).toSorted(), readdirSync(from).toSorted())
    await sandbox.files.remove(mark, { recursive: true })
  },

  ...lostAndUnheard("open", requested("POST", "/previews"), async ({ atoll, begin, restart }, hold) => {
    const sandbox = await atoll.sandboxes.create({ networkEnabled: true })
    const words = ["open", sandbox.id, "3000", "--wait", "0s"]
    const command = await begin(words, hold)
    await restart()
    isDoneOr(await command.ended, /^1: .*It may be open: the same command again shows its URL/)
    const { preview } = JSON.parse(isDone(await command.customer.atoll([...words, "--json"])))
    assert.deepStrictEqual(await activeUntil(sandbox), [preview.expiresAt])
    await sandbox.delete()
  }),
  "open: --replace, its answer is lost": async ({ atoll, begin, restart }) => {
    const sandbox = await atoll.sandboxes.create({ networkEnabled: true })
    await sandbox.previews.open(3000, { withinSeconds: 0 })
    const words = ["open", sandbox.id, "3000", "--wait", "0s", "--replace", "--json"]
    const command = await begin(words, { line: requested("POST", "/previews") })
    await restart()
    const { preview } = JSON.parse(isDone(await command.ended))
    assert.deepStrictEqual(await activeUntil(sandbox), [preview.expiresAt])
    await sandbox.delete()
  },

  forward: async ({ begin, restart }) => {
    const command = await begin(["forward", "dev", "0:4000", "--json"], null, { input: null })
    await command.hasSaid("forwards")
    const { localPort } = JSON.parse(command.stdout()).forwards[0]
    const held: Socket = connect(localPort, "127.0.0.1")
    held.on("error", () => {}).write("ping")
    const [answer] = await once(held, "data")
    assert.strictEqual(String(answer), "ping")
    const ended = once(held, "close")
    await restart()
    await ended
    await untilFound(async () => (await echoes(localPort)) === "ping")
    command.child.kill("SIGINT")
    assert.strictEqual((await command.ended).code, 0)
  },

  "logs: -f": async ({ another, atoll, begin, mark, restart }) => {
    const sandbox = await another()
    const writer = await sandbox.start(["sh", "-c", counting(mark)])
    const command = await begin(["logs", sandbox.id, "-f", "--json", "--source", "process", "--limit", "1000"], null)
    await command.hasSaid(String.raw`5\n`)
    await restart()
    await toldToEnd(sandbox, mark)
    await writer.wait()
    await command.hasSaid(String.raw`end\n`)
    command.child.kill("SIGINT")
    const { stdout } = await command.ended
    const told = documents<LogEntry>(stdout)
    const parameters = { id: sandbox.id, source: "process", limit: 5000 } as const
    const all = (await atoll.api.call("readLogs", { parameters })).logs.entries
    assert.deepStrictEqual(
      told.map(({ id, text }) => [id, text]),
      all.map(({ id, text }) => [id, text]),
      "each once, in order"
    )
    isWhole(told.map(({ text }) => text).join(""))
    await sandbox.delete()
  },
  logs: reads(["logs", "dev", "--source", "process", "--limit", "1", "--json"], requested("GET", "/logs"), (stdout) =>
    assert.isArray(JSON.parse(stdout).logs.entries)
  ),
  "events: -f": async ({ another, begin, mark, restart }) => {
    const sandbox = await another()
    const command = await begin(["events", sandbox.id, "-f", "--json"], null)
    // They are told from now on, and now is when something of them came.
    while (command.stdout() === "" && command.child.exitCode === null) await sandbox.run(["true"])
    const started = await Promise.all(Array.from({ length: 5 }, () => sandbox.start(["sh", "-c", counting(mark)])))
    await restart()
    await toldToEnd(sandbox, mark)
    await Promise.all(started.map((operation) => operation.wait()))
    const last = await sandbox.start(["true"])
    await last.wait()
    const wanted = await Promise.all(
      [...started, last].map(async (operation) => [
        operation.id,
        (await gathered(operation.transitions())).map(({ revision }) => revision)
      ])
    )
    const told = () => documents<TransitionEvent>(command.stdout())
    await untilFound(() => told().some(({ actorId, to }) => actorId === last.id && to === "completed"))
    command.child.kill("SIGINT")
    await command.ended
    assert.deepStrictEqual(
      wanted.map(([id]) => [
        id,
        told()
          .filter(({ actorId }) => actorId === id)
          .map(({ revision }) => revision)
      ]),
      wanted,
      "each once, in order"
    )
    await sandbox.delete()
  },
  events: reads(["events", "dev", "--json"], requested("GET", "/transitions"), (stdout, { sandbox }) =>
    assert.strictEqual(JSON.parse(stdout).transitions[0].actorId, sandbox.id)
  ),

  "operation list": async ({ another, begin, restart }) => {
    const sandbox = await another()
    const ids = [(await sandbox.start(["true"])).id, (await sandbox.start(["true"])).id]
    const command = await begin(["operation", "list", sandbox.id, "--json"], { line: requested("GET", "/operations") })
    await restart()
    const { operations } = JSON.parse(isDone(await command.ended))
    assert.deepStrictEqual(
      operations.map(({ id }: { id: string }) => id),
      ids.toReversed()
    )
    await sandbox.delete()
  },
  "operation show": async ({ begin, restart, sandbox }) => {
    const operation = await sandbox.start(["true"])
    await operation.wait()
    const command = await begin(["operation", "show", "dev", operation.id, "--json"], {
      line: requested("GET", "/operations/\\w+")
    })
    await restart()
    assert.deepStrictEqual(JSON.parse(isDone(await command.ended)).operation, await operation.refresh())
  },
  "operation output": async ({ begin, mark, restart, sandbox }) => {
    const operation = await sandbox.start(["sh", "-c", `${counting(mark)}; exit 5`])
    const command = await begin(["operation", "output", "dev", operation.id], null)
    await command.hasSaid("\n5\n")
    await restart()
    await toldToEnd(sandbox, mark)
    const { code, stdout, stderr } = await command.ended
    assert.strictEqual(`${code}: ${besides(stderr)}`, "5: ")
    isWhole(stdout)
  },
  ...lostAndUnheard("operation cancel", requested("POST", "/operations/\\w+/cancel"), async (world, hold) => {
    const { begin, restart, sandbox } = world
    const operation = await sandbox.start(["sleep", "600"])
    const command = await begin(["operation", "cancel", "dev", operation.id], hold)
    await restart()
    assert.match(isDone(await command.ended), /^op_\w+ is cancelled/)
    assert.strictEqual((await operation.wait()).status, "cancelled")
  }),

  usage: reads(["usage", "--json"], /^GET \/api\/v2\/usage/, (stdout) =>
    assert.deepStrictEqual(Object.keys(JSON.parse(stdout)), ["usage", "balance", "costs"])
  ),
  ...lostAndUnheard("mcp", /^POST \/mcp /, async ({ begin, mark, restart, sandbox }, hold) => {
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "run", arguments: { sandboxId: sandbox.id, command: `echo once >> ${mark}; cat ${mark}` } }
    }
    // Before it calls one, it asks which tools there are.
    const command = await begin(["mcp"], { ...hold, skips: 1 }, { input: `${JSON.stringify(call)}\n` })
    await restart()
    const { result } = JSON.parse(isDone(await command.ended))
    assert.include(JSON.stringify(result), "once")
    assert.strictEqual(await sandbox.files.read(mark), "once\n")
  }),
  completion: async ({ begin, restart }) => {
    const words = ["__complete", "sandbox", "show", ""]
    // A user who types waits for 2 s at most, and for no service.
    const command = await begin(words, { line: /^GET \/api\/v2\/sandboxes\?/ }, { mayBeOver: true })
    await restart()
    isDone(await command.ended)
    await untilFound(async () => /^dev\trunning$/m.test(isDone(await command.customer.atoll(words))))
  }
}

/** At so many commands at once one kill is aimed. */
const groupSize = 24
/** What is held waits no longer for the slower ones: a client gives a request up that nobody answers for half a minute. */
const heldMs = 12_000
/** From the time at which the service is back. */
const withinMs = 120_000

/** The kill came before the case was in its middle: it is tried again. */
class TooEarly extends Error {}

/** One kill, and what waits for it and for its end. */
class Kill {
  #isOver = false
  #left: number
  #aim = () => {}
  readonly #hit = Promise.withResolvers<void>()
  readonly #back = Promise.withResolvers<void>()
  readonly #prepared = Promise.withResolvers<void>()
  #unprepared: number
  /** Resolves when it is to be done: all are in their middles, or one has waited long enough. */
  readonly aimed = new Promise<void>((resolve) => {
    this.#aim = resolve
  })

  constructor(count: number) {
    this.#left = count
    this.#unprepared = count
  }

  /** Resolves when all are prepared. */
  prepared(): Promise<void> {
    if (--this.#unprepared === 0) this.#prepared.resolve()
    return this.#prepared.promise
  }

  /** A case failed before its middle: nobody is to wait for it. */
  giveUp(): void {
    this.#prepared.resolve()
    this.#aim()
  }

  /** A case is in its middle. */
  ready(): void {
    if (--this.#left === 0) this.#aim()
    setTimeout(this.#aim, heldMs).unref()
  }

  get isOver(): boolean {
    return this.#isOver
  }

  hit(): void {
    this.#isOver = true
    this.#hit.resolve()
  }

  back(): void {
    this.#back.resolve()
  }

  get isHit(): Promise<void> {
    return this.#hit.promise
  }

  get isBack(): Promise<void> {
    return this.#back.promise
  }
}

const commandNames = commands.flatMap((one) =>
  isGroup(one) ? one.commands.map(({ name }) => `${one.name} ${name}`) : [one.name]
)

describe.skipIf(skipped(unusable))("the customer's command line over a service that is killed", () => {
  it("has a case for each command", () => {
    const covered = new Set(Object.keys(cases).map((name) => name.split(":")[0]!))
    assert.deepStrictEqual([...covered].toSorted(), commandNames.toSorted())
  })

  it.live(
    "does nothing twice and loses nothing, in the middle of each",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        const root = yield* testFolder
        const key = newSecret()
        const service = yield* serviceIn(join(root, "data"), key, {
          DATABASE_URL: url,
          ATOLL_VOLUME_BYTES: String(256 * MiB),
          ATOLL_SANDBOXES_PER_ACCOUNT: "100",
          ATOLL_COOPERATIVE: "on",
          ATOLL_SSH_PORT: "0",
          ATOLL_SERVICE_ACCESS: "on"
        })
        const start = () => Effect.runPromise(service.start)
        yield* Effect.promise(async () => {
          let running = await start()
          const place: { port: number | null } = { port: running.port }
          const proxies: Array<HeldProxy> = []
          const children: Array<Started> = []
          const plain = await heldProxy(place, null)
          proxies.push(plain)
          const atoll = new Atoll({ apiKey: key, url: `http://127.0.0.1:${plain.port}`, patienceSeconds: 120 })
          const sandbox = await atoll.sandboxes.create({
            name: "dev",
            networkEnabled: false,
            metadata: { mark: "shared" }
          })
          await sandbox.start(["node", "-e", echo])

          let pending = Object.entries(cases)
          const failures: Array<string> = []
          try {
            for (let round = 0; pending.length > 0; round++) {
              const group = pending.slice(0, groupSize)
              const kill = new Kill(group.length)
              const again: typeof pending = []
              const runs = group.map(async ([name, run], at) => {
                const mark = `case-${round}-${at}`
                const folder = join(root, mark)
                mkdirSync(folder)
                const started: Array<Started> = []
                let isInMiddle = false
                const begin = async (
                  words: ReadonlyArray<string>,
                  hold: Hold | null,
                  { isNobody = false, mayBeOver = false, ...asked }: Asked = {}
                ): Promise<Middle> => {
                  await kill.prepared()
                  const proxy = await heldProxy(place, hold)
                  proxies.push(proxy)
                  const home = join(folder, "home")
                  mkdirSync(home)
                  const customer = customerAt(home, { url: `http://127.0.0.1:${proxy.port}`, key })
                  const own = isNobody ? { ...customer.bare, ATOLL_URL: customer.url } : customer.environment
                  // Whatever it writes down for a while is there, and gone at its end.
                  const env = { ...own, TMPDIR: folder }
                  if (isNobody && words[0] !== "login") isDone(await customer.atoll(["login"], { env, ...asked }))
                  const command = customer.start(words, { env, ...asked })
                  started.push(command)
                  children.push(command)
                  const over = command.ended.then((ended) => {
                    throw new Error(`It was over first: ${JSON.stringify(ended)}`)
                  })
                  over.catch(() => {})
                  if (hold !== null) await Promise.race([proxy.reached, mayBeOver ? command.ended : over])
                  return { ...command, customer }
                }
                const world: World = {
                  atoll,
                  sandbox,
                  mark,
                  folder,
                  key,
                  begin,
                  another: () => atoll.sandboxes.create({ networkEnabled: false }),
                  anotherKey: async () => {
                    const made = await Effect.runPromise(
                      service.atoll("keys", "create", "--account", "default", "--scopes", "all")
                    )
                    return made.stdout.trim()
                  },
                  restart: async () => {
                    if (kill.isOver) throw new TooEarly()
                    isInMiddle = true
                    kill.ready()
                    await kill.isBack
                  }
                }
                const early = kill.isHit.then(() => {
                  if (!isInMiddle) throw new TooEarly()
                  return new Promise<never>(() => {})
                })
                const late = kill.isBack.then(async () => {
                  await sleep(withinMs, null, { ref: false })
                  throw new Error(`It is not over ${withinMs / 1000} s after the service was back.`)
                })
                late.catch(() => {})
                try {
                  await Promise.race([run(world), early, late])
                  assert.deepStrictEqual(
                    readdirSync(folder).filter((file) => file.startsWith("atoll-")),
                    []
                  )
                } catch (thrown) {
                  for (const { child } of started) child.kill("SIGKILL")
                  if (kill.isOver && !isInMiddle) return void again.push([name, run])
                  failures.push(`${name}: ${thrown instanceof Error ? thrown.stack : String(thrown)}`)
                  if (!isInMiddle) kill.giveUp()
                }
              })
              await kill.aimed
              const exited = once(running.child, "exit")
              kill.hit()
              running.child.kill("SIGKILL")
              await exited
              for (const proxy of proxies) proxy.release()
              place.port = null
              running = await start()
              place.port = running.port
              kill.back()
              await Promise.all(runs)
              const { exitCode, signalCode } = running.child
              assert.deepStrictEqual(failures, [], `exit ${exitCode ?? signalCode}: ${faults(running.said())}`)
              pending = [...pending.slice(groupSize), ...again]
            }
            const own = (await gathered(atoll.sandboxes.list())).filter(({ record }) => record.name === "atoll run")
            assert.isAtMost(own.length, ownSandboxes, "one for each command")
            for (const one of own) await untilFound(async () => (await one.refresh()).status === "deleted")
          } finally {
            for (const { child } of children) child.kill("SIGKILL")
            for (const proxy of proxies) proxy.close()
          }
        })
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare)),
    900_000
  )
})
