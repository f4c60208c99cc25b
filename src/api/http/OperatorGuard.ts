/**
 * Checks before a handler of the operator's endpoints: the operator's session, the page's origin, media type and size. API keys and account sessions
 * are not accepted here, nor the operator's session elsewhere: each has its own cookie and table.
 */
import type { IncomingMessage } from "node:http"
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { CookieAlone, Operating, Operator } from "../../../schemas/Access.ts"
import { CrossSiteRequest, Unauthenticated } from "../../../schemas/Errors.ts"
import { OperatorSessions } from "../../console/server/OperatorSessions.ts"
import { ChangeWitness } from "../../store/Change.ts"
import { admitBody, bodyKindOf } from "./admittedBody.ts"
import { answerFailures, type Handler } from "./answeredFailures.ts"
import { noteBegun } from "./BegunRequest.ts"
import { knownQuery, refuseQuery } from "./KnownQuery.ts"
import { requestIdOf } from "./RequestId.ts"
import { isFromItsPage, OperatorCookie } from "./SessionCookie.ts"

const nobody = Effect.fail(new Unauthenticated({ message: "Sign in by a link of the operator's command line." }))

const crossSite = Effect.fail(
  new CrossSiteRequest({
    message:
      "This did not come from the console's own page. Send the X-Atoll-Csrf that GET /console/api/operator/session gives, from the page's own origin."
  })
)

const operating = Effect.gen(function* () {
  const sessions = yield* OperatorSessions
  const cookie = yield* OperatorCookie
  return (handler: Handler, { endpoint }: { readonly endpoint: HttpApiEndpoint.Top }): Handler => {
    const kind = bodyKindOf(endpoint)
    const known = knownQuery(endpoint)
    const admitsCookieAlone = Context.get(endpoint.annotations, CookieAlone)
    const guarded = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const source = request.source as IncomingMessage
      const token = cookie.read(source)
      if (token === null) return yield* nobody
      const { id } = yield* sessions.authenticate(token)
      if (!isFromItsPage(source, admitsCookieAlone)) return yield* crossSite
      const admitted = yield* admitBody(request, kind)
      const refused = refuseQuery(source, known)
      if (refused !== null) return yield* refused
      return yield* handler.pipe(
        Effect.provideService(Operator, { sessionId: id, requestId: requestIdOf(source) }),
        Effect.provideService(ChangeWitness, () => noteBegun(source)),
        Effect.provideService(HttpServerRequest.HttpServerRequest, admitted)
      )
    })
    return answerFailures(guarded as Handler)
  }
})

export const OperatorGuard = {
  layer: Layer.effect(
    Operating,
    Effect.map(operating, (around) => around as never)
  )
}
