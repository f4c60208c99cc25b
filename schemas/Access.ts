/** Who may call an endpoint, and what it reads of a body. The HTTP layer does these checks before it decodes anything. */
import { Context, Schema } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import {
  AccountSuspended,
  CrossSiteRequest,
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

export const Scope = Schema.Literals(scopes).annotate({
  identifier: "Scope",
  description: "What a key may do; each operation names the one that it needs."
})
export type Scope = typeof Scope.Type

/** Endpoint annotation: the scope that the key must have. */
export class RequiredScope extends Context.Service<RequiredScope, Scope>()("atoll/schemas/RequiredScope") {}

/** Endpoint annotation: an absent body means `{}`. */
export const OptionalBody = Context.Reference<boolean>("atoll/schemas/OptionalBody", { defaultValue: () => false })

/** Endpoint annotation: it changes nothing though its method is not GET, so it can always be sent again. */
export const ReadOnly = Context.Reference<boolean>("atoll/schemas/ReadOnly", { defaultValue: () => false })

/** Endpoint annotation: it changes nothing, and yet stands in the audit log, for it gives out the content of a Sandbox or what opens it. */
export const ReadsContent = Context.Reference<boolean>("atoll/schemas/ReadsContent", { defaultValue: () => false })

/**
 * Endpoint annotation: its answer may have megabytes, so an account gets few of them at a time; one more waits, then is 429. Of an endpoint with a
 * body, whose answer's size is known only at its end, so many bytes may be unread.
 */
export const MayBeLarge = Context.Reference<boolean>("atoll/schemas/MayBeLarge", { defaultValue: () => false })

/** Endpoint annotation: beside its named query parameters it takes any whose name begins with this. */
export const QueryPrefix = Context.Reference<string | null>("atoll/schemas/QueryPrefix", { defaultValue: () => null })

/** Endpoint annotation: a session of a suspended account may, too. */
export const AlsoSuspended = Context.Reference<boolean>("atoll/schemas/AlsoSuspended", { defaultValue: () => false })

/** Endpoint annotation: a session's cookie is enough. Only for what a page needs to learn its X-Atoll-Csrf, and where a ticket stands for it. */
export const CookieAlone = Context.Reference<boolean>("atoll/schemas/CookieAlone", { defaultValue: () => false })

/** The authenticated account of a request, and its key or its session. */
export class Caller extends Context.Service<
  Caller,
  {
    readonly accountId: string
    /** Null of a session. */
    readonly apiKeyId: string | null
    /** Null of a key. */
    readonly sessionId: string | null
    /** Last 4 characters of the secret. */
    readonly keyHint: string | null
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
  {
    error: [
      InvalidRequest,
      Unauthenticated,
      ScopeRequired,
      AccountSuspended,
      CrossSiteRequest,
      Internal,
      ServiceUnavailable
    ]
  }
) {}

/** The same for a session, and never for a key: for what only a person may. */
export class SignedIn extends HttpApiMiddleware.Service<SignedIn, { provides: Caller }>()("atoll/schemas/SignedIn", {
  error: [InvalidRequest, Unauthenticated, AccountSuspended, CrossSiteRequest, Internal, ServiceUnavailable]
}) {}

/** The operator of the service: a session of his own, which belongs to no account. */
export class Operator extends Context.Service<
  Operator,
  {
    readonly sessionId: string
    /** As in X-Request-Id. */
    readonly requestId: string
  }
>()("atoll/schemas/Operator") {}

/** For a session of the operator's, and never for a key or an account's session. */
export class Operating extends HttpApiMiddleware.Service<Operating, { provides: Operator }>()(
  "atoll/schemas/Operating",
  { error: [InvalidRequest, Unauthenticated, CrossSiteRequest, Internal, ServiceUnavailable] }
) {}

/** Without a session yet, and yet not from another site. */
export class FromConsole extends HttpApiMiddleware.Service<FromConsole>()("atoll/schemas/FromConsole", {
  error: [InvalidRequest, CrossSiteRequest, Internal, ServiceUnavailable]
}) {}

/** The same without a key: for what needs none. It needs no database either, but a service that begins or ends is not there for it. */
export class Open extends HttpApiMiddleware.Service<Open>()("atoll/schemas/Open", {
  error: [InvalidRequest, Internal, ServiceUnavailable]
}) {}
