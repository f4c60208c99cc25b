/** Close: makes a preview's host name invalid in every process before it answers. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { previewMachine } from "../../../machines/preview.ts"
import { CleanupPending, NotFound } from "../../../schemas/Errors.ts"
import { Settings } from "../../Config.ts"
import { taggedStates } from "../../engine/taggedStates.ts"
import { leaseMs } from "./PreviewLeases.ts"
import type { Previews } from "./Previews.ts"
import { actorIdOf, sha256 } from "./previewActorId.ts"
import type { PreviewIngress } from "./previewIngress.ts"
import { previewRows } from "./previewRows.ts"

const closeAnswerMs = 3000
const leaseMarginMs = 10
const overStates = taggedStates(previewMachine, "over")

export const closePreviews = Effect.fnUntraced(function* (ingress: PreviewIngress, forget: (actorId: string) => void) {
  const { clusterPort } = yield* Settings
  const { findOpen } = previewRows(yield* SqlClient.SqlClient)

  const end = Effect.fnUntraced(function* (actorId: string, requestId: string) {
    yield* ingress
      .end(actorId, { type: "CLOSE" }, requestId)
      .pipe(Effect.catchTag("MailboxFull", () => Effect.fail(new CleanupPending())))
    forget(actorId)
    if (clusterPort !== 0) yield* Effect.sleep(leaseMs + leaseMarginMs)
    const isOver = (status: string) => overStates.includes(status)
    const closed = yield* ingress.wait(actorId, isOver, closeAnswerMs)
    if (closed !== null && !isOver(closed.value)) return yield* new CleanupPending()
  })

  const close: Previews["Service"]["close"] = Effect.fn("Previews.close")(function* (
    accountId,
    sandboxId,
    previewId,
    { requestId }
  ) {
    yield* ingress.ownSandbox(accountId, sandboxId)
    const actorId = actorIdOf(sha256(previewId))
    const record = yield* ingress.find(actorId)
    if (record === null || record.sandboxId !== sandboxId) return yield* new NotFound()
    yield* end(actorId, requestId)
  })

  const closeAll: Previews["Service"]["closeAll"] = Effect.fn("Previews.closeAll")(function* (
    accountId,
    sandboxId,
    { requestId }
  ) {
    yield* ingress.ownSandbox(accountId, sandboxId)
    const open = yield* Effect.orDie(findOpen(sandboxId))
    yield* Effect.forEach(open, ({ id }) => end(id, requestId), { concurrency: "unbounded", discard: true })
  })

  return { close, closeAll }
})
