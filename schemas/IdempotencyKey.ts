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

const example = `Choose a name for this request, such as "Idempotency-Key: build-42": a repetition with the same name does nothing twice`

export const required = {
  "idempotency-key": IdempotencyKey.pipe(Schema.annotateKey({ messageMissingKey: `Required. ${example}` }))
}

/** contract.md "Sandboxes": required for VM Sandboxes. */
export const ofCreate = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "Names this request. A repeated key with the same body gives the original result, with another one 409. Required for a Sandbox of the runtime vm. Without one, a repetition makes another Sandbox. A key lives as long as what it made, and at least 24 hours."
    })
  )
}

/** Of a snapshot. */
export const ofSnapshot = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "Names this request. A repeated key with the same Sandbox and body gives the original snapshot, with another one 409. Without one, a repetition takes another snapshot. A key lives as long as what it made, and at least 24 hours."
    })
  )
}

/** Of an image. */
export const ofImage = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "Names this request. A repeated key with the same body gives the original image, with another one 409. Without one, a repetition pulls or builds another image. A key lives as long as what it made, and at least 24 hours."
    })
  )
}

/** Of the upload of an image. */
export const ofUpload = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "Names this request. A repeated key with the same query and the same body gives the original image, with another one 409; the body is read whole before either. Without one, a repetition uploads another image. A key lives as long as what it made, and at least 24 hours."
    })
  )
}

/** Of a build with its context. */
export const ofBuild = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "Names this request. A repeated key with the same query and the same body gives the original image, with another one 409; the body is read whole before either. Without one, a repetition builds another image. A key lives as long as what it made, and at least 24 hours."
    })
  )
}

/** Of a rollback: repeated it rolls back once. */
export const ofRollback = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "Names this rollback. A repeated key with the same Sandbox and body rolls nothing back a second time, also after later ones; with another one 409. A key lives as long as its Sandbox, and at least 24 hours."
    })
  )
}

/** Of the import of a snapshot. */
export const ofImport = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "Names this request. A repeated key with the same query and the same head of the file (what the snapshot is) gives the original snapshot without reading the rest; with another one 409. Without one, a repetition imports another snapshot. A key lives as long as what it made, and at least 24 hours."
    })
  )
}

/** The issue of a create without a key whose Sandbox would be a virtual machine. */
export const requiredForVm = `Required for a Sandbox of the runtime vm. ${example}`

/** Of a start: repeated for the same Sandbox it boots once. */
export const ofStart = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "Names this start of this Sandbox. A repeated request boots nothing, also after later stops and starts."
    })
  )
}
