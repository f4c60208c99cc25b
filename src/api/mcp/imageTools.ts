/** Tools for images that Sandboxes can be made with. */
import { Effect, Schema } from "effect"
import { imageMachine } from "../../../machines/image.ts"
import { Image, imageStatuses } from "../../../schemas/ImageRecord.ts"
import { Cursor, NextCursor } from "../../../schemas/Query.ts"
import { Workspaces } from "../../account/workspace/Workspaces.ts"
import { isTagged } from "../../engine/taggedStates.ts"
import { Images } from "../../image/Images.ts"
import { Operations } from "../../operation/Operations.ts"
import { buildImageTool, buildOutputTool } from "./imageBuildTools.ts"
import { defineTool } from "./Tool.ts"

const listedDefault = 20
const listedMax = 100

const isUsable = isTagged(imageMachine, "bootable")

/** The facts about an image that a model needs: each word costs tokens. */
const Shown = Schema.Struct({
  id: Image.fields.id.annotate({ description: "The imageId of create_sandbox." }),
  name: Image.fields.name,
  reference: Image.fields.reference,
  createdAt: Image.fields.createdAt
})

const shown = ({ id, name, reference, createdAt }: Image): typeof Shown.Type => ({ id, name, reference, createdAt })

export const imageTools = Effect.gen(function* () {
  const images = yield* Images
  const workspaces = yield* Workspaces
  const operations = yield* Operations
  return [
    defineTool({
      name: "list_images",
      title: "List images",
      description:
        "Lists the images that are ready, newest first. create_sandbox with an id as imageId makes a Sandbox with the programs of that image.",
      action: "listImages",
      hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
      input: Schema.Struct({
        limit: Schema.optionalKey(
          Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: listedMax })).annotate({
            description: `Maximum entries of the answer. By default ${listedDefault}.`
          })
        ),
        cursor: Schema.optionalKey(Cursor)
      }),
      output: Schema.Struct({ images: Schema.Array(Shown), nextCursor: NextCursor }),
      call: ({ limit, cursor }, { accountId }) =>
        Effect.map(
          images.list(accountId, {
            name: null,
            status: imageStatuses.filter((status) => isUsable(status)),
            limit: limit ?? listedDefault,
            cursor: cursor ?? null
          }),
          (page) => ({ images: page.images.map(shown), nextCursor: page.nextCursor })
        )
    }),
    buildImageTool(images, workspaces),
    buildOutputTool(images, operations)
  ]
})
