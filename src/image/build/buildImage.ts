/**
 * The build of an image: one operation in the Sandbox that was made for it, whose archive a host receives. Each step is done once however often it is
 * tried: the operation by its key, the archive because a host that receives it again replaces it.
 */
import { Readable } from "node:stream"
import { Clock, Effect, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { imageMachine } from "../../../machines/image.ts"
import { operationMachine } from "../../../machines/operation.ts"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import type { ImageBuild, ImageContext } from "../../../schemas/contexts/Image.ts"
import type { OperationContext } from "../../../schemas/contexts/Operation.ts"
import type { SandboxContext } from "../../../schemas/contexts/Sandbox.ts"
import { committedReason, PublicText, publicText } from "../../../schemas/PublicText.ts"
import { isKeyTaken } from "../../account/idempotency/IdempotencyKeys.ts"
import { Settings } from "../../Config.ts"
import type { CommandScope } from "../../engine/ActorDefinition.ts"
import { ActorHost } from "../../engine/ActorHost.ts"
import { awaitState } from "../../engine/ActorWait.ts"
import type { EventOf } from "../../engine/machineTypes.ts"
import { isTagged } from "../../engine/taggedStates.ts"
import { Operations } from "../../operation/Operations.ts"
import { buildCommand, buildDockerfilePath, buildOutputPath } from "../../runtime/buildScript.ts"
import { Runtime } from "../../runtime/Runtime.ts"
import { wakeSandbox } from "../../sandbox/RunningSandbox.ts"
import { SandboxUse } from "../../sandbox/SandboxUse.ts"
import { isAsleep, isAwaited, isUp } from "../../sandbox/sandboxStates.ts"
import type { Journal } from "../../store/Journal.ts"
import { buildSecrets } from "./BuildSecrets.ts"
import { builtArchive } from "./builtArchive.ts"

type ImageEvent = EventOf<typeof imageMachine>
type ImageScope = CommandScope<ImageContext, ImageEvent>

const workspace = "/workspace"

/** Each wait is asked again. */
const lookAgainMs = 60_000
const again = Schedule.min([Schedule.exponential(250), Schedule.spaced(5_000)])
/** Of a Sandbox or a host that does not answer. */
const givenUpMs = 5 * 60_000

class BuildFailed extends Schema.TaggedError<BuildFailed>()("BuildFailed", {
  code: Schema.String,
  message: PublicText
}) {}

const failedWith = (message: PublicText) => new BuildFailed({ code: "IMAGE_BUILD_FAILED", message })

const silent = failedWith(publicText`The build's Sandbox did not answer for too long.`)

const isTerminal = isTagged(operationMachine, "terminal")
const isBooting = (status: string) => isAwaited(status) && !isAsleep(status)

/** Meets no client's key: those are printable. */
const keyOf = (imageId: string) => `\u{1}build ${imageId}`

/** Only a completed operation has an exit code, and only a cancelled one has no cause at all. */
const endOf = ({ exitCode, signal, reason }: OperationContext): BuildFailed | null => {
  if (exitCode === 0) return null
  if (reason !== null) return failedWith(publicText`The build failed: ${committedReason(reason).message}`)
  if (signal !== null) return failedWith(publicText`The build was ended by a signal. Its output may tell why.`)
  if (exitCode === null) return failedWith(publicText`The build was cancelled.`)
  return failedWith(publicText`The build ended with exit code ${exitCode}; its output tells why.`)
}

/** The build's Sandbox once it runs; one that sleeps is woken. */
const builderOf = Effect.gen(function* () {
  const host = yield* ActorHost
  const services = yield* Effect.context<ActorHost | Journal>()

  const settled = (sandboxId: string) =>
    awaitState(sandboxMachine, sandboxId, ({ value }) => !isBooting(value), lookAgainMs).pipe(
      Effect.repeat({ until: (state) => state === null || !isBooting(state.value) }),
      Effect.provideContext(services)
    )

  return Effect.fnUntraced(function* ({ sandboxId }: ImageBuild) {
    const found = yield* settled(sandboxId).pipe(
      Effect.tap((state) =>
        state !== null && isAsleep(state.value) ? wakeSandbox(host, sandboxId, state.revision) : Effect.void
      ),
      Effect.repeat({ schedule: again, until: (state) => state === null || !isAsleep(state.value) })
    )
    if (found !== null && isUp(found.value)) return found.context
    const reason = found?.context.statusReason ?? null
    return yield* failedWith(
      reason === null
        ? publicText`The build's Sandbox was stopped or deleted.`
        : publicText`The build's Sandbox does not run: ${committedReason(reason).message}`
    )
  })
})

/** Starts the build once, and waits for its end. */
const runBuild = Effect.gen(function* () {
  const operations = yield* Operations
  const runtime = yield* Runtime
  const sql = yield* SqlClient.SqlClient
  const { buildSecondsMax } = yield* Settings
  const secretsOf = yield* buildSecrets
  const runningBuilder = yield* builderOf
  const services = yield* Effect.context<ActorHost | Journal>()

  /** The command takes the text away before it begins, so it must not come again afterwards. */
  const putDockerfile = Effect.fnUntraced(function* (
    { accountId, imageId }: ImageContext,
    { sandboxId, generation }: Pick<SandboxContext, "sandboxId" | "generation">,
    text: string
  ) {
    const known = yield* isKeyTaken(sql, { accountId, kind: "operation.start", key: keyOf(imageId) })
    if (known) return
    const { files } = yield* runtime.guest(sandboxId, generation)
    yield* files.write(buildDockerfilePath, { bytes: Readable.from([Buffer.from(text)]), broken: () => silent })
  })

  const started = Effect.fnUntraced(function* (context: ImageContext, build: ImageBuild) {
    const { accountId, imageId } = context
    const builder = yield* runningBuilder(build)
    const { dockerfile: text, args: buildArgs, login: credentials } = yield* secretsOf(context)
    if (text !== null) yield* putDockerfile(context, builder, text)
    const { dockerfile, target } = build
    return yield* operations.start(accountId, build.sandboxId, {
      ...{ requestId: imageId, exhaustedAt: null, idempotencyKey: keyOf(imageId), fingerprint: imageId },
      request: {
        ...buildCommand({ dockerfile, context: workspace, target, buildArgs, credentials }),
        ...{ cwd: workspace, stdin: null, encoding: "utf8", timeoutSeconds: buildSecondsMax }
      }
    })
  })

  const ended = (operationId: string) =>
    awaitState(operationMachine, operationId, ({ value }) => isTerminal(value), lookAgainMs).pipe(
      Effect.repeat({ until: (state) => state === null || isTerminal(state.value) }),
      Effect.provideContext(services)
    )

  return Effect.fnUntraced(function* ({ state, tell }: ImageScope, build: ImageBuild) {
    const began = yield* Clock.currentTimeMillis
    const { id } = yield* started(state().context, build).pipe(
      Effect.retry({
        schedule: again,
        while: (error) =>
          error._tag === "BuildFailed"
            ? Effect.succeed(false)
            : Effect.map(Clock.currentTimeMillis, (now) => now - began < givenUpMs)
      }),
      Effect.catch((error) => Effect.fail(error._tag === "BuildFailed" ? error : silent))
    )
    if (build.operationId !== id) yield* tell({ type: "BUILD_BEGUN", operationId: id })
    const end = yield* ended(id)
    const fault = end === null ? silent : endOf(end.context)
    if (fault !== null) return yield* fault
  })
})

/** Has a host receive the archive. */
const takeArchive = Effect.gen(function* () {
  const runtime = yield* Runtime
  const uses = yield* SandboxUse
  const runningBuilder = yield* builderOf

  const taken = Effect.fnUntraced(function* (imageId: string, build: ImageBuild) {
    const { sandboxId, generation } = yield* runningBuilder(build)
    const { files } = yield* runtime.guest(sandboxId, generation)
    yield* files.stat(buildOutputPath)
    yield* runtime.images.receive(imageId, builtArchive(files, buildOutputPath))
  })

  return Effect.fnUntraced(function* (imageId: string, build: ImageBuild) {
    const began = yield* Clock.currentTimeMillis
    // Its Sandbox does not sleep meanwhile.
    yield* uses
      .during(build.sandboxId)(taken(imageId, build))
      .pipe(
        Effect.tapError((error) =>
          Effect.logWarning(`The archive of the build ${imageId} is not stored`, error.message)
        ),
        Effect.retry({
          schedule: again,
          while: (error) =>
            error._tag === "RuntimeUnavailable" || error._tag === "GuestUnavailable"
              ? Effect.map(Clock.currentTimeMillis, (now) => now - began < givenUpMs)
              : Effect.succeed(false)
        }),
        Effect.mapError((error) => {
          switch (error._tag) {
            case "BuildFailed":
              return error
            case "RuntimeRefused":
              return new BuildFailed({ code: error.code, message: error.message })
            case "FileRefused":
              return failedWith(publicText`The archive that the build made cannot be read.`)
            default:
              return silent
          }
        })
      )
  })
})

export const buildImage = Effect.gen(function* () {
  const run = yield* runBuild
  const take = yield* takeArchive

  return (scope: ImageScope): Effect.Effect<ImageEvent> =>
    Effect.suspend(() => {
      const { imageId, build } = scope.state().context
      if (build === null) return Effect.succeed<ImageEvent>({ type: "BUILT" })
      return Effect.andThen(run(scope, build), take(imageId, build)).pipe(
        Effect.as<ImageEvent>({ type: "BUILT" }),
        Effect.catch(({ code, message }) =>
          Effect.succeed<ImageEvent>({ type: "BUILD_FAILED", reason: { code, message } })
        )
      )
    })
})
