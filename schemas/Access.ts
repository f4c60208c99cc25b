/** Who may call an endpoint, and what it reads of a body. The HTTP layer does these checks before it decodes anything. */
import { Context, Schema } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import {
  AccountSuspended,
  Internal,
  InvalidRequest,
  ScopeRequired,
  ServiceUnavailable,
  Unauthenticated
} from "./Errors.ts"

/** @source contract.md "Authentication" */
export const scopes = [
  "workspace:create",
  "sandbox:read",
  "sandbox:create",
  "sandbox:execute",
  "sandbox:delete",
  "usage:read"
] as const

export const Scope = Schema.Literals(scopes).annotate({ identifier: "Scope" })
export type Scope = typeof Scope.Type

/** Endpoint annotation: the scope that the key must have. */
export class RequiredScope extends Context.Service<RequiredScope, Scope>()("atoll/schemas/RequiredScope") {}

/** Endpoint annotation: an absent body means `{}`. */
export const OptionalBody = Context.Reference<boolean>("atoll/schemas/OptionalBody", { defaultValue: () => false })

/** Endpoint annotation: it changes nothing though its method is not GET, so it can always be sent again. */
export const ReadOnly = Context.Reference<boolean>("atoll/schemas/ReadOnly", { defaultValue: () => false })

/** Endpoint annotation: it changes nothing, and yet stands in the audit log, for it gives out the content of a Sandbox or what opens it. */
export const ReadsContent = Context.Reference<boolean>("atoll/schemas/ReadsContent", { defaultValue: () => false })

/** Endpoint annotation: beside its named query parameters it takes any whose name begins with this. */
export const QueryPrefix = Context.Reference<string | null>("atoll/schemas/QueryPrefix", { defaultValue: () => null })

/** The authenticated account and key of a request. */
export class Caller extends Context.Service<
  Caller,
  {
    readonly accountId: string
    readonly apiKeyId: string
    /** Last 4 characters of the secret. */
    readonly keyHint: string
    readonly scopes: ReadonlySet<string>
    /** The instant (epoch milliseconds) from which the account has no credit left, by present knowledge; null: none is in sight. */
    readonly exhaustedAt: number | null
    /** As in X-Request-Id. */
    readonly requestId: string
  }
>()("atoll/schemas/Caller") {}

/** Authenticates, checks scope, media type and size, and answers every failure with the Error body. */
export class Authorized extends HttpApiMiddleware.Service<Authorized, { provides: Caller }>()(
  "atoll/schemas/Authorized",
  { error: [InvalidRequest, Unauthenticated, ScopeRequired, AccountSuspended, Internal, ServiceUnavailable] }
) {}

/** The same without a key: for the one endpoint that needs none. */
export class Open extends HttpApiMiddleware.Service<Open>()("atoll/schemas/Open", {
  error: [InvalidRequest, Internal]
}) {}
