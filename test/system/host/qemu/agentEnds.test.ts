/** A machine's agent that is ended, frozen or impersonated from inside: `sudo pkill node` is an ordinary command. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Schedule, Stream } from "effect"
import type { Guest } from "../../../../src/runtime/Guest.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { freshKey, output, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

/** The agent's command line, and no line that quotes this. */
const AGENT = "atoll/agent[.][a-z]*js"

/**
 * Runs as the guest's root while nothing serves the agent's port. The command itself ends with the agent, so the test
 * does not wait for it.
 */
const asRoot = (guest: Guest, script: string) =>
  Effect.ignore(output(guest, `sudo setsid sh -c '${script}' > /dev/null 2>&1 < /dev/null & wait`))

/** Retries until the present agent answers. */
const answers = (guest: Guest) =>
  output(guest, "echo here").pipe(Effect.retry({ schedule: Schedule.spaced(100) }), Effect.timeout("60 seconds"))

/** Forges the agent's messages, on the agent's own descriptor of the port, which it takes with pidfd_getfd(2). */
const forger = `
import ctypes, os, subprocess
agent = int(subprocess.check_output(["pgrep", "-o", "-f", "${AGENT}"]))
port = ctypes.CDLL(None, use_errno=True).syscall(438, os.pidfd_open(agent), 3, 0)
assert port >= 0, ctypes.get_errno()
prefix = bytes.fromhex("f89ae1b7c3d5a6e9bdb491d2ce87ad") + b"\\x01"
for part in [os.urandom(65536), (prefix + b"A" + b"0" * 32) * 1000, (prefix + b"B" + b"0" * 32) * 2000, (prefix + b"S" + b"0" * 32) * 1000]:
    view = memoryview(part)
    while view:
        view = view[os.write(port, view):]
`

describe.skipIf(unusable !== null)("the agent of a virtual machine", () => {
  it.live(
    "is replaced when it is killed, and its commands end and are unknown; the service recovers from a frozen or forged one",
    () =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("victim"))
        const guest = yield* driver.guest("victim", 1)

        const key = freshKey()
        yield* guest.processes.start(key, shell("echo up; exec sleep 54321"))
        const attached = guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 })
        const seen = yield* Effect.forkChild(Effect.flip(Stream.runDrain(attached)))
        yield* asRoot(guest, `pkill -KILL -f ${AGENT}`)
        expect(yield* Fiber.join(seen)).toMatchObject({ _tag: "GuestUnavailable", fault: "lost" })
        expect(yield* answers(guest)).toBe("here")
        expect(yield* Effect.flip(Stream.runDrain(attached))).toMatchObject({ _tag: "ProcessUnknown" })
        expect(yield* output(guest, "pgrep -f '[s]leep 54321' || echo none")).toBe("none")

        yield* asRoot(guest, `pkill -STOP -f ${AGENT}; sleep 2; pkill -CONT -f ${AGENT}`)
        expect(yield* answers(guest)).toBe("here")

        yield* output(guest, `cat > forge.py <<'END'${forger}END`)
        yield* asRoot(guest, "python3 /workspace/forge.py && touch /workspace/forged")
        expect(yield* answers(guest)).toBe("here")
        expect(yield* output(guest, "test -e forged && echo forged")).toBe("forged")

        // Only the copying process: the agent receives nothing any more.
        yield* asRoot(guest, "pkill -KILL -x relay")
        expect(yield* answers(guest)).toBe("here")
      }).pipe(Effect.provide(freshDriver())),
    TIMEOUT_MS
  )
})
