/** Cooperative connections with the real OpenSSH client, `scp`, `sftp` and `rsync`, into a real namespace. */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Readable } from "node:stream"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { describe } from "vitest"
import { Atoll } from "../../../../clients/typescript/src/index.ts"
import type { CooperativeEnvelope } from "../../../../schemas/Cooperative.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { newSandboxOf } from "../../../support/SandboxCalls.ts"
import { sampleOf } from "../../../support/Scrape.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const installed = (program: string): boolean => {
  try {
    execFileSync("which", [program], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

const missing =
  unusable ??
  (["ssh", "scp", "rsync", "ssh-keygen"].every(installed) && existsSync("/usr/lib/openssh/sftp-server")
    ? null
    : "openssh-client, openssh-sftp-server and rsync are not all installed")

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const run = (program: string, args: ReadonlyArray<string>, input?: Buffer | string) =>
  Effect.promise<Ended>(
    () =>
      new Promise((resolve) => {
        const child = execFile(
          program,
          args,
          { timeout: 100_000, maxBuffer: 64 * 1024 ** 2 },
          (error, stdout, stderr) =>
            resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : null, stdout, stderr })
        )
        child.stdin?.on("error", () => {})
        child.stdin?.end(input)
      })
  )

const digest = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex")

/** A folder with a key, and a Sandbox with a grant for it. */
const grantedIn = Effect.fnUntraced(function* (networkEnabled: boolean) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "atoll-ssh-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  const keyFile = join(folder, "key")
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", keyFile])
  const publicKeys = [readFileSync(`${keyFile}.pub`, "utf8").trim()]
  const atoll = yield* ServedAtoll
  const { ask, id } = yield* Effect.promise(() => newSandboxOf(atoll, { networkEnabled }))
  /** Later connections use a new grant: a grant lasts for seconds, which may be over on a slow machine. */
  const again = Effect.promise(async (): Promise<CooperativeEnvelope> => {
    const envelope: CooperativeEnvelope = await ask("POST", "/cooperative-connection", 201, { publicKeys })
    writeFileSync(join(folder, "known_hosts"), `[${envelope.host}]:${envelope.port} ${envelope.hostKey}\n`)
    writeFileSync(
      join(folder, "config"),
      [
        "Host sandbox",
        `  HostName ${envelope.host}`,
        `  Port ${envelope.port}`,
        `  User ${envelope.username}`,
        `  IdentityFile ${keyFile}`,
        "  IdentitiesOnly yes",
        "  StrictHostKeyChecking yes",
        `  UserKnownHostsFile ${join(folder, "known_hosts")}`,
        "  LogLevel ERROR",
        ""
      ].join("\n")
    )
    return envelope
  })
  const { endpointId } = yield* again
  const configured = ["-F", join(folder, "config")]
  return {
    folder,
    id,
    ask,
    again,
    publicKeys,
    endpointId,
    configured,
    ssh: (command: ReadonlyArray<string>, input?: Buffer | string) =>
      run("ssh", [...configured, "-T", "sandbox", ...command], input)
  }
})

const granted = grantedIn(false)

const linesOf = (child: ChildProcess): AsyncIterator<string> =>
  createInterface({ input: child.stdout! })[Symbol.asyncIterator]()

/** Sends numbers, each when the one before has come back, until `end`, which returns how many came. */
const echoed = (write: (line: string) => unknown, lines: AsyncIterator<string>) => {
  let ends = false
  const done = (async () => {
    let number = 0
    while (!ends) {
      write(`${++number}\n`)
      const { value } = await lines.next()
      assert.strictEqual(value, String(number))
    }
    return number
  })()
  return {
    end: () => {
      ends = true
      return done
    }
  }
}

const settings = {
  ATOLL_SERVICE_ACCESS: "on",
  ATOLL_VOLUME_BYTES: String(256 * 1024 ** 2),
  ATOLL_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
  ATOLL_COOPERATIVE: "on",
  ATOLL_SSH_PORT: "0"
}

describe.skipIf(skipped(missing))("cooperative connections by OpenSSH", () => {
  layer(ServedAtoll.layer(freshDriver(settings), settings).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true,
    timeout: 240_000
  })((it) => {
    it.effect("run commands with exact exit codes, streams, input and signals", () =>
      Effect.gen(function* () {
        const { again, ssh } = yield* granted
        assert.deepStrictEqual(yield* ssh(["echo out; echo err >&2; pwd; exit 42"]), {
          code: 42,
          stdout: "out\n/workspace\n",
          stderr: "err\n"
        })
        const bytes = randomBytes(3_000_000)
        const { stdout } = yield* ssh(["sha256sum"], bytes)
        assert.strictEqual(stdout.split(" ")[0], digest(bytes))
        yield* again
        // As ssh reports a command that a signal ended.
        assert.strictEqual((yield* ssh(["kill -TERM $$"])).code, 255)
        assert.strictEqual((yield* ssh(["kill -40 $$"])).code, 255)
        assert.strictEqual((yield* ssh(["no-such-program"])).code, 127)
        const { stdout: told } = yield* ssh(['echo "$SSH_CONNECTION/$SSH_CLIENT"'])
        const { listeners, sourceIp } = yield* ServedAtoll
        const literally = (addresses: ReadonlyArray<string>) => addresses.join("|").replaceAll(".", "\\.")
        const client = literally([sourceIp])
        const server = literally(listeners.map(({ host }) => host))
        assert.match(told, new RegExp(`^${client} (\\d+) (?:${server}) (\\d+)/${client} \\1 \\2\n$`))
      }).pipe(Effect.scoped)
    )

    it.effect("keep background processes alive after the logout, with a terminal and without", () =>
      Effect.gen(function* () {
        const { again, configured, ssh } = yield* granted
        const quiet = ">/dev/null 2>&1 </dev/null &"
        const left = [`nohup sleep 4711 ${quiet}`, `setsid sleep 4712 ${quiet}`, `sleep 4713 ${quiet}`]
        for (const command of left) assert.strictEqual((yield* ssh([command])).code, 0)
        yield* again
        yield* run("ssh", [...configured, "-tt", "sandbox"], `nohup sleep 4714 ${quiet}\rexit\r`)
        const alive = Effect.map(ssh(["pgrep -x sleep -a | sort"]), ({ stdout }) => stdout.match(/\d+$/gm))
        // A process that a logout ends got its TERM before the agent gets the next command.
        assert.deepStrictEqual((yield* alive)?.toSorted(), ["4711", "4712", "4713", "4714"])
      }).pipe(Effect.scoped)
    )

    it.effect("give an interactive shell on a terminal", () =>
      Effect.gen(function* () {
        const { configured } = yield* granted
        const output = yield* Effect.promise(
          () =>
            new Promise<string>((resolve) => {
              const child = spawn("ssh", [...configured, "-tt", "sandbox"], { env: { ...process.env, TERM: "vt100" } })
              let text = ""
              // Each is typed once the one before has shown its effect: a ^C discards input that was not read yet.
              const steps: Array<readonly [seen: RegExp, typed: string]> = [
                [/vt100\r\n/, "typed\r"],
                [/typed\r\n.*typed\r\n/s, "\x03"],
                [/\^C/, "exit 5\r"]
              ]
              child.stdout.on("data", (chunk) => {
                text += chunk
                while (steps[0]?.[0].test(text)) child.stdin.write(steps.shift()![1])
              })
              child.on("close", (code) => resolve(`${text}[${code}]`))
              child.stdin.write("tty; echo $TERM; cat\r")
            })
        )
        assert.match(output, /\/dev\/pts\/\d+\r\nvt100\r\n/)
        assert.match(output, /\^C/)
        assert.match(output, /\[5\]$/)
      }).pipe(Effect.scoped)
    )

    it.effect(
      "go on, as terminals, tunnels and time limits do, over snapshots and forks; a copy has none of them",
      () =>
        Effect.gen(function* () {
          const { configured, endpointId, id, ask } = yield* grantedIn(true)
          const { key, port } = yield* ServedAtoll
          const atoll = new Atoll({ apiKey: key, url: `http://127.0.0.1:${port}` })
          yield* Effect.promise(async () => {
            const source = await atoll.sandboxes.get(id)
            const listener = `require("net").createServer((it) => it.pipe(it)).listen(3000, () => console.log("up"))`
            await source.start(["/opt/atoll/node", "-e", listener])
            const limited = await source.start(["sleep", "4715"], { timeoutSeconds: 5 })
            const preview = await source.previews.open(3000)

            const remote = spawn("ssh", [...configured, "-T", "sandbox", "cat"])
            const overSsh = echoed((line) => remote.stdin.write(line), linesOf(remote))
            const tunnel = await source.tunnel(3000)
            const overTunnel = echoed(
              (line) => tunnel.write(line),
              createInterface({ input: tunnel })[Symbol.asyncIterator]()
            )
            const terminal = await source.terminal()
            const typed = createInterface({ input: Readable.from(terminal.output()) })[Symbol.asyncIterator]()
            await terminal.write("stty raw -echo; echo ready; exec cat\n")
            while ((await typed.next()).value?.trim() !== "ready");
            const overTerminal = echoed((line) => terminal.write(line), typed)

            for (let taken = 0; taken < 5; taken++) await (await source.snapshot()).delete()
            const { snapshot, sandboxes } = await source.fork()
            const [copy] = sandboxes

            for (const stream of [overSsh, overTunnel, overTerminal]) assert.isAbove(await stream.end(), 5)
            remote.stdin.end()
            assert.deepStrictEqual(await once(remote, "close"), [0, null])
            tunnel.end()
            await terminal.close()
            await limited.wait()
            assert.strictEqual(limited.record.reason?.code, "TIMED_OUT")
            assert.strictEqual((await source.previews.get(3000)).id, preview.id)

            assert.deepStrictEqual(await copy!.processes(), [])
            for await (const _ of copy!.operations()) assert.fail("an operation of the source")
            assert.deepStrictEqual(await copy!.previews.list(), [])
            await copy!.delete()
            await snapshot.delete()
            await ask("DELETE", `/cooperative-connection/${endpointId}`, 202)
          })
        }).pipe(Effect.scoped)
    )

    it.effect("copy files with scp, sftp and rsync, both ways", () =>
      Effect.gen(function* () {
        const { again, configured, folder, ssh } = yield* granted
        const bytes = randomBytes(20_000_000)
        writeFileSync(join(folder, "up"), bytes)
        const up = yield* run("scp", [...configured, join(folder, "up"), "sandbox:/workspace/up"])
        assert.deepStrictEqual([up.code, up.stderr], [0, ""])
        assert.strictEqual((yield* ssh(["sha256sum up"])).stdout.split(" ")[0], digest(bytes))
        yield* again
        assert.strictEqual((yield* run("scp", [...configured, "sandbox:up", join(folder, "down")])).code, 0)
        assert.strictEqual(digest(readFileSync(join(folder, "down"))), digest(bytes))
        yield* again
        const batch = "mkdir d\nput up d/again\nrename d/again d/moved\nls -l d\n"
        const sftp = yield* run(
          "sftp",
          [...configured, "-b", "-", "sandbox"],
          batch.replace("put up", `put ${join(folder, "up")}`)
        )
        assert.strictEqual(sftp.code, 0, sftp.stderr)
        assert.include(sftp.stdout, "moved")
        yield* again
        mkdirSync(join(folder, "tree/deep/er"), { recursive: true })
        writeFileSync(join(folder, "tree/deep/er/a b"), "text")
        const rsync = ["-a", "-e", `ssh ${configured.join(" ")}`]
        const sent = yield* run("rsync", [...rsync, `${folder}/tree/`, "sandbox:tree/"])
        assert.deepStrictEqual([sent.code, sent.stderr], [0, ""])
        assert.strictEqual((yield* run("rsync", [...rsync, "sandbox:tree/", `${folder}/back/`])).code, 0)
        assert.strictEqual(readFileSync(join(folder, "back/deep/er/a b"), "utf8"), "text")
      }).pipe(Effect.scoped)
    )

    it.effect("forward to the Sandbox's own ports and to no others", () =>
      Effect.gen(function* () {
        const { configured } = yield* granted
        const server = spawn("ssh", [
          ...configured,
          "-T",
          "sandbox",
          '/opt/atoll/node -e \'require("http").createServer((q,r)=>r.end("inside")).listen(3000,()=>console.log(1))\''
        ])
        yield* Effect.promise(() => once(server.stdout, "data"))
        const local = 20_000 + Math.floor(Math.random() * 20_000)
        const tunnel = spawn("ssh", [
          ...configured,
          "-N",
          "-L",
          `${local}:localhost:3000`,
          "-L",
          `${local + 1}:1.1.1.1:80`,
          "sandbox"
        ])
        const fetched = yield* Effect.tryPromise(() =>
          fetch(`http://127.0.0.1:${local}/`).then((it) => it.text())
        ).pipe(Effect.retry({ times: 100, schedule: Schedule.spaced(50) }), Effect.orDie)
        assert.strictEqual(fetched, "inside")
        const outside = connect(local + 1, "127.0.0.1")
        outside.write("GET / HTTP/1.0\r\n\r\n")
        outside.on("data", () => assert.fail("reached the outside"))
        yield* Effect.promise(() => new Promise((resolve) => outside.on("error", () => {}).once("close", resolve)))
        tunnel.kill()
        server.kill()
      }).pipe(Effect.scoped)
    )

    it.effect("accept only a granted key, only in time, and end with revocation and with the Sandbox", () =>
      Effect.gen(function* () {
        const one = yield* granted
        const { ask, endpointId, publicKeys, configured, folder } = one
        const grant = `/cooperative-connection/${endpointId}`
        const other = join(folder, "other")
        execFileSync("ssh-keygen", ["-q", "-t", "rsa", "-b", "3072", "-N", "", "-f", other])
        const refused = yield* run("ssh", [
          ...configured,
          "-o",
          `IdentityFile=${other}`,
          "-T",
          `unknown@sandbox`,
          "true"
        ])
        assert.strictEqual(refused.code, 255)
        const otherKeys = [readFileSync(`${other}.pub`, "utf8").trim()]
        const wrong = yield* Effect.promise(() => ask("POST", grant, 400, { publicKeys: otherKeys }))
        assert.strictEqual(wrong.code, "INVALID_REQUEST")
        const keysTwice = { publicKeys: [...publicKeys, ...publicKeys] }
        const same = yield* Effect.promise(() => ask("POST", grant, 200, keysTwice))
        assert.strictEqual(same.endpointId, endpointId)
        const held = spawn("ssh", [...configured, "-T", "sandbox", "echo up; sleep 600"])
        yield* Effect.promise(() => once(held.stdout, "data"))
        const ended = once(held, "close")
        yield* Effect.promise(() => ask("DELETE", grant, 202))
        yield* Effect.promise(() => ended)
        assert.strictEqual((yield* one.ssh(["true"])).code, 255)
        const second = yield* granted
        const until = spawn("ssh", [...second.configured, "-T", "sandbox", "echo up; sleep 600"])
        yield* Effect.promise(() => once(until.stdout, "data"))
        const gone = once(until, "close")
        yield* Effect.promise(() => second.ask("POST", "/stop", 200))
        yield* Effect.promise(() => gone)
        const { scrapes } = yield* ServedAtoll
        // The service learns a moment later of the connections that a test before has closed.
        yield* Effect.repeat(Effect.promise(scrapes), {
          schedule: Schedule.spaced(50),
          until: (texts) => texts.every((text) => sampleOf(text, "atoll_connections_open") === 0)
        })
      }).pipe(Effect.scoped)
    )
  })
})
