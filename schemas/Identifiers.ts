/**
 * Identifier formats. Ids are made in `src/platform/identifier/`.
 *
 * @source contract-details.md "Identifiers and secrets"
 */
import { Schema } from "effect"
import { isMatching } from "./Text.ts"

/** `prefix` + 26 characters of lowercase Crockford base32 (a UUIDv7, so that ids sort by age). */
const prefixed = (prefix: string, identifier: string, description: string) =>
  Schema.String.check(
    isMatching(new RegExp(`^${prefix}[0-9a-hjkmnp-tv-z]{26}$`), {
      message: `Expected an id: ${prefix} and 26 characters of lowercase base32`
    })
  ).annotate({ identifier, description, examples: [`${prefix}06a1b2c3d4e5f6g7h8j9kamnpq`] })

export const AccountId = prefixed("acc_", "AccountId", "The id of an account.")
export const ApiKeyId = prefixed("key_", "ApiKeyId", "The id of an API key, which is not its secret.")
export const WorkspaceId = prefixed("wsp_", "WorkspaceId", "The id of a workspace.")
export const SandboxId = prefixed("sbx_", "SandboxId", "The id of a Sandbox; ids sort by age.")
export const VolumeId = prefixed("vol_", "VolumeId", "The id of a volume.")
export const SnapshotId = prefixed("snp_", "SnapshotId", "The id of a snapshot; ids sort by age.")
export const ImageId = prefixed("img_", "ImageId", "The id of an image; ids sort by age.")
export const EndpointId = prefixed("ep_", "EndpointId", "The id of a grant of SSH connections.")
export const SessionId = prefixed("ses_", "SessionId", "The id of a session of the console.")

/** `op_` + 32 lowercase hexadecimal characters. */
export const OperationId = Schema.String.check(
  isMatching(/^op_[0-9a-f]{32}$/, {
    message: "Expected an operation id: op_ and 32 lowercase hexadecimal characters"
  })
).annotate({
  identifier: "OperationId",
  description: "The id of an operation.",
  examples: ["op_0123456789abcdef0123456789abcdef"]
})

/** 32 lowercase hexadecimal characters: a capability. */
export const PreviewId = Schema.String.check(
  isMatching(/^[0-9a-f]{32}$/, { message: "Expected a preview id: 32 lowercase hexadecimal characters" })
).annotate({
  identifier: "PreviewId",
  description: "A capability: shown when the preview is created, and never again.",
  examples: ["0123456789abcdef0123456789abcdef"]
})

/** A UUID version 4, in either case. */
export const ServiceAccessId = Schema.String.check(
  isMatching(/^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-4[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$/, {
    message: "Expected a UUID version 4"
  })
).annotate({
  identifier: "ServiceAccessId",
  description: "The caller's own UUID version 4, which was the Idempotency-Key.",
  format: "uuid",
  examples: ["6f1c3a52-8d1b-4c3e-9a77-0d2b5f4e1c90"]
})
