/** Seals the id of a preview with a key of this server: the database alone does not give a preview's address away. */
import { Effect } from "effect"
import { seal, unseal } from "../../store/Sealed.ts"
import { serverKey } from "../../store/ServerKeys.ts"

export const sealedPreviewId = Effect.gen(function* () {
  const key = yield* serverKey("preview id")
  return {
    seal: (actorId: string, previewId: string): string => seal(key, actorId, previewId).toString("base64url"),
    /** Null: it was not sealed by this server for this actor. */
    unseal: (actorId: string, sealed: string): string | null => unseal(key, actorId, Buffer.from(sealed, "base64url"))
  }
})
