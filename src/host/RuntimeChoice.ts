/** Selects the driver of this process by ATOLL_RUNTIME. `auto` takes the best driver that works here and logs why. */
import { Effect, Layer, Schema } from "effect"
import { Settings } from "../Config.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { type NamespacesUnusable, layer as namespaceLayer } from "./namespace/NamespaceRuntime.ts"
import { probe as probeNamespaces } from "./namespace/probe.ts"
import { hasHardwareHelp, probe as probeMachines } from "./qemu/probe.ts"
import type { MachinesUnusable } from "./qemu/QemuHost.ts"
import { layer as qemuLayer } from "./qemu/QemuRuntime.ts"
import { layer as simulatedLayer } from "./simulated/SimulatedRuntime.ts"

/** No driver works here. `message` is one sentence: what is missing and how to fix it. */
export class RuntimeUnusable extends Schema.TaggedError<RuntimeUnusable>()("RuntimeUnusable", {
  message: Schema.String
}) {}

type Driver = Layer.Layer<Runtime, RuntimeUnusable | MachinesUnusable | NamespacesUnusable, Settings>

const simulated = Layer.unwrap(
  Effect.suspend(() =>
    process.env["NODE_ENV"] === "production"
      ? Effect.fail(
          new RuntimeUnusable({
            message: "ATOLL_RUNTIME=simulated isolates nothing and is refused with NODE_ENV=production. Set it to auto."
          })
        )
      : Effect.succeed(simulatedLayer)
  )
)

/** The driver of the existing Sandboxes; otherwise the first that works: machines with hardware virtualization, namespaces, emulated machines. */
const automatic = (present: string | null) =>
  Layer.unwrap(
    Effect.gen(function* (): Effect.fn.Return<Driver, RuntimeUnusable, Settings> {
      if (present === "namespace") return namespaceLayer
      if (present === "qemu") return qemuLayer
      // Emulated machines take seconds to start and ten times as long for a command, so they come last.
      const machinesFirst = yield* hasHardwareHelp
      const namespaces = machinesFirst ? null : yield* probeNamespaces
      if (namespaces?.ok) {
        yield* Effect.logDebug(
          "Runtime namespace is chosen: virtual machines would have to be emulated here, or are not set up"
        )
        return namespaceLayer
      }
      const machines = yield* probeMachines
      if (machines.ok) return qemuLayer
      const other = namespaces ?? (yield* probeNamespaces)
      if (other.ok) return namespaceLayer
      return yield* new RuntimeUnusable({ message: `No runtime works here. ${other.reason} ${machines.reason}` })
    })
  )

const chosen = (present: string | null) =>
  Layer.unwrap(
    Effect.map(Settings, ({ runtime }): Driver => {
      switch (runtime) {
        case "simulated":
          return simulated
        case "namespace":
          return namespaceLayer
        case "qemu":
          return qemuLayer
        case "auto":
          return automatic(present)
      }
    })
  )

/** One log line at start: where Sandboxes run. */
const places = {
  namespace: "Sandboxes run in namespaces of this host's kernel.",
  qemu: "Sandboxes run in virtual machines.",
  simulated: "Sandboxes are simulated: nothing runs in them, and nothing is isolated.",
  fleet: "Sandboxes run on hosts that join."
}

const stated = Layer.effectDiscard(
  Effect.gen(function* () {
    const { driver, capabilities } = yield* Runtime
    yield* Effect.logInfo(`${places[driver]} What is enforced here: npm run --silent atoll -- doctor`)
    for (const statement of capabilities.statements) yield* Effect.logDebug(`Runtime ${driver}: ${statement}`)
  })
)

export const RuntimeChoice = {
  /** @param present The driver of the Sandboxes that exist; null when there are none yet. */
  layer: (present: string | null) => stated.pipe(Layer.provideMerge(chosen(present)))
}
