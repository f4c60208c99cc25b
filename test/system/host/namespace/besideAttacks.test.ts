/**
 * Every attack that a program inside a Sandbox can try against others, all by one tenant, in the running service,
 * beside another tenant, whose results stay exact and whose requests take as long as before.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { describe } from "vitest"
import { Operations } from "../../../../src/operation/Operations.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import { runningSandboxOf } from "../../../support/GatewayServer.ts"
import { isRoot, networkUnusable, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { namespaceAtoll } from "../../../support/NamespaceAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { command, request, untilStatus } from "../../../support/TestSandboxes.ts"
import { thicket } from "./thicket.ts"

/** Of a request, at its median: so many times its duration before, and a moment of the machine's. */
const slower = { times: 4, andMs: 200 }
/** Of any request. */
const atMostMs = 10_000

const python = (code: string) => ["python3", "-c", code]

/** Each ends by itself, or goes on until its Sandbox ends. */
const attacks: Readonly<Record<string, ReadonlyArray<string>>> = {
  "a /tmp of many names": python(`
import os
open("/tmp/it", "w").close()
for n in range(200000):
    try: os.link("/tmp/it", f"/tmp/{n}")
    except OSError: os.remove("/tmp/it"); open("/tmp/it", "w").close()`),
  "a /tmp of any shape": python(thicket("/tmp")),
  "nested cgroups": python(`
import os
os.chdir("/opt/atoll/cgroup")
try:
    for _ in range(40): os.mkdir("d" * 200); os.chdir("d" * 200)
except OSError: pass`),
  "forged marks": [
    "sh",
    "-c",
    `I=$(tr '\\0' '\\n' </proc/1/environ | sed -n 's/^ATOLL_SANDBOX=\\([^/]*\\).*/\\1/p')
for claim in "$I/bad id!/1" "$I/ghost/1" "//" "$I/$(printf '\\033[2J')/1"; do ATOLL_SANDBOX="$claim" setsid sleep 900 >/dev/null 2>&1 & done`
  ],
  "every terminal": python(`
import os, time
held = []
try:
    while True: held.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
except OSError: pass
print(len(held), flush=True)`),
  "a flood of datagrams": python(`
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.time() + 1
while time.time() < end:
    try: s.sendto(bytes(1000), ("10.0.2.3", 53))
    except OSError: time.sleep(0.01)`),
  "signals to its own agent": ["sh", "-c", "for pid in $(pgrep node); do kill -USR1 $pid; done; true"],
  "many names in one folder": python(`
import os
os.makedirs("/workspace/wide")
for n in range(5000): open(f"/workspace/wide/{'n' * 200}{n}", "w").close()`),
  "every inotify instance, timer and descriptor": python(`
import ctypes
libc = ctypes.CDLL(None)
timer = ctypes.c_int()
while libc.inotify_init1(0) >= 0: pass
for _ in range(200000):
    if libc.syscall(222, 1, None, ctypes.byref(timer)) < 0: break
while libc.syscall(283, 1, 0) >= 0: pass`),
  "all of System V's objects": python(`
import ctypes
libc = ctypes.CDLL(None)
for n in range(40000):
    if libc.semget(0, 200, 0o1666) < 0: break
for n in range(5000):
    if libc.shmget(0, 1 << 30, 0o1666) < 0 or libc.msgget(0, 0o1666) < 0: break`),
  "full memory file systems": ["sh", "-c", "for d in /dev/shm /run; do head -c 4G /dev/zero > $d/full; done; true"],
  "files of terabytes and 5,000 levels": python(`
import os
os.truncate(os.open("/workspace/sparse", os.O_CREAT | os.O_RDWR), 8 << 40)
os.chdir("/workspace")
for _ in range(5000): os.mkdir("d"); os.chdir("d")`),
  "output in single bytes": python(`
import os, time
end = time.time() + 2
while time.time() < end: os.write(1, b"x\n")`),
  // The last: it leaves no process slot to any other.
  "a fork bomb": ["sh", "-c", "f() { f | f & }; f; sleep 2"]
}

const median = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

describe.skipIf(skipped(unusable) || !isRoot)("a tenant beside an attacker", () => {
  layer(namespaceAtoll({ ATOLL_RECONCILE_INTERVAL_MS: "300" }).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("gets exact results as quickly as before, and the attacker's Sandbox stops, starts and is deleted", () =>
      Effect.gen(function* () {
        const operations = yield* Operations
        const sandboxes = yield* Sandboxes
        const runtime = yield* Runtime
        const attacker = yield* runningSandboxOf({ networkEnabled: networkUnusable === null })
        const other = yield* runningSandboxOf({ networkEnabled: false })
        let asked = 0
        const sample = Effect.gen(function* () {
          const begun = performance.now()
          const word = `answer ${asked++}`
          const { stdout, exitCode } = yield* operations.execute(
            other.accountId,
            other.sandboxId,
            { ...command, argv: ["echo", word], timeoutSeconds: 20 },
            request
          )
          assert.deepStrictEqual([stdout, exitCode], [`${word}\n`, 0])
          yield* sandboxes.get(other.accountId, other.sandboxId)
          const took = performance.now() - begun
          yield* Effect.promise(() => sleep(20))
          return took
        })
        yield* sample
        const alone = yield* Effect.all(Array.from({ length: 20 }, () => sample))

        const { accountId, sandboxId } = attacker
        const attack = Effect.gen(function* () {
          for (const argv of Object.values(attacks)) {
            // Its result does not matter.
            yield* Effect.ignore(
              operations.execute(accountId, sandboxId, { ...command, argv: [...argv], timeoutSeconds: 30 }, request)
            )
          }
          yield* sandboxes.stop(accountId, sandboxId, request)
          yield* untilStatus(accountId, sandboxId, "stopped")
          const again = yield* sandboxes.start(accountId, sandboxId, { ...request, idempotencyKey: null })
          assert.strictEqual(again.status, "running")
          yield* sandboxes.remove(accountId, sandboxId, request)
          yield* untilStatus(accountId, sandboxId, "deleted")
        })
        const attacking = yield* Effect.forkChild(Effect.timeout(attack, "100 seconds"))
        const beside: Array<number> = []
        while (attacking.pollUnsafe() === undefined) beside.push(yield* sample)
        yield* Fiber.join(attacking)
        // The work that its end left to be done in the background.
        for (let more = 0; more < 20; more++) beside.push(yield* sample)

        assert.isAtMost(median(beside), median(alone) * slower.times + slower.andMs)
        assert.isAtMost(Math.max(...beside), atMostMs)
        const left = (yield* runtime.inventory).map((entry) => entry.sandboxId)
        assert.deepStrictEqual(left, [other.sandboxId])
      })
    )
  })
})
