/**
 * A guest whose root writes to the machine's own ports instead of the boot program and the agent: only its own machine
 * suffers.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import type { Guest } from "../../../../src/runtime/Guest.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { collectGarbage } from "../../../support/collectGarbage.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2
const GROWTH_MAX_BYTES = 64 * MiB
/** Under emulation, beside a machine that writes as fast as it can. */
const NEIGHBOUR_MAX_MS = 20_000

/**
 * Takes the boot port from its program, and the console, and answers each question with unrequested text: first without
 * a line's end, then a good answer to every token, with a lie after it.
 */
const liar = `
import glob, os, re, time
def boots():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if open(path, "rb").read().startswith(b"/run/atoll/boot\\0"):
                yield int(path.split("/")[2])
        except OSError:
            pass
port = None
while port is None:
    for pid in boots():
        os.kill(pid, 9)
    # PID 1 starts it again, which takes the port as well: the faster one has it.
    for _ in range(200):
        try:
            port = os.open("/dev/virtio-ports/atoll.boot", os.O_RDWR)
            break
        except OSError:
            pass
open("/workspace/taken", "w").close()
os.write(port, b"x" * 3000000)
seen = b""
until = time.time() + 120
while time.time() < until:
    try:
        more = os.read(port, 4096)
    except OSError:
        more = b""
    if not more:
        time.sleep(0.02)
        continue
    seen = (seen + more)[-8192:]
    for verb, token in re.findall(rb"(\\w+) ([0-9a-f]{16})", seen):
        seen = b""
        os.write(port, b"y" * 2000000 + b"\\n" + b"0" * 16 + b" ready\\n" + token + b" ready 10000 0; \\xff\\x00" + b"z" * 100000 + b"\\n")
`

const asRoot = (guest: Guest, script: string) =>
  Effect.ignore(output(guest, `sudo setsid sh -c '${script}' > /dev/null 2>&1 < /dev/null & true`))

describe.skipIf(unusable !== null)("a guest that forges the messages of its ports", () => {
  it.live(
    "is stopped, slept and deleted like any other, costs the service no memory and its neighbour no time",
    () =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("neighbour"))
        yield* driver.provision(sandboxSpec("liar"))
        const guest = yield* driver.guest("liar", 1)
        collectGarbage()
        const before = process.memoryUsage().heapUsed + process.memoryUsage().external
        yield* output(guest, `cat > liar.py <<'END'${liar}END`)
        yield* asRoot(guest, "python3 /workspace/liar.py")
        yield* output(guest, "while [ ! -e taken ]; do sleep 0.1; done")
        // As many bytes as it can write, on the console.
        yield* asRoot(guest, "timeout 30 cat /dev/urandom > /dev/console")

        const neighbour = yield* driver.guest("neighbour", 1)
        for (let asked = 0; asked < 5; asked++) {
          const at = performance.now()
          expect(yield* output(neighbour, "echo $((6 * 7))")).toBe("42")
          expect(performance.now() - at).toBeLessThan(NEIGHBOUR_MAX_MS)
        }
        // Its own flush is a lie; it sleeps and wakes, or stays awake, and serves commands afterwards.
        yield* Effect.ignore(driver.suspend("liar", 1))
        yield* driver.provision(sandboxSpec("liar"))
        const again = Effect.flatMap(driver.guest("liar", 1), (it) => output(it, "echo here"))
        expect(yield* Effect.retry(again, { schedule: Schedule.spaced(200), times: 50 })).toBe("here")
        collectGarbage()
        expect(process.memoryUsage().heapUsed + process.memoryUsage().external - before).toBeLessThan(GROWTH_MAX_BYTES)
        yield* driver.stop("liar", 1)
        expect(yield* driver.inventory).toContainEqual({ sandboxId: "liar", state: "volume", generation: null })
        yield* driver.destroy("liar")
        expect(yield* output(neighbour, "echo still")).toBe("still")
      }).pipe(Effect.provide(freshDriver())),
    TIMEOUT_MS
  )
})
