/** API keys of all accounts in the operator's page: what `atoll keys` does, in the same words. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Operating } from "../Access.ts"
import { InvalidRequest } from "../Errors.ts"
import { nameMaxCharacters } from "../Limits.ts"
import { NextCursor, page } from "../Query.ts"
import { isCharactersBetween, isPlainText, isShownName } from "../Text.ts"
import { acted, described, Id, NameOrId, OrNone } from "./Acted.ts"
import { ConsoleKey } from "./Keys.ts"

export const OperatedKey = Schema.Struct({
  ...ConsoleKey.fields,
  accountId: Schema.String,
  accountName: Schema.String
}).annotate({ identifier: "OperatedKey" })
export interface OperatedKey extends Schema.Schema.Type<typeof OperatedKey> {}

export const OperatedKeys = Schema.Struct({
  keys: Schema.Array(OperatedKey).annotate({
    description: "One page, newest first, expired and revoked ones included."
  }),
  nextCursor: NextCursor
}).annotate({ identifier: "OperatedKeys" })
export interface OperatedKeys extends Schema.Schema.Type<typeof OperatedKeys> {}

export class OperatedKeysGroup extends HttpApiGroup.make("operatedKeys")
  .add(
    HttpApiEndpoint.get("listAllKeys", "/keys", {
      query: { ...page, account: Schema.optionalKey(NameOrId) },
      success: OperatedKeys,
      error: InvalidRequest
    }).annotateMerge(described("listAllKeys", "API keys of one account, or of all")),
    HttpApiEndpoint.post("createKeyOf", "/keys", {
      payload: Schema.Struct({
        account: NameOrId,
        name: Schema.String.check(isCharactersBetween(1, nameMaxCharacters), isPlainText, isShownName),
        scopes: Schema.String.check(isCharactersBetween(1, 256), isPlainText).annotate({
          description: "Separated by commas, or all."
        }),
        expiresAt: OrNone
      }),
      ...acted
    }).annotateMerge(described("createKeyOf", "atoll keys create")),
    HttpApiEndpoint.post("revokeKeyOf", "/keys/:keyId/revoke", { params: { keyId: Id }, ...acted }).annotateMerge(
      described("revokeKeyOf", "atoll keys revoke")
    )
  )
  .middleware(Operating) {}
