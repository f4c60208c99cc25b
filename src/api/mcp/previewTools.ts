/** The tool that gives a port of a Sandbox a web address. */
import { Effect, Schema } from "effect"
import { type NotFound, PreviewExists } from "../../../schemas/Errors.ts"
import { SandboxId } from "../../../schemas/Identifiers.ts"
import { Port, Preview } from "../../../schemas/Preview.ts"
import { Previews } from "../../access/preview/Previews.ts"
import { defineTool, type Tool } from "./Tool.ts"

const exists = () =>
  new PreviewExists({
    message:
      "Another port of this Sandbox has a preview. Call again with alongside true to open this one beside it, or with replace true to close the other."
  })

const openAt = (found: Effect.Effect<Preview, NotFound>): Effect.Effect<Preview | null> =>
  Effect.catch(found, () => Effect.succeed(null))

export const previewTools = Effect.gen(function* () {
  const previews = yield* Previews

  const tools: ReadonlyArray<Tool> = [
    defineTool({
      name: "open_preview",
      title: "Open a preview",
      description:
        "Gives a port of a running Sandbox a web address for an hour. Anyone with the URL may use it. Start the program that listens on the port with run, before or after this call; until then the address answers 502. If a preview of that port is open, its URL is returned again.",
      action: "createPreview",
      hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      input: Schema.Struct({
        sandboxId: SandboxId,
        port: Port.annotate({ description: "The port inside the Sandbox." }),
        alongside: Schema.optionalKey(
          Schema.Boolean.annotate({
            description: "true: opens it beside previews of other ports. By default one is open at a time."
          })
        ),
        replace: Schema.optionalKey(
          Schema.Boolean.annotate({
            description: "true: closes the Sandbox's other previews first. By default that is an error."
          })
        )
      }),
      output: Schema.Struct({
        url: Preview.fields.url,
        port: Preview.fields.port,
        expiresAt: Preview.fields.expiresAt
      }),
      call: Effect.fnUntraced(function* ({ sandboxId, port, alongside = false, replace }, { accountId, requestId }) {
        // A repetition, or another conversation's: the address is the same.
        const known = replace === true ? null : yield* openAt(previews.lookUp(accountId, sandboxId, port))
        if (known !== null) return { url: known.url, port: known.port, expiresAt: known.expiresAt }
        const create = previews.create(accountId, sandboxId, { requestId, port, alongside })
        const preview = yield* replace === true
          ? Effect.andThen(previews.closeAll(accountId, sandboxId, { requestId }), create)
          : Effect.catchTag(create, "PREVIEW_EXISTS", () => Effect.fail(exists()))
        return { url: preview.url, port: preview.port, expiresAt: preview.expiresAt }
      }, Effect.uninterruptible)
    })
  ]
  return tools
})
