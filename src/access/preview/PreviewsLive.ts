/** The Previews service on actors. An actor's id is made of the SHA-256 of the preview id, so a host name finds its actor by its key. */

import { hash, randomBytes } from "node:crypto"
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { lastsAt } from "../../../machines/expiry.ts"
import { listedAs, previewMachine } from "../../../machines/preview.ts"
import type { PreviewContext } from "../../../schemas/contexts/Preview.ts"
import {
  CleanupPending,
  NetworkDisabled,
  NotFound,
  PreviewExists,
  PreviewTransportUnavailable
} from "../../../schemas/Errors.ts"
import { previewLifetimeSeconds, previewsListed } from "../../../schemas/Limits.ts"
import type { ListedPreview, Preview } from "../../../schemas/Preview.ts"
import { Settings } from "../../Config.ts"
import { ActorHost } from "../../engine/ActorHost.ts"
import { isTagged, taggedStates } from "../../engine/taggedStates.ts"
import { changeBegins } from "../../store/Change.ts"
import { textColumn } from "../../store/Columns.ts"
import { encodeInsert } from "../../store/JournalEncoding.ts"
import { insertActors } from "../../store/JournalStatements.ts"
import { fieldOf } from "../../store/SnapshotFields.ts"
import { PublicPort } from "../gateway/PublicPort.ts"
import { sandboxIngress } from "../gateway/sandboxIngress.ts"
import { previewDefinition } from "./PreviewDefinition.ts"
import { Previews, type PreviewTarget } from "./Previews.ts"
import { previewUrl } from "./previewUrl.ts"

const closeAnswerMs = 3000
/** How long another process may serve from its last read: account/KeyLease.ts has the same idea. */
const leaseMs = 100
const leaseMarginMs = 10
const leasesMax = 10_000

const sha256 = (previewId: string): string => hash("sha256", previewId, "hex")
const actorIdOf = (previewSha256: string): string => `pre_${previewSha256}`

const overStates = taggedStates(previewMachine, "over")
const isUsable = isTagged(previewMachine, "usable")
const isConfirming = isTagged(previewMachine, "confirming")

const make = Effect.gen(function* () {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const publicPort = yield* PublicPort
  const leases = new Map<string, { readonly target: PreviewTarget; readonly until: number }>()
  /** When each preview closed in this process: a read that began earlier is outdated. */
  const deaths = new Map<string, number>()
  const forget = (actorId: string) => {
    leases.delete(actorId)
    if (deaths.size >= leasesMax) deaths.clear()
    deaths.set(actorId, performance.now())
  }
  const ingress = yield* sandboxIngress(yield* previewDefinition(forget))

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

  const findOpen = SqlSchema.findAll({
    Request: Schema.String,
    Result: Schema.Struct({ id: Schema.String, expiresAt: Schema.Finite }),
    execute: (sandboxId) => sql`
      select id, ${sql.literal(fieldOf("actors", "expiresAt", "float8"))} as "expiresAt" from actors
      where sandbox_id = ${sandboxId} and kind = 'preview' and status = any(${textColumn(ingress.openStates)}::text[])
        and (pending <> '[]'::jsonb or due_at is not null)`
  })

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
    // The check and the insert are one step for the Sandbox, across processes.
    yield* Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(hashtextextended(${`preview ${sandboxId}`}, 0))`
      const open = yield* findOpen(sandboxId)
      if (open.some((context) => lastsAt(context, at))) return yield* new PreviewExists()
      yield* changeBegins
      yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
    }).pipe(sql.withTransaction, Effect.catchTag(["SqlError", "SchemaError"], Effect.die), Effect.uninterruptible)
    yield* host.adopt(inserted)
    const opened = yield* ingress.opened(actorId)
    if (opened !== null && isUsable(opened.value)) return view(previewId, opened.context)
    if (opened !== null && isConfirming(opened.value)) {
      yield* host.send(previewMachine, actorId, { type: "CLOSE" }, { cause: "client", requestId }).pipe(Effect.ignore)
    }
    return yield* new PreviewTransportUnavailable()
  })

  const end = Effect.fnUntraced(function* (actorId: string, requestId: string) {
    yield* ingress
      .end(actorId, { type: "CLOSE" }, requestId)
      .pipe(Effect.catchTag("MailboxFull", () => Effect.fail(new CleanupPending())))
    forget(actorId)
    if (settings.clusterPort !== 0) yield* Effect.sleep(leaseMs + leaseMarginMs)
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

  const findLatest = SqlSchema.findAll({
    Request: Schema.String,
    Result: Schema.Struct({
      status: Schema.String,
      port: Schema.Finite,
      createdAt: Schema.Finite,
      expiresAt: Schema.Finite
    }),
    execute: (sandboxId) => sql`
      select status, ${sql.literal(fieldOf("actors", "port", "float8"))} as "port",
        ${sql.literal(fieldOf("actors", "createdAt", "float8"))} as "createdAt",
        ${sql.literal(fieldOf("actors", "expiresAt", "float8"))} as "expiresAt"
      from actors where sandbox_id = ${sandboxId} and kind = 'preview'
      order by created_at desc, id desc limit ${previewsListed}`
  })

  const list: Previews["Service"]["list"] = Effect.fn("Previews.list")(function* (accountId, sandboxId) {
    yield* ingress.ownSandbox(accountId, sandboxId)
    const found = yield* Effect.orDie(findLatest(sandboxId))
    const at = yield* Clock.currentTimeMillis
    return found.map(
      ({ status, port, createdAt, expiresAt }): ListedPreview => ({
        port,
        status: ingress.openStates.includes(status) && !lastsAt({ expiresAt }, at) ? "expired" : listedAs(status),
        createdAt: new Date(createdAt).toISOString(),
        expiresAt: new Date(expiresAt).toISOString()
      })
    )
  })

  // --- lookup of host names -----------------------------------------------------------------------------------------

  const lookUp = Effect.fnUntraced(function* (actorId: string) {
    const began = performance.now()
    const record = yield* ingress.find(actorId)
    if (record === null || !(yield* ingress.isUsable(record.status, record.context))) return null
    const { accountId, sandboxId, generation, port, expiresAt } = record.context
    const target: PreviewTarget = { actorId, accountId, sandboxId, generation, port, expiresAt }
    if (leases.size >= leasesMax) leases.clear()
    if ((deaths.get(actorId) ?? 0) >= began) return null
    leases.set(actorId, { target, until: began + leaseMs })
    return target
  })

  return Previews.of({
    create,
    close,
    closeAll,
    list,
    find: Effect.fnUntraced(function* (previewId) {
      const actorId = actorIdOf(sha256(previewId))
      const lease = leases.get(actorId)
      const found = lease !== undefined && performance.now() < lease.until ? lease.target : yield* lookUp(actorId)
      return found !== null && lastsAt(found, yield* Clock.currentTimeMillis) ? found : null
    })
  })
})

export const PreviewsLive = Layer.effect(Previews, make)
