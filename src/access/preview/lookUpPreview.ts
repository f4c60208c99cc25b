/** Looks up the address of an open preview, for the account that opened it. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../../schemas/Errors.ts"
import type { Previews } from "./Previews.ts"
import type { PreviewIngress } from "./previewIngress.ts"
import { previewRows } from "./previewRows.ts"
import { previewView } from "./previewView.ts"
import { sealedPreviewId } from "./sealedPreviewId.ts"

const notKept = "An earlier version of Atoll opened this preview and kept no address. Close it, and open another one."

export const lookUpPreview = Effect.fnUntraced(function* (ingress: PreviewIngress) {
  const { findOpen } = previewRows(yield* SqlClient.SqlClient)
  const { unseal } = yield* sealedPreviewId
  const view = yield* previewView

  const lookUp: Previews["Service"]["lookUp"] = Effect.fn("Previews.lookUp")(function* (accountId, sandboxId, port) {
    yield* ingress.ownSandbox(accountId, sandboxId)
    const open = (yield* Effect.orDie(findOpen(sandboxId))).filter((one) => one.port === port)
    for (const { id } of open) {
      const state = yield* ingress.opened(id)
      if (state === null || !(yield* ingress.isUsable(state.value, state.context))) continue
      const record = yield* ingress.find(id)
      const sealed = record?.payload?.sealedId ?? null
      const previewId = sealed === null ? null : unseal(id, sealed)
      return previewId === null ? yield* new NotFound({ message: notKept }) : view(previewId, state.context)
    }
    return yield* new NotFound({ message: `No preview of port ${port} is open. Open one with POST …/previews.` })
  })
  return lookUp
})
