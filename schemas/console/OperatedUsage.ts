/** The check of the books in the operator's page: what `atoll usage verify` does, in the same words. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Operating } from "../Access.ts"
import { acted, described, NameOrId } from "./Acted.ts"

export const Verified = Schema.Struct({
  said: Schema.String.annotate({
    description: "What was checked and what was found, in the words of the command line."
  }),
  differencesCount: Schema.Int,
  differences: Schema.Array(
    Schema.Struct({
      what: Schema.String,
      accountId: Schema.NullOr(Schema.String),
      id: Schema.NullOr(Schema.String),
      expected: Schema.String,
      found: Schema.String
    })
  ).annotate({ description: "The first hundred." })
}).annotate({ identifier: "Verified" })
export interface Verified extends Schema.Schema.Type<typeof Verified> {}

export class OperatedUsageGroup extends HttpApiGroup.make("operatedUsage")
  .add(
    HttpApiEndpoint.post("verifyUsage", "/usage/verify", {
      payload: Schema.Struct({ account: Schema.NullOr(NameOrId) }),
      success: Verified,
      error: acted.error
    }).annotateMerge(described("verifyUsage", "atoll usage verify"))
  )
  .middleware(Operating) {}
