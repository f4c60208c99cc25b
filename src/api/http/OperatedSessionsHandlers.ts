/** The operator's page: the operator's own sessions. */
import { Effect } from "effect"
import { Operator } from "../../../schemas/Access.ts"
import type { OperatedSessions } from "../../../schemas/console/OperatedSessions.ts"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { OperatorSessions } from "../../console/server/OperatorSessions.ts"
import { endSessions, sessionDocument } from "../../console/server/operating/sessionActs.ts"
import { leanGroup } from "./LeanContext.ts"
import { acting, operatorServices, unkept } from "./OperatorActs.ts"

const group = leanGroup(
  OperatorApi,
  "operatedSessions",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* operatorServices
    const sessions = yield* OperatorSessions
    const ending = Effect.provideService(endSessions(), OperatorSessions, sessions)
    return handlers
      .handle(
        "listOperatorSessions",
        Effect.fnUntraced(function* () {
          const { sessionId } = yield* Operator
          const found = yield* sessions.list
          const body: OperatedSessions = {
            sessions: found.map((session) => ({ ...sessionDocument(session), isThis: session.id === sessionId }))
          }
          return unkept(body)
        })
      )
      .handle("endOperatorSessions", ({ request }) => acting(request, services, ending), { uninterruptible: true })
  })
)

export const OperatedSessionsHandlers = { layer: group }
