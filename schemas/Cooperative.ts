/** Cooperative connection: some seconds in which SSH connections to a running Sandbox may be opened. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, ReadOnly, ReadsContent, RequiredScope } from "./Access.ts"
import {
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  SandboxUnavailable,
  UnsupportedByRuntime,
  UnsupportedMediaType
} from "./Errors.ts"
import { EndpointId, SandboxId } from "./Identifiers.ts"
import { cooperativeKeysMax } from "./Limits.ts"
import { isMatching, Timestamp } from "./Text.ts"

const publicKeyMaxCharacters = 8192

export const CooperativeConnectionKeys = Schema.Struct({
  publicKeys: Schema.Array(
    Schema.String.check(
      isMatching(/^(ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa) [A-Za-z0-9+/]+={0,2}( [^\r\n]*)?$/, {
        expected: "an OpenSSH public key: ssh-ed25519, ecdsa-sha2-nistp… or ssh-rsa"
      }),
      Schema.isMaxLength(publicKeyMaxCharacters)
    )
  )
    .check(
      Schema.isBetweenLength(1, cooperativeKeysMax, {
        toJsonSchema: () => ({ minItems: 1, maxItems: cooperativeKeysMax })
      })
    )
    .annotate({ description: "One line each, as in authorized_keys. RSA of at least 3072 bits." })
}).annotate({ identifier: "CooperativeConnectionKeys", description: "The public keys that may connect." })
export interface CooperativeConnectionKeys extends Schema.Schema.Type<typeof CooperativeConnectionKeys> {}

export const CooperativeEnvelope = Schema.Struct({
  endpointId: EndpointId,
  host: Schema.String.annotate({ description: "Where to connect to." }),
  port: Schema.Int.annotate({ description: "The SSH port there." }),
  username: Schema.String.annotate({ description: "Whom to sign in as." }),
  hostKey: Schema.String.annotate({ description: "The server's host key: one OpenSSH public-key line." }),
  expiresAt: Timestamp.annotate({ description: "Until then a connection may be opened; one that is open goes on." })
}).annotate({ identifier: "CooperativeEnvelope", description: "How the granted SSH connection is made." })
export interface CooperativeEnvelope extends Schema.Schema.Type<typeof CooperativeEnvelope> {}

export const CooperativeRevoke = Schema.Struct({
  endpointId: EndpointId,
  status: Schema.Literal("unconfirmed").annotate({ description: "Whether what it opened is gone: never confirmed." })
}).annotate({ identifier: "CooperativeRevoke", description: "What is known of the grant that was revoked." })
export interface CooperativeRevoke extends Schema.Schema.Type<typeof CooperativeRevoke> {}

const reached = [NotFound, UnsupportedByRuntime, SandboxUnavailable] as const
const jsonBody = [InvalidRequest, PayloadTooLarge, UnsupportedMediaType] as const

export class CooperativeGroup extends HttpApiGroup.make("cooperative")
  .add(
    HttpApiEndpoint.post("grantConnection", "/sandboxes/:id/cooperative-connection", {
      params: { id: SandboxId },
      payload: CooperativeConnectionKeys,
      success: CooperativeEnvelope.pipe(HttpApiSchema.status(201)),
      error: [...jsonBody, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "grantConnection",
          summary: "Grant an SSH connection",
          description:
            "For 30 s connections may be opened with one of the keys: shell, commands, sftp, and forwarding to the Sandbox's own ports. They end with the Sandbox. 501 unless the server offers it."
        })
      ),
    HttpApiEndpoint.post("regrantConnection", "/sandboxes/:id/cooperative-connection/:endpointId", {
      params: { id: SandboxId, endpointId: EndpointId },
      payload: CooperativeConnectionKeys,
      success: CooperativeEnvelope,
      error: [...jsonBody, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotate(ReadOnly, true)
      .annotate(ReadsContent, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "regrantConnection",
          summary: "Recover a grant",
          description: "The unchanged original for the same keys; 400 for others."
        })
      ),
    HttpApiEndpoint.delete("revokeConnection", "/sandboxes/:id/cooperative-connection/:endpointId", {
      params: { id: SandboxId, endpointId: EndpointId },
      success: CooperativeRevoke.pipe(HttpApiSchema.status(202)),
      error: reached
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "revokeConnection",
          summary: "Revoke a grant",
          description: "Its connections are ended as well as can be; never confirmed."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(
    OpenApi.annotations({
      title: "Cooperative connection",
      description:
        "SSH into a Sandbox, for who has one of the keys that were named. Off unless the server offers it (501)."
    })
  ) {}
