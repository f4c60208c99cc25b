/** Boots a Sandbox's runtime, and says how that ended. */
import { Effect, Schedule } from "effect"
import { hasNeverRun, originOf, type sandboxMachine } from "../../machines/sandbox.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { publicText } from "../../schemas/PublicText.ts"
import type { CommandScope } from "../engine/ActorDefinition.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import type { RuntimeRefused, SandboxSpec } from "../runtime/Runtime.ts"
import { Runtime, type RuntimeUnavailable } from "../runtime/Runtime.ts"
import { bootImage } from "./bootImage.ts"
import { bootInTurn } from "./bootInTurn.ts"
import { failureReason } from "./failureReason.ts"
import { hostLost, isLost, type LostHost } from "./hostLost.ts"
import { Placement } from "./Placement.ts"
import { imageOfSpec } from "./sandboxImage.ts"

type SandboxEvent = EventOf<typeof sandboxMachine>
type SandboxScope = CommandScope<SandboxContext, SandboxEvent>

const bootTries = 3
/** While a host is unreachable its boots retry often, until the host is lost or the boot times out. */
const bootAgain = Schedule.min([Schedule.exponential(250), Schedule.spaced(2_000)])

const bootFailed = publicText`The Sandbox could not be booted. Start it again.`

const specOf = (context: SandboxContext, root: Pick<SandboxSpec, "image">): SandboxSpec => {
  const snapshotId = originOf(context)
  return {
    sandboxId: context.sandboxId,
    generation: context.generation,
    vcpus: context.profile.vcpus,
    memoryBytes: context.profile.memoryBytes,
    volumeBytes: context.profile.diskBytes,
    networkEnabled: context.networkEnabled,
    ...(snapshotId === null ? {} : { snapshotId }),
    ...root,
    ...(context.buildsImageId === null ? {} : { builder: true })
  }
}

/** No limit: a Sandbox without its snapshot or its image has failed. */
const isWithoutImage = ({ code }: RuntimeRefused) => code === "SNAPSHOT_MISSING" || code.startsWith("IMAGE_")

const failed = (
  { sandboxId, generation }: SandboxContext,
  error: RuntimeRefused | RuntimeUnavailable,
  lost: LostHost | null
): Effect.Effect<SandboxEvent> => {
  if (lost !== null) return Effect.succeed(hostLost(generation, lost))
  if (error._tag === "RuntimeRefused") {
    const { code, message } = error
    const type = isWithoutImage(error) ? "RUNTIME_FAILED" : "RUNTIME_REFUSED"
    return Effect.succeed({ type, generation, reason: { code, message } })
  }
  return Effect.map(failureReason("RUNTIME_FAILED", sandboxId, bootFailed, error), (reason) => ({
    type: "RUNTIME_FAILED",
    generation,
    reason
  }))
}

export const bootSandbox = Effect.gen(function* () {
  const runtime = yield* Runtime
  const placement = yield* Placement
  const image = yield* bootImage
  const rootOf = yield* imageOfSpec

  return (context: SandboxContext, tell: SandboxScope["tell"]): Effect.Effect<SandboxEvent> =>
    Effect.suspend(() => {
      const { sandboxId, generation, bootTimeoutMs } = context
      const waits = (until: number) => tell({ type: "BOOT_WAITS", generation, until })
      const began = performance.now()
      let tries = 0
      let lost: LostHost | null = null
      /** Retries while the host is silent: a frozen machine there may still wake. */
      const mayAgain = Effect.map(placement.standing(sandboxId), (standing) => {
        tries++
        if (isLost(standing)) lost = standing
        if (standing.is !== "there") return standing.is === "silent"
        return tries < bootTries || performance.now() - began < placement.unsureForMs
      })
      const provision = (turn: () => void) =>
        image(context).pipe(
          Effect.andThen(rootOf(context.image)),
          Effect.flatMap((root) => runtime.provision(specOf(context, root), turn))
        )
      return bootInTurn(provision, bootTimeoutMs, waits).pipe(
        Effect.retry({
          schedule: bootAgain,
          while: (error) => (error._tag === "RuntimeUnavailable" ? mayAgain : Effect.succeed(false))
        }),
        // The Sandbox expires: its volume and its reservation go.
        Effect.tapError((error) =>
          error._tag === "RuntimeRefused" && !isWithoutImage(error) && hasNeverRun(context)
            ? placement.release(sandboxId)
            : Effect.void
        ),
        Effect.matchEffect({
          onSuccess: () => Effect.succeed<SandboxEvent>({ type: "RUNTIME_UP", generation }),
          onFailure: (error) => failed(context, error, lost)
        })
      )
    })
})
