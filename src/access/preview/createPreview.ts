/** Create: opens the one preview of a running Sandbox with network. */
import { randomBytes } from "node:crypto"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { lastsAt } from "../../../machines/expiry.ts"
import { previewMachine } from "../../../machines/preview.ts"
import type { PreviewContext } from "../../../schemas/contexts/Preview.ts"
import { NetworkDisabled, PreviewExists, PreviewTransportUnavailable } from "../../../schemas/Errors.ts"
import { previewLifetimeSeconds } from "../../../schemas/Limits.ts"
import type { Preview } from "../../../schemas/Preview.ts"
import { Settings } from "../../Config.ts"
import { ActorHost } from "../../engine/ActorHost.ts"
import { isTagged } from "../../engine/taggedStates.ts"
import { changeBegins } from "../../store/Change.ts"
import { encodeInsert } from "../../store/JournalEncoding.ts"
import type { ActorInsert } from "../../store/JournalRecord.ts"
import { insertActors } from "../../store/JournalStatements.ts"
import { PublicPort } from "../gateway/PublicPort.ts"
import type { Previews } from "./Previews.ts"
import { actorIdOf, sha256 } from "./previewActorId.ts"
import type { PreviewIngress } from "./previewIngress.ts"
import { previewRows } from "./previewRows.ts"
import { previewUrl } from "./previewUrl.ts"

const isUsable = isTagged(previewMachine, "usable")
const isConfirming = isTagged(previewMachine, "confirming")

export const createPreview = Effect.fnUntraced(function* (ingress: PreviewIngress) {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const publicPort = yield* PublicPort
  const { findOpen } = previewRows(sql)

  const view = (previewId: string, context: PreviewContext): Preview => {
    const hostname = `${previewId}.${settings.previewDomain}`
    return {
      id: previewId,
      sandboxId: context.sandboxId,
      port: context.port,
      url: previewUrl(settings, hostname, publicPort.current()),
      hostname,
      status: "active",
      createdAt: new Date(context.createdAt).toISOString(),
      expiresAt: new Date(context.expiresAt).toISOString()
    }
  }

  /** The check and the insert are one step for the Sandbox, across processes. */
  const insert = (inserted: ActorInsert, sandboxId: string, requestId: string, at: number) =>
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(hashtextextended(${`preview ${sandboxId}`}, 0))`
      const open = yield* findOpen(sandboxId)
      if (open.some((context) => lastsAt(context, at))) return yield* new PreviewExists()
      yield* changeBegins
      yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
    }).pipe(sql.withTransaction, Effect.catchTag(["SqlError", "SchemaError"], Effect.die), Effect.uninterruptible)

  const create: Previews["Service"]["create"] = Effect.fn("Previews.create")(function* (
    accountId,
    sandboxId,
    { requestId, port }
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
      payload: null,
      cause: "client",
      requestId,
      idempotency: null
    })
    yield* insert(inserted, sandboxId, requestId, at)
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
