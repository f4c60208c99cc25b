/** The account and the key in use. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorized, RequiredScope, Scope } from "./Access.ts"
import { AccountId, ApiKeyId } from "./Identifiers.ts"
import { Timestamp } from "./Text.ts"

export const Me = Schema.Struct({
  account: Schema.Struct({
    id: AccountId,
    name: Schema.String,
    email: Schema.NullOr(Schema.String),
    createdAt: Timestamp
  }),
  apiKey: Schema.NullOr(
    Schema.Struct({
      id: ApiKeyId,
      name: Schema.String,
      hint: Schema.String.annotate({ description: "The last 4 characters of the secret." }),
      scopes: Schema.Array(Scope),
      createdAt: Timestamp,
      lastUsedAt: Schema.NullOr(Timestamp).annotate({
        description: "The key's last use, of which this request is one."
      })
    })
  ).annotate({ description: "null where a session of the console asks." }),
  limits: Schema.Struct({
    workspaces: Schema.Int,
    sandboxes: Schema.Int,
    workspaceStorageBytes: Schema.Int
  })
}).annotate({ identifier: "Me" })
export interface Me extends Schema.Schema.Type<typeof Me> {}

export class AccountGroup extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("getMe", "/me", { success: Me })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(OpenApi.annotations({ identifier: "getMe", summary: "The account and the API key in use" })),
    HttpApiEndpoint.delete("revokeKey", "/auth", {})
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "revokeKey",
          summary: "Revoke the API key of this request",
          description:
            "A session of the console has no key, and is refused (400). The secret authenticates no request that begins after this answer. Workspaces and Sandboxes stay. The answer takes about a tenth of a second: every process of the service is then sure to know."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Account", description: "The account and its API keys." })) {}
