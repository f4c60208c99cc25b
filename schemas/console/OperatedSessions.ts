/** The operator's sessions in the operator's page. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Operating } from "../Access.ts"
import { Timestamp } from "../Text.ts"
import { acted, described } from "./Acted.ts"

export const OperatedSession = Schema.Struct({
  id: Schema.String,
  createdAt: Timestamp,
  lastUsedAt: Timestamp,
  expiresAt: Timestamp.annotate({ description: "When it ends without further use." }),
  sourceIp: Schema.String,
  userAgent: Schema.NullOr(Schema.String),
  isThis: Schema.Boolean.annotate({ description: "It is the one that asks." })
}).annotate({ identifier: "OperatedSession" })
export interface OperatedSession extends Schema.Schema.Type<typeof OperatedSession> {}

export const OperatedSessions = Schema.Struct({
  sessions: Schema.Array(OperatedSession).annotate({ description: "Active ones, the latest first." })
}).annotate({ identifier: "OperatedSessions" })
export interface OperatedSessions extends Schema.Schema.Type<typeof OperatedSessions> {}

export class OperatedSessionsGroup extends HttpApiGroup.make("operatedSessions")
  .add(
    HttpApiEndpoint.get("listOperatorSessions", "/sessions", { success: OperatedSessions }).annotateMerge(
      described("listOperatorSessions", "atoll operator sessions")
    ),
    HttpApiEndpoint.post("endOperatorSessions", "/sessions/end", acted).annotateMerge(
      described("endOperatorSessions", "atoll operator sign-out")
    )
  )
  .middleware(Operating) {}
