/** Runs the commands of an image: a host pulls it, or a Sandbox builds it, and removes it when nothing needs it; the ledger posts what it costs. */
import { Clock, Effect, Option, Schedule, Schema } from "effect"
import { imageMachine, imageOfThisVersion } from "../../machines/image.ts"
import { ImageContext } from "../../schemas/contexts/Image.ts"
import { type PublicReason, publicText } from "../../schemas/PublicText.ts"
import { SandboxEnv } from "../../schemas/Sandbox.ts"
import { defineActor } from "../engine/defineActor.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { type PulledImage, Runtime, RuntimeRefused, type RuntimeUnavailable } from "../runtime/Runtime.ts"
import { failureReason } from "../sandbox/failureReason.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { imageCredentials } from "../sandbox/sandboxImage.ts"
import { untilDone } from "../sandbox/untilDone.ts"
import { metering } from "../wallet/metering.ts"
import { buildImage } from "./build/buildImage.ts"
import { buildSandbox } from "./build/buildSandbox.ts"
import { imageUse } from "./imageUse.ts"

type ImageEvent = EventOf<typeof imageMachine>

const pullAgain = Schedule.min([Schedule.exponential(250), Schedule.spaced(10_000)])
/** A registry that does not answer for so long has failed. */
const pullGivenUpMs = 15 * 60_000
/** An image of the operator may be needed for as long as a Sandbox exists. */
const lookAgain = Schedule.min([Schedule.exponential(200, 1.2), Schedule.spaced(10_000)])

const pullFailed = publicText`The image could not be pulled: its registry did not answer. Pull it again.`
const strangeVariables = new RuntimeRefused({
  code: "IMAGE_INVALID",
  message: publicText`The image has more variables than a Sandbox may have.`
})

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

const acceptFailed = publicText`The uploaded image could not be made ready. Upload it again.`

const reasonOf = (
  { imageId, reference }: ImageContext,
  error: RuntimeRefused | RuntimeUnavailable
): Effect.Effect<PublicReason> =>
  error._tag === "RuntimeRefused"
    ? Effect.succeed({ code: error.code, message: error.message })
    : failureReason("PULL_FAILED", imageId, reference === null ? acceptFailed : pullFailed, error)

/** The host's work, by where the image comes from. */
const imageOfHost = Effect.gen(function* () {
  const { images } = yield* Runtime
  const credentialsOf = yield* imageCredentials
  return {
    ask: (context: ImageContext) => {
      const { imageId, reference } = context
      return reference === null
        ? Effect.succeed(images.accept(imageId))
        : Effect.map(credentialsOf(context), (credentials) => images.pull({ reference, digest: null, credentials }))
    },
    /** What is not discarded now goes with the reconciler's next pass. */
    discard: ({ imageId, reference }: ImageContext) =>
      reference === null ? Effect.ignore(images.discard(imageId)) : Effect.void
  }
})

/** The image's variables, sealed; those whose names no shell can set are left out. */
const sealedVariables = Effect.map(SandboxEnvs, (envs) =>
  Effect.fnUntraced(function* (imageId: string, { config }: PulledImage) {
    const named = Object.fromEntries(Object.entries(config.env).filter(([name]) => variableName.test(name)))
    const variables = Schema.decodeUnknownOption(SandboxEnv)(named)
    if (Option.isNone(variables)) return yield* strangeVariables
    const kept = envs.name(variables.value)
    if (kept !== null) yield* envs.keep(imageId, kept, variables.value)
    return kept
  })
)

export const imageDefinition = Effect.gen(function* () {
  const runtime = yield* Runtime
  const envs = yield* SandboxEnvs
  const use = yield* imageUse
  const meter = yield* metering
  const builders = yield* buildSandbox
  const build = yield* buildImage
  const keepVariables = yield* sealedVariables
  const { ask, discard } = yield* imageOfHost

  /** One that a killed service had a host begin is there already, or is made again. */
  const pull = (context: ImageContext): Effect.Effect<ImageEvent> =>
    Effect.gen(function* () {
      const { imageId, build } = context
      if (build?.isOver === false) return { type: "BUILD" as const }
      const began = yield* Clock.currentTimeMillis
      return yield* (yield* ask(context)).pipe(
        Effect.retry({
          schedule: pullAgain,
          while: (error) =>
            error._tag === "RuntimeUnavailable"
              ? Effect.map(Clock.currentTimeMillis, (now) => now - began < pullGivenUpMs)
              : Effect.succeed(false)
        }),
        Effect.flatMap((pulled) =>
          Effect.map(keepVariables(imageId, pulled), (env): ImageEvent => {
            const { digest, sizeBytes, storedBytes } = pulled
            return { type: "PULLED", digest, sizeBytes, storedBytes, env }
          })
        ),
        Effect.catch((error) =>
          Effect.andThen(
            discard(context),
            Effect.map(reasonOf(context, error), (reason): ImageEvent => ({ type: "PULL_FAILED", reason }))
          )
        )
      )
    })

  const endBuild = ({ accountId, imageId, build }: ImageContext) =>
    build === null ? Effect.void : builders.remove(accountId, imageId, build.sandboxId)

  const untilUnneeded = ({ accountId, imageId }: ImageContext) =>
    use.of(accountId, imageId).pipe(
      Effect.map(({ sandboxes, snapshots }) => sandboxes + snapshots),
      Effect.repeat({ schedule: lookAgain, until: (needed) => needed === 0 })
    )

  const remove = (context: ImageContext): Effect.Effect<ImageEvent> =>
    Effect.gen(function* () {
      const { imageId, digest } = context
      yield* endBuild(context)
      yield* discard(context)
      yield* untilUnneeded(context)
      if (digest !== null && !(yield* use.isShared(digest))) {
        yield* runtime.images.remove(digest).pipe(
          Effect.tapError((error) => Effect.logWarning(`The image ${imageId} is not removed yet`, error.message)),
          Effect.retry(untilDone),
          Effect.orDie
        )
      }
      yield* envs.forget(imageId, null)
      return { type: "IMAGE_REMOVED" as const }
    })

  return defineActor(imageMachine, {
    context: ImageContext,
    migrate: (_, context) => imageOfThisVersion(context),
    // A removal supersedes a pull and a build: what that leaves on a host goes with the reconciler's next pass.
    commands: {
      buildImage: { lane: "image", run: build },
      // Beside the others: what is made of the archive does not wait for it.
      endBuild: { lane: null, run: (scope) => Effect.suspend(() => Effect.as(endBuild(scope.state().context), null)) },
      pullImage: { lane: "image", run: (scope) => Effect.suspend(() => pull(scope.state().context)) },
      removeImage: { lane: "image", run: (scope) => Effect.suspend(() => remove(scope.state().context)) },
      meter: { lane: null, run: (scope) => Effect.suspend(() => meter(scope.state().context.imageId)) }
    }
  })
})
