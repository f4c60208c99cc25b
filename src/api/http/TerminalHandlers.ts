/** A terminal request without a WebSocket handshake: responds with the refusal that applies, or says that the handshake is missing. */
import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { Terminals } from "../../operation/terminal/Terminals.ts"
import { leanGroup } from "./LeanContext.ts"
import { OpenStreams } from "./OpenStreams.ts"
import { noHandshake, terminalStream } from "./TerminalGateway.ts"

export const TerminalHandlers = {
  layer: leanGroup(
    Api,
    "terminals",
    Effect.fnUntraced(function* (handlers) {
      const terminals = yield* Terminals
      const streams = yield* OpenStreams
      return handlers.handle("openTerminal", ({ params }) =>
        Effect.gen(function* () {
          const caller = yield* Caller
          yield* terminals.enter({ ...caller, sandboxId: params.id }, () => {})
          yield* terminalStream(streams, caller, () => {})
          return yield* Effect.fail(noHandshake())
        }).pipe(Effect.scoped)
      )
    })
  )
}
