/** What the machine of the service that answers enforces, in the operator's page: the report of `atoll doctor`. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Operating } from "../Access.ts"
import { acted, described } from "./Acted.ts"

export const Finding = Schema.Struct({
  name: Schema.String.annotate({ description: "A word or two." }),
  state: Schema.Literals(["ok", "limited", "missing"]).annotate({
    description:
      "limited: something is not enforced or not available. missing: what the settings ask for does not work."
  }),
  found: Schema.String,
  mend: Schema.NullOr(Schema.String).annotate({ description: "One command or one sentence; null when all is well." })
}).annotate({ identifier: "Finding" })
export interface Finding extends Schema.Schema.Type<typeof Finding> {}

export const Examined = Schema.Struct({
  works: Schema.Boolean.annotate({ description: "Nothing is missing." }),
  verdict: Schema.String.annotate({ description: "In the words of the command line." }),
  findings: Schema.Array(Finding)
}).annotate({ identifier: "Examined" })
export interface Examined extends Schema.Schema.Type<typeof Examined> {}

export class DoctorGroup extends HttpApiGroup.make("doctor")
  .add(
    HttpApiEndpoint.post("examineHost", "/doctor", { success: Examined, error: acted.error }).annotateMerge(
      described("examineHost", "atoll doctor")
    )
  )
  .middleware(Operating) {}
