/** A test Sandbox on a host: checks that one boots there, runs a command and can be removed. No row records it; a leftover is found and destroyed. */

import { Effect, Metric } from "effect"
import type { hostMachine } from "../../machines/host.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { newId } from "../platform/identifier/newId.ts"
import { type Runtime, RuntimeRefused } from "../runtime/Runtime.ts"
import type { HostLinks } from "./HostLinks.ts"

const spec = {
  generation: 1,
  vcpus: 1,
  memoryBytes: 256 * 1024 ** 2,
  volumeBytes: 64 * 1024 ** 2,
  networkEnabled: false
}

/** After that the result counts anyway; a leftover is found and destroyed. */
const removedWithin = "10 seconds"
const commandTimeoutMs = 10_000

const failures = (host: string) =>
  Metric.counter("atoll_fleet_canary_failures_total", {
    description: "Canaries that did not boot, by host.",
    incremental: true,
    attributes: { host }
  })

const hasRunning = ({ inventory }: Runtime["Service"]) =>
  Effect.map(inventory, (entries) => entries.some(({ state }) => state === "running"))

export class Canaries {
  readonly #links: HostLinks["Service"]
  readonly #patienceMs: number
  readonly #alive = new Set<string>()

  /** `bootTimeoutMs`: time limit of a boot, including its wait in the queue; no caller waits for it. */
  constructor(links: HostLinks["Service"], bootTimeoutMs: number) {
    this.#links = links
    this.#patienceMs = 2 * bootTimeoutMs
  }

  /** True for a canary of this process. */
  has(sandboxId: string): boolean {
    return this.#alive.has(sandboxId)
  }

  /** Returns the event for the host's actor. */
  boot(hostId: string, boot: string): Effect.Effect<EventOf<typeof hostMachine>> {
    const run = Effect.flatMap(this.#links.to(hostId), (runtime) => this.#run(runtime))
    return run.pipe(
      Effect.timeoutOrElse({
        duration: this.#patienceMs,
        orElse: () => Effect.fail(new Error("It took too long."))
      }),
      Effect.matchEffect({
        onSuccess: () => Effect.succeed<EventOf<typeof hostMachine>>({ type: "CANARY_PASSED", boot }),
        onFailure: (error) =>
          Effect.as(Metric.update(failures(hostId), 1), {
            type: "CANARY_FAILED",
            boot,
            reason: { code: "CANARY_FAILED", message: `No Sandbox boots there: ${error.message}` }
          })
      })
    )
  }

  #run(runtime: Runtime["Service"]) {
    const sandboxId = newId("sbx_")
    const removed = runtime.destroy(sandboxId).pipe(Effect.timeout(removedWithin), Effect.ignore)
    const booted = Effect.gen(function* () {
      yield* runtime.provision({ ...spec, sandboxId })
      const guest = yield* runtime.guest(sandboxId, spec.generation)
      const { exitCode } = yield* guest.processes.execute("canary", {
        argv: ["true"],
        cwd: "/",
        env: {},
        stdin: null,
        timeoutMs: commandTimeoutMs,
        output: { mode: "head", bytes: 1024 }
      })
      if (exitCode !== 0) return yield* Effect.fail(new Error("A command in it did not end well."))
    }).pipe(
      // A host that is full boots others.
      Effect.catchIf(
        (error) => error instanceof RuntimeRefused,
        (error) => Effect.flatMap(hasRunning(runtime), (has) => (has ? Effect.void : Effect.fail(error)))
      )
    )
    return Effect.acquireUseRelease(
      Effect.sync(() => void this.#alive.add(sandboxId)),
      () => booted,
      () =>
        Effect.ensuring(
          removed,
          Effect.sync(() => void this.#alive.delete(sandboxId))
        )
    )
  }
}
