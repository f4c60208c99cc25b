/** The tool that gives a port of a Sandbox a web address. */
import { Effect, Schema } from "effect"
import { PreviewExists } from "../../../schemas/Errors.ts"
import { SandboxId } from "../../../schemas/Identifiers.ts"
import { Port, Preview } from "../../../schemas/Preview.ts"
import { Previews } from "../../access/preview/Previews.ts"
import { defineTool, type Tool } from "./Tool.ts"

const exists = () =>
  new PreviewExists({
    message:
      "This Sandbox already has a preview, whose URL is shown only once. Call again with replace true to close it first."
  })

export const previewTools = Effect.gen(function* () {
  const previews = yield* Previews

  const tools: ReadonlyArray<Tool> = [
    defineTool({
      name: "open_preview",
      title: "Open a preview",
      description:
        "Gives a port of a running Sandbox a web address for an hour. Anyone with the URL may use it. Start the program that listens on the port with run, before or after this call; until then the address answers 502.",
      action: "createPreview",
      hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      input: Schema.Struct({
        sandboxId: SandboxId,
        port: Port.annotate({ description: "The port inside the Sandbox." }),
        replace: Schema.optionalKey(
          Schema.Boolean.annotate({
            description: "true: closes the Sandbox's existing preview. By default that is an error."
          })
        )
      }),
      output: Schema.Struct({
        url: Preview.fields.url,
        port: Preview.fields.port,
        expiresAt: Preview.fields.expiresAt
      }),
      call: Effect.fnUntraced(function* ({ sandboxId, port, replace }, { accountId, requestId }) {
        const create = previews.create(accountId, sandboxId, { requestId, port })
        const preview = yield* replace === true
          ? Effect.andThen(previews.closeAll(accountId, sandboxId, { requestId }), create)
          : Effect.catchTag(create, "PREVIEW_EXISTS", () => Effect.fail(exists()))
        return { url: preview.url, port: preview.port, expiresAt: preview.expiresAt }
      }, Effect.uninterruptible)
    })
  ]
  return tools
})
