/** An actor's id is made of the SHA-256 of the preview id, so a host name finds its actor by its key. */
import { hash } from "node:crypto"

export const sha256 = (previewId: string): string => hash("sha256", previewId, "hex")
export const actorIdOf = (previewSha256: string): string => `pre_${previewSha256}`
