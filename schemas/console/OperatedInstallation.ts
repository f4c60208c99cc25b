/** What the operator does with invitations and rates in the console: what the command line does, in the same words. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Operating } from "../Access.ts"
import { InvalidRequest } from "../Errors.ts"
import { NextCursor, page } from "../Query.ts"
import { Timestamp } from "../Text.ts"
import { acted, described, Id, OrNone, Written } from "./Acted.ts"
import { Email } from "./Session.ts"

export const OperatedInvitation = Schema.Struct({
  id: Schema.String,
  status: Schema.Literals(["open", "used", "revoked", "expired"]),
  email: Schema.NullOr(Schema.String),
  creditMicroUsd: Schema.Int,
  createdAt: Timestamp,
  expiresAt: Timestamp,
  usedAt: Schema.NullOr(Timestamp),
  revokedAt: Schema.NullOr(Timestamp),
  accountId: Schema.NullOr(Schema.String)
}).annotate({ identifier: "OperatedInvitation" })
export interface OperatedInvitation extends Schema.Schema.Type<typeof OperatedInvitation> {}

export const OperatedInvitations = Schema.Struct({
  invitations: Schema.Array(OperatedInvitation).annotate({ description: "One page, newest first." }),
  nextCursor: NextCursor
})
export interface OperatedInvitations extends Schema.Schema.Type<typeof OperatedInvitations> {}

export const OperatedRates = Schema.Struct({
  rates: Schema.Array(
    Schema.Struct({
      effectiveAt: Timestamp,
      vcpuSecondNanoUsd: Schema.Int,
      memoryGibSecondNanoUsd: Schema.Int,
      volumeGibSecondNanoUsd: Schema.Int,
      snapshotGibSecondNanoUsd: Schema.Int,
      createdAt: Timestamp,
      runningUsdPerHour: Schema.String,
      stoppedUsdPerHour: Schema.String
    })
  ).annotate({ description: "By time. The costs are those of a Sandbox of the settings' size." })
})
export interface OperatedRates extends Schema.Schema.Type<typeof OperatedRates> {}

export class OperatedInstallationGroup extends HttpApiGroup.make("operatedInstallation")
  .add(
    HttpApiEndpoint.get("listInvitations", "/invitations", {
      query: page,
      success: OperatedInvitations,
      error: InvalidRequest
    }).annotateMerge(described("listInvitations", "Invitations, newest first")),
    HttpApiEndpoint.post("invite", "/invitations", {
      payload: Schema.Struct({ email: Schema.NullOr(Email), expiresDays: Written, creditUsd: Written }),
      ...acted
    }).annotateMerge(described("invite", "atoll invitations create")),
    HttpApiEndpoint.post("revokeInvitation", "/invitations/:invitationId/revoke", {
      params: { invitationId: Id },
      ...acted
    }).annotateMerge(described("revokeInvitation", "atoll invitations revoke")),
    HttpApiEndpoint.get("listRates", "/rates", { success: OperatedRates }).annotateMerge(
      described("listRates", "Rates by time")
    ),
    HttpApiEndpoint.post("setRates", "/rates", {
      payload: Schema.Struct({
        vcpuSecond: Written,
        memoryGibSecond: Written,
        volumeGibSecond: Written,
        snapshotGibSecond: OrNone,
        effectiveAt: OrNone
      }),
      ...acted
    }).annotateMerge(described("setRates", "atoll rates set"))
  )
  .middleware(Operating) {}
