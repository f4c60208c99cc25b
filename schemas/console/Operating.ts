/** What the operator sees of accounts and does with them in the console: what the command line does, in the same words. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Operating } from "../Access.ts"
import { InvalidRequest, NotFound, PayloadTooLarge, UnsupportedMediaType } from "../Errors.ts"
import { nameMaxCharacters } from "../Limits.ts"
import { isCharactersBetween, isPlainText, isShownName, Timestamp } from "../Text.ts"
import { Email } from "./Session.ts"

const Limits = { workspaces: Schema.Int, sandboxes: Schema.Int, workspaceStorageBytes: Schema.Int }

const OwnLimits = {
  workspaces: Schema.NullOr(Schema.Int),
  sandboxes: Schema.NullOr(Schema.Int),
  workspaceStorageBytes: Schema.NullOr(Schema.Int)
}

const billings = ["unlimited", "prepaid"] as const

export const OperatedAccount = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  email: Schema.NullOr(Schema.String),
  billing: Schema.Literals(billings),
  suspendedAt: Schema.NullOr(Timestamp),
  createdAt: Timestamp,
  limits: Schema.Struct(Limits),
  ownLimits: Schema.Struct(OwnLimits).annotate({ description: "null: the setting applies." }),
  sandboxes: Schema.Record(Schema.String, Schema.Int).annotate({
    description: "How many are in each state, without deleted ones; a state without any is not in it."
  }),
  burnMicroUsdPerHour: Schema.Int
}).annotate({ identifier: "OperatedAccount" })
export interface OperatedAccount extends Schema.Schema.Type<typeof OperatedAccount> {}

export const OperatedAccounts = Schema.Struct({
  accounts: Schema.Array(OperatedAccount).annotate({ description: "Oldest first." })
}).annotate({ identifier: "OperatedAccounts" })
export interface OperatedAccounts extends Schema.Schema.Type<typeof OperatedAccounts> {}

/** An act of the operator, from the account's audit log. */
export const OperatorAct = Schema.Struct({
  id: Schema.String,
  at: Timestamp,
  action: Schema.String,
  by: Schema.String.annotate({ description: "The command, or the call of the operator's page." }),
  targetId: Schema.NullOr(Schema.String),
  status: Schema.Int,
  sourceIp: Schema.String
}).annotate({ identifier: "OperatorAct" })
export interface OperatorAct extends Schema.Schema.Type<typeof OperatorAct> {}

export const OperatedMoney = Schema.Struct({
  microUsd: Schema.Int,
  status: Schema.String,
  burnMicroUsdPerHour: Schema.Int,
  exhaustsAt: Schema.NullOr(Timestamp),
  acts: Schema.Array(OperatorAct).annotate({
    description: "The latest acts of the operator on the account, newest first."
  })
}).annotate({ identifier: "OperatedMoney" })
export interface OperatedMoney extends Schema.Schema.Type<typeof OperatedMoney> {}

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

export const OperatedInvitations = Schema.Struct({ invitations: Schema.Array(OperatedInvitation) })
export interface OperatedInvitations extends Schema.Schema.Type<typeof OperatedInvitations> {}

export const OperatedRates = Schema.Struct({
  rates: Schema.Array(
    Schema.Struct({
      effectiveAt: Timestamp,
      vcpuSecondNanoUsd: Schema.Int,
      memoryGibSecondNanoUsd: Schema.Int,
      volumeGibSecondNanoUsd: Schema.Int,
      createdAt: Timestamp,
      runningUsdPerHour: Schema.String,
      stoppedUsdPerHour: Schema.String
    })
  ).annotate({ description: "By time. The costs are those of a Sandbox of the settings' size." })
})
export interface OperatedRates extends Schema.Schema.Type<typeof OperatedRates> {}

export const Acted = Schema.Struct({
  said: Schema.String.annotate({ description: "What was done, in the words of the command line." }),
  link: Schema.NullOr(Schema.String).annotate({ description: "Shown once." })
}).annotate({ identifier: "Acted" })
export interface Acted extends Schema.Schema.Type<typeof Acted> {}

/** As it is written on the command line: parsed by the same code. */
const Written = Schema.String.check(isCharactersBetween(0, 64), isPlainText)
const OrNone = Schema.NullOr(Written)
const Description = Schema.String.check(
  isCharactersBetween(1, 256),
  isPlainText,
  Schema.isPattern(/^\P{Cc}*$/u, { expected: "text without control characters" })
)
const AccountId = Schema.String.check(isCharactersBetween(1, 64), isPlainText)
const params = { accountId: AccountId }

const described = (identifier: string, summary: string) => OpenApi.annotations({ identifier, summary })
const refusals = [InvalidRequest, NotFound, PayloadTooLarge, UnsupportedMediaType] as const
const acted = { success: Acted, error: refusals }

export class OperatedAccountsGroup extends HttpApiGroup.make("operatedAccounts")
  .add(
    HttpApiEndpoint.get("listAccounts", "/accounts", { success: OperatedAccounts }).annotateMerge(
      described("listAccounts", "Accounts, with their Sandboxes by state")
    ),
    HttpApiEndpoint.get("getAccountMoney", "/accounts/:accountId/money", {
      params,
      success: OperatedMoney,
      error: NotFound
    }).annotateMerge(described("getAccountMoney", "An account's balance, and what the operator did with it")),
    HttpApiEndpoint.post("createAccount", "/accounts", {
      payload: Schema.Struct({
        name: Schema.String.check(isCharactersBetween(1, nameMaxCharacters), isPlainText, isShownName),
        email: Schema.NullOr(Schema.String.check(isCharactersBetween(1, 254), isPlainText)),
        billing: Schema.Literals(billings),
        creditUsd: OrNone
      }),
      ...acted
    }).annotateMerge(described("createAccount", "atoll accounts create")),
    HttpApiEndpoint.post("suspendAccount", "/accounts/:accountId/suspend", { params, ...acted }).annotateMerge(
      described("suspendAccount", "atoll accounts suspend")
    ),
    HttpApiEndpoint.post("resumeAccount", "/accounts/:accountId/resume", { params, ...acted }).annotateMerge(
      described("resumeAccount", "atoll accounts resume")
    ),
    HttpApiEndpoint.post("recoverAccount", "/accounts/:accountId/recover", { params, ...acted }).annotateMerge(
      described("recoverAccount", "atoll accounts recover")
    ),
    HttpApiEndpoint.post("setAccountLimits", "/accounts/:accountId/limits", {
      params,
      payload: Schema.Struct({ sandboxes: Written, workspaces: Written, workspaceStorageBytes: Written }),
      ...acted
    }).annotateMerge(described("setAccountLimits", "atoll accounts limits")),
    HttpApiEndpoint.post("grantCredit", "/accounts/:accountId/credit", {
      params,
      payload: Schema.Struct({
        usd: Written,
        kind: Schema.Literals(["promotional", "purchase", "adjustment"]),
        expiresAt: OrNone,
        description: Schema.NullOr(Description)
      }),
      ...acted
    }).annotateMerge(described("grantCredit", "atoll credit grant"))
  )
  .middleware(Operating) {}

export class OperatedInstallationGroup extends HttpApiGroup.make("operatedInstallation")
  .add(
    HttpApiEndpoint.get("listInvitations", "/invitations", { success: OperatedInvitations }).annotateMerge(
      described("listInvitations", "Invitations, oldest first")
    ),
    HttpApiEndpoint.post("invite", "/invitations", {
      payload: Schema.Struct({ email: Schema.NullOr(Email), expiresDays: Written, creditUsd: Written }),
      ...acted
    }).annotateMerge(described("invite", "atoll invitations create")),
    HttpApiEndpoint.post("revokeInvitation", "/invitations/:invitationId/revoke", {
      params: { invitationId: AccountId },
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
        effectiveAt: OrNone
      }),
      ...acted
    }).annotateMerge(described("setRates", "atoll rates set"))
  )
  .middleware(Operating) {}
