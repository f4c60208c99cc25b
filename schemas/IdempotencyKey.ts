/** @source contract-details.md "Errors": 1–255 printable ASCII characters */
import { Schema } from "effect"
import { idempotencyKeyMaxCharacters } from "./Limits.ts"
import { isMatching } from "./Text.ts"

export const IdempotencyKey = Schema.String.check(
  isMatching(new RegExp(`^[\\x20-\\x7e]{1,${idempotencyKeyMaxCharacters}}$`), {
    expected: `1 to ${idempotencyKeyMaxCharacters} printable ASCII characters`
  })
).annotate({
  description:
    "Names this request. Keys belong to the account and the kind of call; a repeated key with the same method, path and JSON body gives the original result, with another one 409. A key lives as long as what it made, and at least 24 hours.",
  examples: ["analysis-2026-01-31"]
})

export const required = { "idempotency-key": IdempotencyKey }

/** Of a start: repeated for the same Sandbox it boots once. */
export const ofStart = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "Names this start of this Sandbox. A repeated request boots nothing, also after later stops and starts."
    })
  )
}
