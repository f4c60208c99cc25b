/** Create: opens a preview of a running Sandbox with network: its only one, or one beside those of other ports. */
import { randomBytes } from "node:crypto"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { lastsAt } from "../../../machines/expiry.ts"
import { previewMachine } from "../../../machines/preview.ts"
import { NetworkDisabled, PreviewExists, PreviewTransportUnavailable } from "../../../schemas/Errors.ts"
import { previewLifetimeSeconds, previewsPerSandbox } from "../../../schemas/Limits.ts"
import { ActorHost } from "../../engine/ActorHost.ts"
import { isTagged } from "../../engine/taggedStates.ts"
import { changeBegins } from "../../store/Change.ts"
import { encodeInsert } from "../../store/JournalEncoding.ts"
import type { ActorInsert } from "../../store/JournalRecord.ts"
import { insertActors } from "../../store/JournalStatements.ts"
import type { Previews } from "./Previews.ts"
import { actorIdOf, sha256 } from "./previewActorId.ts"
import type { PreviewIngress, PreviewPayload } from "./previewIngress.ts"
import { previewRows } from "./previewRows.ts"
import { previewView } from "./previewView.ts"
import { sealedPreviewId } from "./sealedPreviewId.ts"

const isUsable = isTagged(previewMachine, "usable")
const isConfirming = isTagged(previewMachine, "confirming")

/** Why another preview cannot be opened beside those; null: it can. */
const obstacleTo = (
  port: number,
  alongside: boolean,
  open: ReadonlyArray<{ readonly port: number }>
): PreviewExists | null => {
  if (open.length === 0) return null
  if (!alongside) return new PreviewExists()
  if (open.some((one) => one.port === port)) {
    return new PreviewExists({
      message: `A preview of port ${port} is open. POST …/previews/lookup returns its address; DELETE closes it.`
    })
  }
  return open.length < previewsPerSandbox
    ? null
    : new PreviewExists({
        message: `This Sandbox has ${previewsPerSandbox} open previews, the maximum. Close one first.`
      })
}

interface Wanted {
  readonly sandboxId: string
  readonly port: number
  readonly alongside: boolean
  readonly requestId: string
  readonly at: number
}

export const createPreview = Effect.fnUntraced(function* (ingress: PreviewIngress) {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const { findOpen } = previewRows(sql)
  const { seal } = yield* sealedPreviewId
  const view = yield* previewView

  /** The check and the insert are one step for the Sandbox, across processes. */
  const insert = (inserted: ActorInsert, { sandboxId, port, alongside, requestId, at }: Wanted) =>
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(hashtextextended(${`preview ${sandboxId}`}, 0))`
      const open = (yield* findOpen(sandboxId)).filter((one) => lastsAt(one, at))
      const obstacle = obstacleTo(port, alongside, open)
      if (obstacle !== null) return yield* obstacle
      yield* changeBegins
      yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
    }).pipe(sql.withTransaction, Effect.catchTag(["SqlError", "SchemaError"], Effect.die), Effect.uninterruptible)

  const create: Previews["Service"]["create"] = Effect.fn("Previews.create")(function* (
    accountId,
    sandboxId,
    { requestId, port, alongside = false }
  ) {
    const sandbox = yield* ingress
      .running(accountId, sandboxId)
      .pipe(Effect.catchTag("NotRunning", () => Effect.fail(new PreviewTransportUnavailable())))
    if (!sandbox.networkEnabled) return yield* new NetworkDisabled()
    const at = yield* Clock.currentTimeMillis
    const previewId = randomBytes(16).toString("hex")
    const previewSha256 = sha256(previewId)
    const actorId = actorIdOf(previewSha256)
    const inserted = host.prepare(previewMachine, {
      id: actorId,
      accountId,
      sandboxId,
      input: {
        previewSha256,
        accountId,
        sandboxId,
        generation: sandbox.generation,
        port,
        lifetimeMs: previewLifetimeSeconds * 1000,
        at
      },
      payload: { sealedId: seal(actorId, previewId) } satisfies PreviewPayload,
      cause: "client",
      requestId,
      idempotency: null
    })
    yield* insert(inserted, { sandboxId, port, alongside, requestId, at })
    yield* host.adopt(inserted)
    const opened = yield* ingress.opened(actorId)
    if (opened !== null && isUsable(opened.value)) return view(previewId, opened.context)
    if (opened !== null && isConfirming(opened.value)) {
      yield* host.send(previewMachine, actorId, { type: "CLOSE" }, { cause: "client", requestId }).pipe(Effect.ignore)
    }
    return yield* new PreviewTransportUnavailable()
  })
  return create
})
