/** The Sandbox's memory bounds the kernel's socket buffers, so that one Sandbox cannot take the host's memory. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { commandSpec, output, run } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2
const memoryBytes = 256 * MiB
/** The program stops at this size even without a bound, so that the host survives a failing test. */
const mostBytes = 2 * memoryBytes

/**
 * `kept(socket)` is the memory that the kernel reports for it (SO_MEMINFO: received, and sent and not yet received).
 */
const hoard = (pair: string, send: string) => `
import socket, struct
def kept(s):
  told = struct.unpack("9I", s.getsockopt(1, 55, 36))
  return told[0] + max(told[2], told[5])
sockets, total, idle = [], 0, 0
def larger(s):
  for option in (socket.SO_SNDBUF, socket.SO_RCVBUF): s.setsockopt(1, option, 1 << 23)
  s.setblocking(False)
${pair}
while total < ${mostBytes} and idle < 32:
  try:
    new = pair()
    for s in new: larger(s)
    sockets += new
    for _ in range(512):
      ${send}
  except OSError: pass
  before, total = total, sum(map(kept, sockets))
  idle = idle + 1 if total - before < 65536 else 0
print(total)
`

const hoards = {
  "TCP, IPv4": hoard(
    `server = socket.create_server(("127.0.0.1", 0))
def pair():
  here = socket.create_connection(server.getsockname(), 5)
  return [here, server.accept()[0]]`,
    "new[0].send(bytes(65536))"
  ),
  "TCP, IPv6": hoard(
    `server = socket.create_server(("::1", 0), family=socket.AF_INET6)
def pair():
  here = socket.create_connection(server.getsockname()[:2], 5)
  return [here, server.accept()[0]]`,
    "new[0].send(bytes(65536))"
  ),
  UDP: hoard(
    `def pair():
  there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  there.bind(("127.0.0.1", 0))
  here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  here.connect(there.getsockname())
  return [here, there]`,
    "new[0].send(bytes(60000))"
  ),
  "Unix stream": hoard("pair = lambda: list(socket.socketpair())", "new[0].send(bytes(65536))"),
  "Unix datagram": hoard("pair = lambda: list(socket.socketpair(type=socket.SOCK_DGRAM))", "new[0].send(bytes(65536))")
}

describe.skipIf(skipped(unusable) || !isRoot)("socket buffers", () => {
  const host = ManagedRuntime.make(freshDriver())
  const driver = Effect.promise(() => host.runPromise(Runtime))

  beforeAll(async () => {
    await host.runPromise(Effect.flatMap(Runtime, (it) => it.provision({ ...sandboxSpec("hoarder"), memoryBytes })))
  })
  afterAll(() => host.dispose())

  for (const [kind, program] of Object.entries(hoards))
    it.live(`of ${kind} are bounded by the Sandbox's memory`, () =>
      Effect.gen(function* () {
        const it = yield* driver
        if (it.capabilities.statements.some((line) => /not enforced.*memory|memory.*not enforced/.test(line))) return
        const guest = yield* it.guest("hoarder", 1)
        const { exited, stdout, stderr } = yield* run(guest, commandSpec(["python3", "-c", program]))
        // Either the kernel refuses the buffers, or it ends the program for taking too much memory.
        if (!exited.outOfMemory) assert.isBelow(Number.parseInt(stdout, 10), memoryBytes, stderr)
        assert.strictEqual(yield* output(guest, "echo well"), "well")
      })
    )
})
