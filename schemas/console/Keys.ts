/** API keys, as people manage them in the console. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Scope, SignedIn } from "../Access.ts"
import { InvalidRequest, NotFound, PayloadTooLarge, RateLimited, UnsupportedMediaType } from "../Errors.ts"
import { ApiKeyId } from "../Identifiers.ts"
import { nameMaxCharacters } from "../Limits.ts"
import { orNull, withDefault } from "../Optional.ts"
import { parseInstant } from "../Query.ts"
import { isCharactersBetween, isPlainText, isShownName, Timestamp } from "../Text.ts"

export const ConsoleKey = Schema.Struct({
  id: ApiKeyId,
  name: Schema.String,
  hint: Schema.String.annotate({ description: "The last 4 characters of the secret." }),
  scopes: Schema.Array(Scope),
  createdAt: Timestamp,
  lastUsedAt: Schema.NullOr(Timestamp).annotate({ description: "Uses in other processes show within half a minute." }),
  lastUsedFrom: Schema.NullOr(Schema.String).annotate({ description: "The address of that use." }),
  expiresAt: Schema.NullOr(Timestamp).annotate({ description: "It is refused from then on." }),
  revokedAt: Schema.NullOr(Timestamp),
  revokedBy: Schema.NullOr(Schema.Literals(["operator", "console", "key"])).annotate({
    description: "key: by itself, with DELETE /api/v2/auth. null of a revoked key: it was before that was written down."
  })
}).annotate({ identifier: "ConsoleKey" })
export interface ConsoleKey extends Schema.Schema.Type<typeof ConsoleKey> {}

const NewKey = Schema.Struct({ key: ConsoleKey, secret: Schema.String }).annotate({
  identifier: "NewKey",
  description: "The secret is shown here and never again."
})

const Instant = Schema.String.check(
  Schema.makeFilter<string>((text) => parseInstant(text) !== null, {
    expected: "a date-time with a zone, such as 2027-01-31T12:00:00Z",
    toJsonSchema: () => ({ format: "date-time" })
  })
)

const KeyName = Schema.String.check(isCharactersBetween(1, nameMaxCharacters), isPlainText, isShownName)

const described = (identifier: string, summary: string) => OpenApi.annotations({ identifier, summary })

export class KeysGroup extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("listKeys", "/keys", {
      success: Schema.Struct({ keys: Schema.Array(ConsoleKey) }).annotate({
        description: "Oldest first, expired and revoked ones included."
      })
    }).annotateMerge(described("listKeys", "API keys of the account")),
    HttpApiEndpoint.post("createKey", "/keys", {
      payload: Schema.Struct({
        name: withDefault(KeyName, "Development", "For people."),
        scopes: Schema.NonEmptyArray(Scope),
        expiresAt: orNull(Instant, "It is refused from then on. Absent or null: never.")
      }),
      success: NewKey.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, PayloadTooLarge, UnsupportedMediaType, RateLimited]
    }).annotateMerge(described("createKey", "Make an API key")),
    HttpApiEndpoint.post("revokeKey", "/keys/:id/revoke", {
      params: { id: ApiKeyId },
      success: Schema.Struct({ key: ConsoleKey }),
      error: NotFound
    }).annotateMerge(described("revokeKey", "Revoke a key: no process accepts it once this is answered")),
    HttpApiEndpoint.post("rotateKey", "/keys/:id/rotate", {
      params: { id: ApiKeyId },
      success: NewKey.pipe(HttpApiSchema.status(201)),
      error: [NotFound, InvalidRequest, RateLimited]
    }).annotateMerge(described("rotateKey", "Make a key with the same name, scopes and end, and revoke the old one"))
  )
  .middleware(SignedIn) {}
