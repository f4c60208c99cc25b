import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { eventually, freshKey, gather, shell } from "../../../support/runtime/contract/commands.ts"
import { processContract } from "../../../support/runtime/contract/processContract.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { signalContract } from "../../../support/runtime/contract/signalContract.ts"

describe.skipIf(unusable !== null)("commands in a VM", () => {
  const host = ManagedRuntime.make(freshDriver())
  const guest = Effect.flatMap(
    Effect.promise(() => host.runPromise(Runtime)),
    (driver) => driver.guest("commands", 1)
  )
  beforeAll(
    () => host.runPromise(Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("commands")))),
    TIMEOUT_MS
  )
  afterAll(() => host.dispose(), TIMEOUT_MS)
  processContract("qemu", guest, "/workspace", TIMEOUT_MS)
  signalContract("qemu", guest, "/workspace", TIMEOUT_MS)

  it.live(
    "a command that the kernel killed for lack of memory is distinguished from one that a signal killed",
    () =>
      Effect.gen(function* () {
        const { processes } = yield* guest
        const hog = shell("exec python3 -c 'b=[]\nwhile True: b.append(bytearray(1<<24))'", { timeoutMs: null })
        expect(yield* processes.execute(freshKey(), hog)).toMatchObject({ signal: "SIGKILL", outOfMemory: true })
        expect(yield* processes.execute(freshKey(), shell("kill -9 $$"))).toMatchObject({ outOfMemory: false })
      }),
    TIMEOUT_MS
  )

  it.live(
    "the usual tools to build and inspect are there, and sudo gives root in the machine",
    () =>
      Effect.gen(function* () {
        const { processes } = yield* guest
        const tools =
          "gcc g++ make npm npx pip3 wget jq sqlite3 zip nano vi ping nc tmux sudo git curl rsync python3 node"
        const script = [
          `for tool in ${tools}; do command -v $tool >/dev/null || echo missing $tool; done`,
          "sudo -n id -u 2>&1",
          "python3 -m venv --without-pip /tmp/venv && /tmp/venv/bin/python -c 'import sys; print(sys.prefix)'",
          "pip3 --version >/dev/null || echo no pip",
          "cat > /tmp/a.c <<< '#include <stdio.h>\nint main(void) { puts(\"built\"); }' && gcc -o /tmp/a /tmp/a.c && /tmp/a",
          "npm --version | grep -q '^[0-9]' || echo no npm",
          "ping -c 1 -W 5 $(hostname) > /dev/null || echo no ping",
          "sudo -n apt-get --simulate install sudo 2>&1 | grep -c 'already the newest'"
        ].join("\n")
        const ended = yield* gather(
          processes.run(freshKey(), {
            ...shell("true"),
            argv: ["bash", "-c", script.replaceAll("\\n", "\n")],
            timeoutMs: null
          })
        )
        expect([ended.stdout, ended.stderr]).toEqual(["0\n/tmp/venv\nbuilt\n1\n", ""])
      }),
    TIMEOUT_MS
  )

  it.live(
    "a process that became root is listed and ended like any other",
    () =>
      Effect.gen(function* () {
        const { processes } = yield* guest
        const key = freshKey()
        yield* processes.start(key, shell("exec sudo -n sleep 7401", { timeoutMs: null }))
        const asRoot = Effect.map(processes.every, (listed) =>
          listed.processes.find(({ argv }) => argv.join(" ") === "sleep 7401")
        )
        yield* eventually(Effect.map(asRoot, (found) => found !== undefined))
        yield* processes.endOne((yield* asRoot)!, { graceMs: 0 })
        yield* eventually(Effect.map(asRoot, (found) => found === undefined))
        expect(
          (yield* processes.every).processes.some(({ argv }) => /relay|spawner|busybox/.test(argv.join(" ")))
        ).toBe(false)
        yield* processes.forget(key)
      }),
    TIMEOUT_MS
  )
})
