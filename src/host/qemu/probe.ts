/** Whether this host can run Sandboxes as virtual machines. */
import { Effect } from "effect"
import { Settings } from "../../Config.ts"
import { buildPackages } from "./image/build.ts"
import { runtimePackages } from "./QemuBuild.ts"
import { openQemuHost, shapeOf, statementsOf } from "./QemuHost.ts"
import { buildTemplate, findTemplate, templateKey } from "./Template.ts"

export type Probe =
  | { readonly ok: true; readonly statements: ReadonlyArray<string> }
  | { readonly ok: false; readonly reason: string }

/** Debian packages of the VM runtime, including those that build its image. */
export const packages = [...new Set([...runtimePackages, ...buildPackages])]

/**
 * True only if an image was built and a guest of it has booted here. The first call boots one, which takes some ten seconds under emulation and
 * leaves the template that Sandboxes start from.
 */
export const probe: Effect.Effect<Probe, never, Settings> = Effect.gen(function* () {
  const settings = yield* Settings
  const host = yield* openQemuHost(settings)
  const shape = { ...shapeOf(settings, host.networkObstacle === null), accelerator: host.choice.accelerator }
  const found = yield* Effect.promise(() => findTemplate(host, templateKey(host, shape)))
  if (found === null) yield* buildTemplate(host, shape)
  return { ok: true as const, statements: statementsOf(host) }
}).pipe(Effect.catch(({ message }) => Effect.succeed({ ok: false as const, reason: message })))

/** Whether machines would run on hardware virtualization here: false under emulation, and where no machine can run. */
export const hasHardwareHelp: Effect.Effect<boolean, never, Settings> = Effect.gen(function* () {
  const { choice } = yield* openQemuHost(yield* Settings)
  return choice.accelerator === "kvm"
}).pipe(Effect.catch(() => Effect.succeed(false)))
