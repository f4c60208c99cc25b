/**
 * The caller that an endpoint requires, and the body that it reads. The HTTP layer does these checks before it decodes
 * anything.
 */
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

/** Endpoint annotation: it changes nothing though its method is not GET, so it can always be repeated. */
export const ReadOnly = Context.Reference<boolean>("atoll/schemas/ReadOnly", { defaultValue: () => false })

/**
 * Endpoint annotation: it changes nothing, and is in the audit log all the same, because its answer holds content of a
 * Sandbox or a capability.
 */
export const ReadsContent = Context.Reference<boolean>("atoll/schemas/ReadsContent", { defaultValue: () => false })

/**
 * Endpoint annotation: its answer may have megabytes, so an account gets few of them at a time; one more waits, then is 429. Of an endpoint with a
 * body, whose answer's size is known only at its end, so many bytes may be unread.
 */
export const MayBeLarge = Context.Reference<boolean>("atoll/schemas/MayBeLarge", { defaultValue: () => false })

/** Endpoint annotation: beside its named query parameters it takes every one whose name begins with this. */
export const QueryPrefix = Context.Reference<string | null>("atoll/schemas/QueryPrefix", { defaultValue: () => null })

/** Endpoint annotation: a session of a suspended account may, too. */
export const AlsoSuspended = Context.Reference<boolean>("atoll/schemas/AlsoSuspended", { defaultValue: () => false })

/**
 * Endpoint annotation: a session's cookie is enough. Only for requests by which a page learns its X-Atoll-Csrf, and
 * where a ticket stands for it.
 */
export const CookieAlone = Context.Reference<boolean>("atoll/schemas/CookieAlone", { defaultValue: () => false })

/** The authenticated account of a request, and its key or its session. */
export class Caller extends Context.Service<
  Caller,
  {
    readonly accountId: string
    /** Null for a session. */
    readonly apiKeyId: string | null
    /** Null for a key. */
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

/** The same for a session, and never for a key: for calls that only a person may make. */
export class SignedIn extends HttpApiMiddleware.Service<SignedIn, { provides: Caller }>()("atoll/schemas/SignedIn", {
  error: [InvalidRequest, Unauthenticated, AccountSuspended, CrossSiteRequest, Internal, ServiceUnavailable]
}) {}

/** The operator of the service: a separate session, which belongs to no account. */
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

/** For a caller without a session yet, and not from another site. */
export class FromConsole extends HttpApiMiddleware.Service<FromConsole>()("atoll/schemas/FromConsole", {
  error: [InvalidRequest, CrossSiteRequest, Internal, ServiceUnavailable]
}) {}

/** The same without a key. It needs no database either, but a service that begins or ends does not answer it. */
export class Open extends HttpApiMiddleware.Service<Open>()("atoll/schemas/Open", {
  error: [InvalidRequest, Internal, ServiceUnavailable]
}) {}
