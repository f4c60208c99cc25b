/** The API audit log of an account. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorized, RequiredScope } from "./Access.ts"
import { InvalidRequest } from "./Errors.ts"
import { ApiKeyId, SandboxId } from "./Identifiers.ts"
import { instant, NextCursor, page } from "./Query.ts"
import { Timestamp } from "./Text.ts"

/** Entries into the service that leave events. */
export const auditSources = ["api", "console", "mcp", "operator"] as const
export type AuditSource = (typeof auditSources)[number]

/** Kinds of the targets of calls. */
export const auditTargets = [
  "account",
  "apiKey",
  "workspace",
  "sandbox",
  "operation",
  "process",
  "preview",
  "serviceAccess",
  "connectionGrant",
  "snapshot",
  "image",
  "grant",
  "session"
] as const
export type AuditTarget = (typeof auditTargets)[number]

/** Raw routes, which no endpoint describes: they open a connection into a Sandbox without an API key. */
export const gatewayActions = ["openTunnel", "openSshSession"] as const
export type GatewayAction = (typeof gatewayActions)[number]

/** The operator's changes to an account, and the words of the command line that make them. */
export const operatorCommands = {
  createAccount: "atoll accounts create",
  suspendAccount: "atoll accounts suspend",
  resumeAccount: "atoll accounts resume",
  setAccountLimits: "atoll accounts limits",
  recoverAccount: "atoll accounts recover",
  createKey: "atoll keys create",
  revokeKey: "atoll keys revoke",
  grantCredit: "atoll credit grant"
} as const
export type OperatorAction = keyof typeof operatorCommands

/** The action of an event that was written before actions existed, by a call that no longer exists. */
export const unknownAction = "unknown"

export const userAgentMaxCharacters = 256

export const AuditEvent = Schema.Struct({
  id: Schema.String.annotate({ description: "The event's own id." }),
  at: Timestamp.annotate({ description: "When it was answered." }),
  source: Schema.Literals(auditSources).annotate({ description: "By which way the call came." }),
  action: Schema.String.annotate({
    description:
      "The endpoint's operationId; openTunnel or openSshSession for a way into a Sandbox; what a person did in the console: register, signIn, signInByLink, signOut, changePassphrase, endSession, createKey, revokeKey, rotateKey; what the operator did: createAccount, suspendAccount, resumeAccount, setAccountLimits, recoverAccount, createKey, revokeKey, grantCredit.",
    examples: ["createSandbox"]
  }),
  apiKeyId: Schema.NullOr(ApiKeyId).annotate({ description: "null where no API key was used." }),
  keyHint: Schema.NullOr(Schema.String).annotate({ description: "The last 4 characters of the key's secret." }),
  keyName: Schema.NullOr(Schema.String).annotate({ description: "The key's name; null where no key was used." }),
  method: Schema.String.annotate({
    description: "The HTTP method; SSH for an SSH session, CLI for the operator's command line."
  }),
  path: Schema.String.annotate({
    description:
      "Without the query. What is a capability (a preview id), or no id of its place, is shown as the OpenAPI writes it: {previewId}. Of a command line: the command without its arguments."
  }),
  targetType: Schema.NullOr(Schema.Literals(auditTargets)).annotate({ description: "What the call was about." }),
  targetId: Schema.NullOr(Schema.String).annotate({
    description: "Its id, also of what was made; null where there is none (refused), or where it is a capability."
  }),
  status: Schema.Int.annotate({
    description:
      "The answer's; of a tool call over MCP, what the endpoint would have answered. 499: the caller went away before it. 101: a tunnel or a terminal was opened. An operation's own outcome is not in it."
  }),
  errorCode: Schema.NullOr(Schema.String).annotate({ description: "`code` of the Error body." }),
  requestId: Schema.String.annotate({ description: "As in the X-Request-Id of the answer." }),
  sourceIp: Schema.String.annotate({
    description:
      "The address that the connection came from, or that the operator's proxy says; of the operator's command line, the loopback."
  }),
  userAgent: Schema.NullOr(Schema.String).annotate({
    description: `The first ${userAgentMaxCharacters} characters that the client says of itself; ? for what is not printable ASCII.`
  })
}).annotate({ identifier: "AuditEvent", description: "One call that changed something or read content." })
export interface AuditEvent extends Schema.Schema.Type<typeof AuditEvent> {}

export const AuditLog = Schema.Struct({
  events: Schema.Array(AuditEvent).annotate({ description: "One page." }),
  nextCursor: NextCursor
}).annotate({
  identifier: "AuditLog",
  description: "Newest first."
})

const auditQuery = {
  ...page,
  from: Schema.optionalKey(instant("Only events at this instant or later.")),
  to: Schema.optionalKey(instant("Only events before this instant.")),
  action: Schema.optionalKey(
    Schema.String.annotate({ description: "Only these: an operationId, or another of the actions that events have." })
  ),
  sandboxId: Schema.optionalKey(SandboxId)
}

export class AuditGroup extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("listAuditEvents", "/usage/audit", {
      query: auditQuery,
      success: AuditLog,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "usage:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listAuditEvents",
          summary: "The account's API audit log",
          description: [
            "Every call that changes something, or that reads the content of a Sandbox or a secret that opens it. Refused calls (400, 402, 403, 404, 409, 429, …) and calls with an unknown outcome are in it, too.",
            "",
            "- Every endpoint whose method is not GET, but for waitOperation, which changes nothing and carries no output. Of those with GET: readFile, downloadArchive, exportSnapshot, readOperationOutput, streamOperationOutput, readBuildOutput, streamBuildOutput, readLogs, and openTerminal, without what went through it. lookUpServiceAccess and regrantConnection change nothing either, and stand in it, since they hand out what opens a Sandbox. Lists, states and metadata leave no event.",
            "- Each tunnel (openTunnel) and each SSH connection (openSshSession) that a capability or a grant opened, or that was refused after it was recognised. What goes through them, and visits of previews, leave none.",
            "- Each call of a tool over MCP (source mcp, path /mcp), as the endpoint that does the same.",
            "- What a person did in the console (source console): the same calls, signing in, wrong passphrases of the account included, and its sessions and keys.",
            "- What the operator did to the account on the command line.",
            "- Not what cannot be told whose it is: 401, and paths and methods that do not exist.",
            "",
            "Filters are optional and all must match; sandboxId: calls about that Sandbox and what is in it, its creation included. Bodies, queries and secrets never stand in it. An event is on record before its call is answered, so a crash of the service or of its database loses none; it appears within about a second of the answer, stays when the thing it was about is gone, and is kept for 90 days (a setting). An action that is not known is 400."
          ].join("\n")
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Audit", description: "Who called what." })) {}
