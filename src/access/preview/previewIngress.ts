/** Previews as ingress into Sandboxes. */
import { Effect } from "effect"
import type { previewMachine } from "../../../machines/preview.ts"
import { sandboxIngress } from "../gateway/sandboxIngress.ts"
import { previewDefinition } from "./PreviewDefinition.ts"

/** The preview's id, sealed with a key of this server, for the account that asks for the address again. Null: an earlier version made the preview. */
export type PreviewPayload = { readonly sealedId: string } | null

/** @param forget Called as soon as a host name is no longer valid in this process. */
export const previewIngress = Effect.fnUntraced(function* (forget: (actorId: string) => void) {
  return yield* sandboxIngress<typeof previewMachine, PreviewPayload>(yield* previewDefinition(forget))
})

export type PreviewIngress = Effect.Success<ReturnType<typeof previewIngress>>
