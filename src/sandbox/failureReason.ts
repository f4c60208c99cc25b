/**
 * The reason of a failed command in a form that the customer may read. An unknown cause may name paths, users and processes of the host: so the
 * customer gets a sentence and a reference, and the operator finds the cause in the log by that reference.
 */
import { Effect } from "effect"
import { type PublicReason, type PublicText, publicText } from "../../schemas/PublicText.ts"
import { newReference } from "../platform/identifier/newId.ts"
import type { RuntimeUnavailable } from "../runtime/Runtime.ts"

export const failureReason = (
  code: string,
  sandboxId: string,
  sentence: PublicText,
  { message, shown }: RuntimeUnavailable
): Effect.Effect<PublicReason> => {
  if (shown !== undefined) return Effect.succeed({ code, message: shown })
  const reference = newReference()
  return Effect.as(Effect.logWarning(`${code} of ${sandboxId}, reference ${reference}`, message), {
    code,
    message: publicText`${sentence} If that does not help, give the operator the reference ${reference}.`
  })
}
