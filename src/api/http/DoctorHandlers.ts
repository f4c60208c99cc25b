/** The operator's page: what the machine of this service enforces. */
import { Effect, Semaphore } from "effect"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { Settings } from "../../Config.ts"
import { examineApart } from "../../ops/doctor/apart/examineApart.ts"
import { leanGroup } from "./LeanContext.ts"
import { refused, unkept } from "./OperatorActs.ts"

const group = leanGroup(
  OperatorApi,
  "doctor",
  Effect.fnUntraced(function* (handlers) {
    const settings = yield* Settings
    /** A second process would only make both slower. */
    const turn = yield* Semaphore.make(1)
    return handlers.handle(
      "examineHost",
      Effect.fnUntraced(function* () {
        return unkept(yield* turn.withPermit(examineApart(settings)).pipe(Effect.mapError(refused)))
      })
    )
  })
)

export const DoctorHandlers = { layer: group }
