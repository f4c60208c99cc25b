/** Tools that build an image of a Dockerfile, and read what the build writes. */
import { randomUUID } from "node:crypto"
import { Effect, Schedule, Schema } from "effect"
import { ImageId } from "../../../schemas/Identifiers.ts"
import { PullImageRequest } from "../../../schemas/Image.ts"
import { DockerfileText } from "../../../schemas/ImageBuild.ts"
import { Image } from "../../../schemas/ImageRecord.ts"
import { fingerprint } from "../../account/idempotency/Fingerprint.ts"
import type { Workspaces } from "../../account/workspace/Workspaces.ts"
import type { Images } from "../../image/Images.ts"
import { archivedImageStates } from "../../image/imageStates.ts"
import type { Operations } from "../../operation/Operations.ts"
import { elapsedSeconds, isOver, Written, waited, written } from "./commandReading.ts"
import { maxOutputBytes, offset, outputDefaultBytes, waitDefaultSeconds, waitSeconds } from "./commandTools.ts"
import { defaultWorkspace } from "./sandboxTools.ts"
import { defineTool, type Tool, type ToolCaller } from "./Tool.ts"
import { idempotencyKey } from "./toolFields.ts"

/** The facts about an image that is built. */
const Shown = Schema.Struct({
  id: Image.fields.id.annotate({ description: "The imageId of build_output, and once it is ready of create_sandbox." }),
  name: Image.fields.name,
  status: Image.fields.status,
  statusReason: Image.fields.statusReason
})

const shown = ({ id, name, status, statusReason }: Image): typeof Shown.Type => ({ id, name, status, statusReason })

const isComing = ({ status }: Image): boolean => archivedImageStates.includes(status)

/** The image within that time, or as soon as it is ready or failed. */
const settled = (images: Images["Service"], accountId: string, imageId: string, seconds: number) => {
  const look = images.get(accountId, imageId)
  return look.pipe(
    Effect.repeat({ until: (image) => !isComing(image), schedule: Schedule.spaced("100 millis") }),
    Effect.timeoutOrElse({ duration: seconds * 1000, orElse: () => look })
  )
}

const { name, contextSnapshotId, target, buildArgs, workspaceId, profile } = PullImageRequest.fields

/** Nothing of a pull. A model has no passwords of registries. */
const ofPull = { reference: null, registry: null, username: null, password: null }

export const buildImageTool = (images: Images["Service"], workspaces: Workspaces["Service"]): Tool =>
  defineTool({
    name: "build_image",
    title: "Build an image of a Dockerfile",
    description:
      "Builds an image of the text of a Dockerfile, in a Sandbox that the service makes for it and deletes afterwards. For files of a Sandbox take a snapshot of it, without memory, and give its id as contextSnapshotId: its /workspace is the context. Waits up to waitSeconds until the image is ready or failed; a build that takes longer goes on: build_output waits further, and tells what it writes. create_sandbox with the id as imageId makes a Sandbox with it.",
    action: "pullImage",
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    input: Schema.Struct({
      dockerfile: DockerfileText.annotate({
        description: "The text of the Dockerfile. Base images are named with their registry."
      }),
      ...{ name, contextSnapshotId, target, buildArgs, workspaceId, profile },
      waitSeconds: waitSeconds("until it is ready or failed"),
      idempotencyKey: idempotencyKey("the same image")
    }),
    output: Schema.Struct({ image: Shown }),
    call: Effect.fnUntraced(function* ({ idempotencyKey: key, waitSeconds: wait, ...given }, caller: ToolCaller) {
      const { accountId, requestId } = caller
      const isPlaced = given.workspaceId !== null || given.contextSnapshotId !== null
      const accepted = yield* Effect.gen(function* () {
        const own = isPlaced ? given.workspaceId : yield* defaultWorkspace(workspaces, caller)
        return yield* images.pull({
          ...{ accountId, requestId },
          idempotencyKey: key ?? randomUUID(),
          // A repetition may find another oldest workspace.
          fingerprint: fingerprint("POST", "/mcp images", JSON.stringify(given)),
          request: { ...ofPull, ...given, workspaceId: own }
        })
      }).pipe(Effect.uninterruptible)
      caller.made(accepted.id)
      return { image: shown(yield* settled(images, accountId, accepted.id, wait ?? waitDefaultSeconds)) }
    })
  })

export const buildOutputTool = (images: Images["Service"], operations: Operations["Service"]): Tool =>
  defineTool({
    name: "build_output",
    title: "Read the output of a build",
    description:
      "Reads what the build of an image has written, from the given offsets on. If there is nothing new, it waits for more; once the build is over, until the image is ready or failed. The output of a build that is over is kept, too.",
    action: "readBuildOutput",
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: Schema.Struct({
      imageId: ImageId,
      stdoutOffset: offset("stdout"),
      stderrOffset: offset("stderr"),
      waitSeconds: waitSeconds("where nothing new was written"),
      maxOutputBytes
    }),
    output: Schema.Struct({
      image: Shown,
      build: Schema.NullOr(Written).annotate({
        description: "The build as a command; null: it has not begun, or it never did, and statusReason tells why."
      })
    }),
    call: Effect.fnUntraced(function* (given, caller: ToolCaller) {
      const { accountId } = caller
      const until = (yield* elapsedSeconds) + (given.waitSeconds ?? waitDefaultSeconds)
      const left = Effect.map(elapsedSeconds, (now) => Math.max(0, until - now))
      const look = images.buildOf(accountId, given.imageId, { waits: false })
      const place = yield* look.pipe(
        Effect.repeat({
          until: ({ operationId, isOver }) => operationId !== null || isOver,
          schedule: Schedule.spaced("100 millis")
        }),
        Effect.timeoutOrElse({ duration: (yield* left) * 1000, orElse: () => look })
      )
      if (place.operationId === null) return { image: shown(yield* images.get(accountId, given.imageId)), build: null }
      const from = { stdout: given.stdoutOffset ?? 0, stderr: given.stderrOffset ?? 0 }
      const first = yield* operations.get(accountId, place.sandboxId, place.operationId)
      const operation = yield* waited(operations, caller, first, yield* left, from)
      const image = yield* settled(images, accountId, given.imageId, isOver(operation) ? yield* left : 0)
      const limit = given.maxOutputBytes ?? outputDefaultBytes
      const ranges = {
        stdout: { offset: from.stdout, limit, isTail: false },
        stderr: { offset: from.stderr, limit, isTail: false }
      }
      return { image: shown(image), build: yield* written(operations, caller, operation, ranges, "build_output") }
    })
  })
