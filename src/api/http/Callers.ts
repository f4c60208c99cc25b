/** Authentication by keys, sessions and tickets, and the open streams of callers. A process has one of each. */
import { Layer } from "effect"
import { Authentication } from "../../account/Authentication.ts"
import { KeyUse } from "../../account/KeyUse.ts"
import { Sessions } from "../../console/server/Sessions.ts"
import { Tickets } from "../../console/server/Tickets.ts"
import { OpenStreams } from "./OpenStreams.ts"

export const Callers = {
  /** The API and the gateways provide this same layer, and so share the services. */
  layer: Layer.mergeAll(
    Authentication.layer.pipe(Layer.provideMerge(KeyUse.layer)),
    Tickets.layer.pipe(Layer.provideMerge(Sessions.layer)),
    OpenStreams.layer
  )
}
