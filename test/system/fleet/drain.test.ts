/**
 * A host is drained while clients use its Sandboxes in every way that holds a connection: each use ends, with its reason, and the uses of the other
 * host's Sandboxes go on. Then the host is used again, with everything that was written there.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Atoll, AtollError } from "../../../clients/typescript/src/index.ts"
import type { Sandbox } from "../../../clients/typescript/src/Sandbox.ts"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { atoll } from "../../support/commandLine.ts"
import type { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { Fleet } from "../../support/fleet/Fleet.ts"
import { logErrors } from "../../support/logErrors.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { refusal } from "./refusal.ts"

const httpPort = 8000
const rawPort = 9000
const endedWithinMs = 60_000
/** Of the other host's uses: no step takes this long. */
const stillWithinMs = 10_000
const largeBytes = 512 * 1024 ** 2

/** Counts on two ports without end: as an HTTP answer in chunks, and as bare lines. */
const counter = `
import socket, threading, time
head = b"HTTP/1.1 200 OK\\r\\ncontent-type: text/plain\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n"
def one(connection, isHttp):
    try:
        if isHttp:
            connection.recv(65536)
            connection.sendall(head)
        at = 0
        while True:
            line = b"%d\\n" % at
            connection.sendall(b"%x\\r\\n%s\\r\\n" % (len(line), line) if isHttp else line)
            at += 1
            time.sleep(0.05)
    except OSError:
        connection.close()
def serve(port, isHttp):
    server = socket.create_server(("127.0.0.1", port))
    while True:
        threading.Thread(target=one, args=(server.accept()[0], isHttp), daemon=True).start()
threading.Thread(target=serve, args=(${httpPort}, True), daemon=True).start()
serve(${rawPort}, False)
`

const counting = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; done"

/** How a use may end: with a reason, or with an error that its client makes of a cut connection. The program's own end may come first. */
const endings: ReadonlyArray<RegExp> = [
  /^(operation|wait): failed HOST_DRAINING$/,
  /^(execute|upload): 502 SANDBOX_UNAVAILABLE$/,
  /^download: (SANDBOX_UNAVAILABLE|RUNTIME_UNAVAILABLE|ConnectionError)$/,
  /^terminal: (ConnectionLost|ended)$/,
  /^tunnel: (ConnectionLost|ended)$/,
  /^preview: Error$/
]

/** Something that a client does with a Sandbox until it is ended. */
interface Use {
  readonly name: string
  /** Steps so far: pieces that came or went. */
  steps: number
  /** How it ended; null: it goes on. */
  end: string | null
}

const reasonOf = (thrown: unknown): string =>
  thrown instanceof AtollError ? thrown.code : thrown instanceof Error ? thrown.name : String(thrown)

const use = (name: string, work: (step: () => void) => Promise<string>): Use => {
  const made: Use = { name, steps: 0, end: null }
  work(() => void made.steps++).then(
    (end) => Object.assign(made, { end }),
    (thrown) => Object.assign(made, { end: reasonOf(thrown) })
  )
  return made
}

const eachOf = async (pieces: AsyncIterable<unknown>, step: () => void): Promise<string> => {
  for await (const _ of pieces) step()
  return "ended"
}

/** Bytes without end, slowly. */
const slowBytes = (step: () => void) =>
  new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      await sleep(50)
      controller.enqueue(new Uint8Array(1024))
      step()
    }
  })

const usesOf = async (sandbox: Sandbox, service: ServiceProcess, key: string): Promise<ReadonlyArray<Use>> => {
  await sandbox.run(["truncate", "-s", String(largeBytes), "/workspace/large"])
  await sandbox.files.write("/workspace/note", `of ${sandbox.id}`)
  await sandbox.start(["python3", "-c", counter])
  const preview = await sandbox.previews.open(httpPort)
  const counted = await sandbox.start(["sh", "-c", counting])
  const tunnel = await sandbox.tunnel(rawPort)
  const terminal = await sandbox.terminal()
  const url = `http://${service.host}:${service.port}/api/v2/sandboxes/${sandbox.id}`
  const request = (path: string, init: RequestInit) =>
    fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } })
  return [
    use("operation", async (step) => {
      await eachOf(counted.output(), step)
      const { status, reason } = await counted.refresh()
      return `${status} ${reason?.code}`
    }),
    use("wait", async () => {
      const { status, reason } = await counted.wait()
      return `${status} ${reason?.code}`
    }),
    use("execute", async () => {
      const answer = await request("/execute", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ argv: ["sleep", "600"], timeoutSeconds: 120 })
      })
      const body = (await answer.json()) as { readonly code?: string }
      return `${answer.status} ${body.code}`
    }),
    use("terminal", async (step) => {
      await terminal.write("while :; do date; sleep 0.1; done\n")
      return eachOf(terminal.output(), step)
    }),
    use("tunnel", (step) => eachOf(tunnel, step)),
    use("preview", async (step) => {
      const { body } = await preview.fetch("/")
      return eachOf(body! as AsyncIterable<unknown>, step)
    }),
    use("download", async (step) => {
      const slowly = async function* () {
        for await (const piece of sandbox.files.readStream("/workspace/large")) {
          yield piece
          await sleep(100)
        }
      }
      return eachOf(slowly(), step)
    }),
    use("upload", async (step) => {
      const init = {
        method: "PUT",
        headers: { "content-type": "application/octet-stream" },
        body: slowBytes(step),
        duplex: "half"
      } as RequestInit
      const answer = await request("/files/content?path=/workspace/new", init)
      return `${answer.status} ${((await answer.json()) as { readonly code?: string }).code}`
    })
  ]
}

const told = (uses: ReadonlyArray<Use>) => uses.map(({ name, end }) => `${name}: ${end}`)

const until = async (isDone: () => boolean, withinMs: number): Promise<boolean> => {
  for (const end = Date.now() + withinMs; !isDone(); await sleep(50)) if (Date.now() > end) return false
  return true
}

describe.skipIf(refusal !== null)("a host that is drained under load", () => {
  it.live(
    "ends every use of its Sandboxes with a reason, disturbs no other host, and is used again with all data",
    () =>
      Effect.gen(function* () {
        const key = newSecret()
        const fleet = yield* Fleet.make({
          key,
          environment: { ATOLL_VOLUME_BYTES: String(1024 ** 3), ATOLL_SERVICE_ACCESS: "on" }
        })
        const { services, hosts } = fleet
        const [service, other] = services as [ServiceProcess, ServiceProcess]
        const clientOf = ({ host, port }: ServiceProcess) =>
          new Atoll({ apiKey: key, url: `http://${host}:${port}`, patienceSeconds: 5 })
        const [client, otherClient] = [clientOf(service), clientOf(other)]
        const homeOf = (id: string) => hosts.find(({ alive }) => alive.some(({ sandboxId }) => sandboxId === id))!
        const sandboxes = yield* Effect.promise(async () => {
          const made: Array<Sandbox> = []
          while (made.length < 2 || new Set(made.map(({ id }) => homeOf(id))).size < 2)
            made.push(await client.sandboxes.create({ networkEnabled: true }))
          return made
        })
        const drained = homeOf(sandboxes[0]!.id)
        const isDrained = ({ id }: Sandbox) => drainedIds.has(id)
        const drainedIds = new Set(sandboxes.map(({ id }) => id).filter((id) => homeOf(id) === drained))
        // One half through each service.
        const uses = yield* Effect.promise(async () => {
          const opened = new Map<string, ReadonlyArray<Use>>()
          for (const [index, { id }] of sandboxes.entries()) {
            const sandbox = await (index % 2 === 0 ? client : otherClient).sandboxes.get(id)
            opened.set(id, await usesOf(sandbox, index % 2 === 0 ? service : other, key))
          }
          const waiting = ["wait", "execute"]
          const moves = () =>
            [...opened.values()].flat().every(({ name, steps }) => steps > 3 || waiting.includes(name))
          assert.isTrue(await until(moves, endedWithinMs), JSON.stringify([...opened.values()]))
          return opened
        })
        const usesHere = [...uses].flatMap(([id, some]) => (drainedIds.has(id) ? some : []))
        const usesThere = [...uses].flatMap(([id, some]) => (drainedIds.has(id) ? [] : some))
        assert.deepStrictEqual(
          [...usesHere, ...usesThere].filter(({ end }) => end !== null),
          []
        )
        const asked = yield* atoll("hosts", "drain", drained.id)
        assert.strictEqual(asked.code, 0, asked.stderr)
        yield* Effect.promise(async () => {
          const haveEnded = () => usesHere.every(({ end }) => end !== null)
          assert.isTrue(await until(haveEnded, endedWithinMs), told(usesHere).join("\n"))
          assert.deepStrictEqual(
            told(usesHere).filter((line) => !endings.some((known) => known.test(line))),
            []
          )
          for (const sandbox of sandboxes.filter(isDrained)) {
            await sandbox.refresh()
            assert.deepStrictEqual([sandbox.status, sandbox.record.statusReason?.code], ["stopped", "HOST_DRAINING"])
          }
          // The others' go on.
          assert.deepStrictEqual(
            usesThere.filter(({ end }) => end !== null),
            []
          )
          const before = usesThere.map(({ steps }) => steps)
          const goOn = () =>
            usesThere.every(({ name, steps }, at) => steps > before[at]! || ["wait", "execute"].includes(name))
          assert.isTrue(await until(goOn, stillWithinMs), JSON.stringify(usesThere))
          for (const sandbox of sandboxes.filter(isDrained)) {
            const refused = await sandbox.boot().catch(reasonOf)
            assert.strictEqual(refused, "SANDBOX_UNAVAILABLE")
          }
        })
        const again = yield* atoll("hosts", "uncordon", drained.id)
        assert.strictEqual(again.code, 0, again.stderr)
        yield* Effect.promise(async () => {
          await fleet.untilReady()
          for (const sandbox of sandboxes.filter(isDrained)) {
            await sandbox.boot()
            assert.strictEqual(await sandbox.files.read("/workspace/note"), `of ${sandbox.id}`)
          }
          const errors = services.flatMap(({ log }) => logErrors(log))
          assert.deepStrictEqual(errors, [])
          assert.deepStrictEqual(await fleet.retire(), [])
          for (const { name, end } of usesThere) assert.isNotNull(end, name)
        })
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
    600_000
  )
})
