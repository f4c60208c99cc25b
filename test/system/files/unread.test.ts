/**
 * Clients ask for archives, files, output and logs, and do not read the answers: neither the service nor the agent collects them in memory, others
 * are served, and neither a stop of the Sandbox nor one of the service waits for the clients.
 */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { archivesAtATime, contentMaxBytes } from "../../../src/agent/files/limits.ts"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { skipped, unusable } from "../../support/host/namespace/TestHost.ts"

const MiB = 1024 ** 2
const readersOfEach = 64
const heldMaxBytes = 450 * MiB
const answeredWithinMs = 20_000
const endedWithinMs = 90_000
/** No answer waits for a client's patience. */
const stoppedWithinMs = 25_000

let service: ServiceProcess
let sandbox: string

const run = async (script: string) => {
  const { status, body } = await service.ask("POST", `${sandbox}/execute`, { argv: ["sh", "-c", script] })
  assert.strictEqual(status, 200, JSON.stringify(body))
  assert.strictEqual(body.result.exitCode, 0, body.result.stderr)
  return body.result.stdout.trim() as string
}

const archive = "/files/archive?path=/workspace/tree"

const paths = (operation: string): ReadonlyArray<readonly [path: string, head: string, count: number]> => [
  // As many archives as are made at one time.
  [archive, "", archivesAtATime / 2],
  [archive, "accept-encoding: gzip\r\n", archivesAtATime / 2],
  ["/files/content?path=/workspace/tree/0", "", readersOfEach],
  [`/operations/${operation}/output/stream`, "accept: text/event-stream\r\n", readersOfEach],
  // The last ones: a log goes on when its Sandbox is stopped.
  ["/logs/stream", "accept: text/event-stream\r\n", readersOfEach]
]

/** Has the head of the answer, and reads no more. */
const unread = async (path: string, head: string): Promise<Socket> => {
  const socket = connect({ host: service.host, port: service.port })
  socket.on("error", () => {})
  socket.write(
    `GET /api/v2${sandbox}${path} HTTP/1.1\r\nhost: ${service.host}\r\nauthorization: Bearer ${service.key}\r\nconnection: close\r\n${head}\r\n`
  )
  const [bytes] = (await once(socket, "data", { signal: AbortSignal.timeout(answeredWithinMs) }).catch(() =>
    assert.fail(`${path} is not answered`)
  )) as [Buffer]
  assert.match(bytes.toString("latin1"), /^HTTP\/1\.1 200 /, `${path}: ${bytes}`)
  socket.pause()
  return socket
}

const allUnread = async (operation: string): Promise<Array<Socket>> => {
  const sockets: Array<Socket> = []
  for (const [path, head, count] of paths(operation)) {
    sockets.push(...(await Promise.all(Array.from({ length: count }, () => unread(path, head)))))
  }
  return sockets
}

/** The clients read again: what is left, and the end. */
const ends = (sockets: ReadonlyArray<Socket>): Promise<unknown> =>
  Promise.race([
    Promise.all(
      sockets.map((socket) => {
        socket.resume()
        return socket.closed ? null : once(socket, "close")
      })
    ),
    sleep(endedWithinMs).then(() => assert.fail(`${sockets.filter(({ closed }) => !closed).length} have not ended`))
  ])

const counted = async (): Promise<string> => {
  // Far more than the kernel holds for a client, and no more than all of them can read within `endedWithinMs`.
  const loud = "for i in $(seq 256); do head -c 65536 /dev/zero | tr '\\\\0' x; sleep 0.02; done; sleep 3600"
  const { status, body } = await service.ask(
    "POST",
    `${sandbox}/operations`,
    { argv: ["sh", "-c", loud] },
    `loud ${performance.now()}`
  )
  assert.strictEqual(status, 202, JSON.stringify(body))
  return body.operation.id
}

describe.skipIf(skipped(unusable))("answers that no client reads", () => {
  beforeAll(async () => {
    service = await ServiceProcess.make({ ATOLL_VOLUME_BYTES: String(1024 * MiB) })
    await service.start()
    const { body } = await service.ask("POST", "/workspaces", { name: "unread" }, "w")
    const request = { workspaceId: body.workspace.id, networkEnabled: false }
    const made = await service.ask("POST", "/sandboxes?wait=running", request, "s")
    sandbox = `/sandboxes/${made.body.sandbox.id}`
    await run("mkdir tree && for i in 0 1 2 3; do head -c 64M /dev/urandom > tree/$i; done")
  }, 120_000)
  afterAll(async () => {
    await service.deleteSandboxes()
    await service.stop()
    service.remove()
  }, 120_000)

  it("hold little memory, delay no other client, and end with the Sandbox", { timeout: 240_000 }, async () => {
    const operation = await counted()
    const before = service.residentBytes
    const sockets = await allUnread(operation)
    let most = 0
    for (let at = 0; at < 50; at++) {
      assert.strictEqual(await run("echo on"), "on")
      most = Math.max(most, service.residentBytes - before)
      await sleep(50)
    }
    assert.isBelow(most, heldMaxBytes)
    const sum = await run(`head -c ${contentMaxBytes} tree/1 | sha256sum`)
    const { status, bytes } = await service.bytes("GET", `${sandbox}/files/content?path=/workspace/tree/1`)
    assert.deepStrictEqual([status, bytes.length], [200, contentMaxBytes])
    assert.strictEqual(sum.split(" ")[0], createHash("sha256").update(bytes).digest("hex"))
    for (const log of sockets.splice(-readersOfEach)) log.destroy()
    // Other archives come, too: each takes the slot of one that is not read.
    for (const head of ["", "accept-encoding: gzip\r\n"]) sockets.push(await unread(archive, head))
    const whole = await service.bytes("GET", `${sandbox}${archive}`)
    assert.deepStrictEqual([whole.status, whole.bytes.length > 256 * MiB], [200, true])
    const began = performance.now()
    let stopped = await service.ask("POST", `${sandbox}/stop`)
    while (stopped.body.sandbox.status === "stopping" && performance.now() - began < stoppedWithinMs) {
      await sleep(100)
      stopped = await service.ask("GET", sandbox)
    }
    assert.strictEqual(stopped.body.sandbox.status, "stopped", JSON.stringify(stopped.body))
    await ends(sockets)
    const started = await service.ask("POST", `${sandbox}/start?wait=running`)
    assert.strictEqual(started.body.sandbox.status, "running", JSON.stringify(started.body))
    assert.strictEqual(await run("ls tree | wc -l"), "4")
  })

  it("do not hold up the end of the service, and its Sandbox goes on", { timeout: 240_000 }, async () => {
    const sockets = await allUnread(await counted())
    const began = performance.now()
    await service.stop()
    assert.isBelow(performance.now() - began, stoppedWithinMs)
    await ends(sockets)
    await service.start()
    assert.strictEqual(await run("ls tree | wc -l"), "4")
  })
})
