/** What the operator sees of accounts and does with them in the console: what the command line does, in the same words. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Operating } from "../Access.ts"
import { InvalidRequest, NotFound } from "../Errors.ts"
import { nameMaxCharacters } from "../Limits.ts"
import { Cursor, integerWithDefault, NextCursor } from "../Query.ts"
import { isCharactersBetween, isPlainText, isShownName, Timestamp } from "../Text.ts"
import { acted, described, Id, OrNone, Written } from "./Acted.ts"

const Limits = { workspaces: Schema.Int, sandboxes: Schema.Int, workspaceStorageBytes: Schema.Int }

const OwnLimits = {
  workspaces: Schema.NullOr(Schema.Int),
  sandboxes: Schema.NullOr(Schema.Int),
  workspaceStorageBytes: Schema.NullOr(Schema.Int)
}

const accountsPageMax = 100
const accountsPageDefault = 50

const billings = ["unlimited", "prepaid"] as const

const ByState = Schema.Record(Schema.String, Schema.Int).annotate({
  description: "How many Sandboxes are in each state, without deleted ones; a state without any is not in it."
})

export const OperatedAccount = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  email: Schema.NullOr(Schema.String),
  billing: Schema.Literals(billings),
  suspendedAt: Schema.NullOr(Timestamp),
  createdAt: Timestamp,
  limits: Schema.Struct(Limits),
  ownLimits: Schema.Struct(OwnLimits).annotate({ description: "null: the setting applies." }),
  sandboxes: ByState,
  burnMicroUsdPerHour: Schema.Int
}).annotate({ identifier: "OperatedAccount" })
export interface OperatedAccount extends Schema.Schema.Type<typeof OperatedAccount> {}

export const OperatedAccounts = Schema.Struct({
  accounts: Schema.Array(OperatedAccount).annotate({ description: "One page of those that match, oldest first." }),
  matching: Schema.Int.annotate({ description: "How many match, on all pages." }),
  nextCursor: NextCursor
}).annotate({ identifier: "OperatedAccounts" })
export interface OperatedAccounts extends Schema.Schema.Type<typeof OperatedAccounts> {}

export const AllAccounts = Schema.Struct({
  accounts: Schema.Int,
  sandboxes: ByState,
  burnMicroUsdPerHour: Schema.Int
}).annotate({ identifier: "AllAccounts" })
export interface AllAccounts extends Schema.Schema.Type<typeof AllAccounts> {}

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

const Description = Schema.String.check(
  isCharactersBetween(1, 256),
  isPlainText,
  Schema.isPattern(/^\P{Cc}*$/u, { expected: "text without control characters" })
)
export const NewCredit = Schema.Struct({
  usd: Written,
  kind: Schema.Literals(["promotional", "purchase", "adjustment"]),
  expiresAt: OrNone,
  description: Schema.NullOr(Description)
})
export interface NewCredit extends Schema.Schema.Type<typeof NewCredit> {}

const params = { accountId: Id }

export class OperatedAccountsGroup extends HttpApiGroup.make("operatedAccounts")
  .add(
    HttpApiEndpoint.get("listAccounts", "/accounts", {
      query: {
        limit: integerWithDefault(
          { minimum: 1, maximum: accountsPageMax },
          accountsPageDefault,
          "Most accounts of one page."
        ),
        cursor: Schema.optionalKey(Cursor),
        find: Schema.optionalKey(
          Schema.String.check(isCharactersBetween(0, 128), isPlainText).annotate({
            description: "A part of the name or e-mail, in any case, or the beginning of the id."
          })
        )
      },
      success: OperatedAccounts,
      error: InvalidRequest
    }).annotateMerge(described("listAccounts", "Accounts, with their Sandboxes by state")),
    HttpApiEndpoint.get("sumAccounts", "/accounts/sum", { success: AllAccounts }).annotateMerge(
      described("sumAccounts", "What all accounts have together")
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
      payload: NewCredit,
      ...acted
    }).annotateMerge(described("grantCredit", "atoll credit grant"))
  )
  .middleware(Operating) {}
