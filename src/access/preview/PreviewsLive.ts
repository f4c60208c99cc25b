/** The Previews service on actors. */
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { closePreviews } from "./closePreviews.ts"
import { createPreview } from "./createPreview.ts"
import { lookUpPreview } from "./lookUpPreview.ts"
import { PreviewLeases } from "./PreviewLeases.ts"
import { Previews } from "./Previews.ts"
import { actorIdOf, sha256 } from "./previewActorId.ts"
import { previewIngress } from "./previewIngress.ts"
import { listed, previewRows } from "./previewRows.ts"

const make = Effect.gen(function* () {
  const leases = new PreviewLeases()
  const ingress = yield* previewIngress(leases.forget)
  const { findLatest } = previewRows(yield* SqlClient.SqlClient)

  const list: Previews["Service"]["list"] = Effect.fn("Previews.list")(function* (accountId, sandboxId) {
    yield* ingress.ownSandbox(accountId, sandboxId)
    const found = yield* Effect.orDie(findLatest(sandboxId))
    const at = yield* Clock.currentTimeMillis
    return found.map((row) => listed(row, at))
  })

  return Previews.of({
    create: yield* createPreview(ingress),
    lookUp: yield* lookUpPreview(ingress),
    ...(yield* closePreviews(ingress, leases.forget)),
    list,
    find: (previewId) => leases.find(actorIdOf(sha256(previewId)), ingress),
    leased: (previewId, nowMs) => leases.leased(actorIdOf(sha256(previewId)), nowMs)
  })
})

export const PreviewsLive = Layer.effect(Previews, make)
