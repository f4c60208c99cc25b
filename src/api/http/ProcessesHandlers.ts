import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { SandboxProcesses } from "../../operation/process/SandboxProcesses.ts"
import { leanGroup } from "./LeanContext.ts"

export const ProcessesHandlers = {
  layer: leanGroup(
    Api,
    "processes",
    Effect.fnUntraced(function* (handlers) {
      const processes = yield* SandboxProcesses
      return handlers
        .handle("listProcesses", ({ params }) =>
          Effect.flatMap(Caller, ({ accountId }) => processes.list(accountId, params.id))
        )
        .handle("endProcess", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) => processes.end(accountId, params.id, params.processId, query))
        )
    })
  )
}
