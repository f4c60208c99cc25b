/** The operator's page: the check of the books. */
import { Effect, Semaphore } from "effect"
import type { Verified } from "../../../schemas/console/OperatedUsage.ts"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { faultOf, verifyBooks } from "../../console/server/operating/usageActs.ts"
import { leanGroup } from "./LeanContext.ts"
import { operatorServices, refused, unkept } from "./OperatorActs.ts"

const group = leanGroup(
  OperatorApi,
  "operatedUsage",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* operatorServices
    /** It reads the whole log: a second one would only make both slower. */
    const turn = yield* Semaphore.make(1)
    return handlers.handle(
      "verifyUsage",
      Effect.fnUntraced(function* ({ payload: { account } }) {
        const { found, summary } = yield* turn
          .withPermit(verifyBooks(account))
          .pipe(Effect.provideContext(services), Effect.catchTag("SqlError", Effect.die), Effect.mapError(refused))
        const { differences, differencesCount } = found
        const fault = faultOf(found)
        const said = fault === null ? summary : `${summary} ${fault}`
        const body: Verified = { said, differences, differencesCount }
        return unkept(body)
      })
    )
  })
)

export const OperatedUsageHandlers = { layer: group }
