/** What a request of a visitor is forwarded with. */

import type { Duplex } from "node:stream"
import { previewMachine } from "../../../machines/preview.ts"
import { isTagged } from "../../engine/taggedStates.ts"
import type { LiveConnections } from "../gateway/LiveConnections.ts"
import type { Hop } from "./forwardedHeaders.ts"
import type { PreviewTarget } from "./Previews.ts"
import type { Dial } from "./Upstream.ts"

export interface ForwardOptions {
  readonly target: PreviewTarget
  readonly hop: Hop
  readonly dial: Dial
  readonly connections: LiveConnections["Service"]
}

/** Its preview still lets visitors in. */
const isUsable = isTagged(previewMachine, "usable")

export const mayGoOn = (actor: { readonly status: string }) => isUsable(actor.status)

/** A connection for one request, outside of any pool. */
export const once =
  (dial: Dial) =>
  (_options: unknown, created: (error: Error | null, stream: Duplex) => void): undefined => {
    dial().then(
      (stream) => created(null, stream),
      (error: Error) => created(error, undefined as never)
    )
  }
