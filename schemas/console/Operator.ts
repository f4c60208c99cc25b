/**
 * The operator's entry to the console: by a link of the command line, which needs the database. No account is an
 * operator.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CookieAlone, FromConsole, Operating } from "../Access.ts"
import { InvalidRequest, PayloadTooLarge, RateLimited, Unauthenticated, UnsupportedMediaType } from "../Errors.ts"
import { isCharactersBetween, isPlainText, Timestamp } from "../Text.ts"

export const OperatorSession = Schema.Struct({
  id: Schema.String,
  csrf: Schema.String.annotate({
    description: "For the header X-Atoll-Csrf of every request that the cookie goes with."
  }),
  createdAt: Timestamp,
  expiresAt: Timestamp.annotate({ description: "When it is over, if it is not used again before." })
}).annotate({ identifier: "OperatorSession" })
export interface OperatorSession extends Schema.Schema.Type<typeof OperatorSession> {}

const Opened = Schema.Struct({ session: OperatorSession })

const described = (identifier: string, summary: string) => OpenApi.annotations({ identifier, summary })

export class OperatorEntranceGroup extends HttpApiGroup.make("operatorEntrance")
  .add(
    HttpApiEndpoint.post("signInAsOperator", "/sign-in", {
      payload: Schema.Struct({ code: Schema.String.check(isCharactersBetween(1, 64), isPlainText) }),
      success: Opened,
      error: [InvalidRequest, PayloadTooLarge, UnsupportedMediaType, Unauthenticated, RateLimited]
    }).annotateMerge(described("signInAsOperator", "Sign in with a link that works once"))
  )
  .middleware(FromConsole) {}

export class OperatorSessionGroup extends HttpApiGroup.make("operatorSession")
  .add(
    HttpApiEndpoint.get("getOperatorSession", "/session", { success: Opened })
      .annotate(CookieAlone, true)
      .annotateMerge(described("getOperatorSession", "Until when the operator is signed in")),
    HttpApiEndpoint.post("signOutAsOperator", "/sign-out", { success: HttpApiSchema.NoContent }).annotateMerge(
      described("signOutAsOperator", "End this session")
    )
  )
  .middleware(Operating) {}
