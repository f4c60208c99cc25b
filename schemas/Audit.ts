/** The API audit log of an account. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorized, RequiredScope } from "./Access.ts"
import { InvalidRequest } from "./Errors.ts"
import { ApiKeyId } from "./Identifiers.ts"
import { NextCursor, page } from "./Query.ts"
import { Timestamp } from "./Text.ts"

export const AuditEvent = Schema.Struct({
  id: Schema.String,
  at: Timestamp,
  apiKeyId: ApiKeyId,
  keyHint: Schema.String.annotate({ description: "The last 4 characters of the key's secret." }),
  method: Schema.String,
  path: Schema.String.annotate({ description: "Without the query." }),
  status: Schema.Int,
  requestId: Schema.String,
  sourceIp: Schema.String.annotate({ description: "The address that the connection came from." })
}).annotate({ identifier: "AuditEvent" })
export interface AuditEvent extends Schema.Schema.Type<typeof AuditEvent> {}

export const AuditLog = Schema.Struct({ events: Schema.Array(AuditEvent), nextCursor: NextCursor }).annotate({
  identifier: "AuditLog",
  description: "Newest first."
})

export class AuditGroup extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("listAuditEvents", "/usage/audit", { query: page, success: AuditLog, error: InvalidRequest })
      .annotate(RequiredScope, "usage:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listAuditEvents",
          summary: "The account's API audit log",
          description:
            "Every authenticated call with a method other than GET and HEAD, whatever its outcome. An event appears within about a second of its answer, and is kept for 90 days (a setting)."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Audit", description: "Who called what." })) {}
