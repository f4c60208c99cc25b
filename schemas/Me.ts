/** The account and the key in use. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorized, RequiredScope, Scope } from "./Access.ts"
import { AccountId, ApiKeyId } from "./Identifiers.ts"
import { ProfileBounds } from "./SandboxProfile.ts"
import { Timestamp } from "./Text.ts"

export const Me = Schema.Struct({
  account: Schema.Struct({
    id: AccountId,
    name: Schema.String.annotate({ description: "As the operator or who registered named it." }),
    email: Schema.NullOr(Schema.String).annotate({
      description: "The e-mail address of the account; null if it has none."
    }),
    createdAt: Timestamp.annotate({ description: "When it was made." })
  }).annotate({ description: "Whose key this is." }),
  apiKey: Schema.NullOr(
    Schema.Struct({
      id: ApiKeyId,
      name: Schema.String.annotate({ description: "As it was named when it was made." }),
      hint: Schema.String.annotate({ description: "The last 4 characters of the secret." }),
      scopes: Schema.Array(Scope).annotate({ description: "What it may do." }),
      createdAt: Timestamp.annotate({ description: "When it was made." }),
      lastUsedAt: Schema.NullOr(Timestamp).annotate({
        description: "The key's last use, of which this request is one."
      })
    })
  ).annotate({ description: "null where a session of the console asks." }),
  limits: Schema.Struct({
    workspaces: Schema.Int.annotate({ description: "Most workspaces of the account." }),
    sandboxes: Schema.Int.annotate({ description: "Most Sandboxes of the account, stopped ones included." }),
    workspaceStorageBytes: Schema.Int.annotate({ description: "Most that the volumes of one workspace are together." }),
    profile: ProfileBounds
  }).annotate({ description: "How much the account may have." })
}).annotate({ identifier: "Me", description: "The account, and the API key that asks." })
export interface Me extends Schema.Schema.Type<typeof Me> {}

export class AccountGroup extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("getMe", "/me", { success: Me })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getMe",
          summary: "The account and the API key in use",
          description: "What a key may, and as whom: the first call of a program that was given one."
        })
      ),
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
