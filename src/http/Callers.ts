/** Who asks, whichever way: keys, sessions and tickets, and the streams that are open for them. One of each in a process. */
import { Layer } from "effect"
import { Authentication } from "../account/Authentication.ts"
import { KeyUse } from "../account/KeyUse.ts"
import { Sessions } from "../console/server/Sessions.ts"
import { Tickets } from "../console/server/Tickets.ts"
import { OpenStreams } from "./OpenStreams.ts"

export const Callers = {
  /** The API and the gateways provide this same layer, and so have the same services. */
  layer: Layer.mergeAll(
    Authentication.layer.pipe(Layer.provideMerge(KeyUse.layer)),
    Tickets.layer.pipe(Layer.provideMerge(Sessions.layer)),
    OpenStreams.layer
  )
}
