/** The audit log over all accounts, for the operator's page: no account's API has it. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Operating } from "../Access.ts"
import { AuditEvent, auditSources } from "../Audit.ts"
import { InvalidRequest } from "../Errors.ts"
import { instant, NextCursor, page } from "../Query.ts"
import { isCharactersBetween, isPlainText } from "../Text.ts"
import { described, NameOrId } from "./Acted.ts"

/** The operator's changes that belong to no account, and the words of the command line that make them. */
export const installationCommands = {
  invite: "atoll invitations create",
  revokeInvitation: "atoll invitations revoke",
  setRates: "atoll rates set",
  cordonHost: "atoll hosts cordon",
  drainHost: "atoll hosts drain",
  uncordonHost: "atoll hosts uncordon",
  removeHost: "atoll hosts remove",
  startBackup: "atoll backup",
  restoreBackup: "atoll restore",
  createOperatorLink: "atoll operator link",
  endOperatorSessions: "atoll operator sign-out"
} as const
export type InstallationAction = keyof typeof installationCommands

export const OperatedAuditEvent = Schema.Struct({
  ...AuditEvent.fields,
  account: Schema.NullOr(
    Schema.Struct({ id: Schema.String, name: Schema.NullOr(Schema.String) }).annotate({
      description: "name: null if the account does not exist."
    })
  ).annotate({ description: "null: a change of the operator that belongs to no account." })
}).annotate({ identifier: "OperatedAuditEvent" })
export interface OperatedAuditEvent extends Schema.Schema.Type<typeof OperatedAuditEvent> {}

export const OperatedAudit = Schema.Struct({
  events: Schema.Array(OperatedAuditEvent).annotate({ description: "One page, newest first." }),
  nextCursor: NextCursor
}).annotate({ identifier: "OperatedAudit" })
export interface OperatedAudit extends Schema.Schema.Type<typeof OperatedAudit> {}

export class OperatedAuditGroup extends HttpApiGroup.make("operatedAudit")
  .add(
    HttpApiEndpoint.get("listAllAuditEvents", "/audit", {
      query: {
        ...page,
        account: Schema.optionalKey(NameOrId),
        source: Schema.optionalKey(Schema.Literals(auditSources)),
        action: Schema.optionalKey(Schema.String.check(isCharactersBetween(1, 64), isPlainText)),
        from: Schema.optionalKey(instant("Only events at this instant or later.")),
        to: Schema.optionalKey(instant("Only events before this instant."))
      },
      success: OperatedAudit,
      error: InvalidRequest
    }).annotateMerge(described("listAllAuditEvents", "The audit log over all accounts"))
  )
  .middleware(Operating) {}
