/** Previews as ingress into Sandboxes. */
import { Effect } from "effect"
import { sandboxIngress } from "../gateway/sandboxIngress.ts"
import { previewDefinition } from "./PreviewDefinition.ts"

/** @param forget Called as soon as a host name is no longer valid in this process. */
export const previewIngress = Effect.fnUntraced(function* (forget: (actorId: string) => void) {
  return yield* sandboxIngress(yield* previewDefinition(forget))
})

export type PreviewIngress = Effect.Success<ReturnType<typeof previewIngress>>
