/**
 * The Previews service on actors. An actor's id is made of the SHA-256 of the preview id, so a host name finds its actor by its key. The preview
 * id is stored sealed, for the account that asks for its address again.
 */

import { hash, randomBytes } from "node:crypto"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { lastsAt } from "../../../machines/expiry.ts"
import { previewMachine } from "../../../machines/preview.ts"
import type { PreviewContext } from "../../../schemas/contexts/Preview.ts"
import {
  CleanupPending,
  NetworkDisabled,
  NotFound,
  PreviewExists,
  PreviewTransportUnavailable
} from "../../../schemas/Errors.ts"
import { previewLifetimeSeconds, previewsPerSandbox } from "../../../schemas/Limits.ts"
import type { Preview } from "../../../schemas/Preview.ts"
import { Settings } from "../../Config.ts"
import { ActorHost } from "../../engine/ActorHost.ts"
import { isTagged, taggedStates } from "../../engine/taggedStates.ts"
import { changeBegins } from "../../store/Change.ts"
import { encodeInsert } from "../../store/JournalEncoding.ts"
import { insertActors } from "../../store/JournalStatements.ts"
import { seal, unseal } from "../../store/Sealed.ts"
import { serverKey } from "../../store/ServerKeys.ts"
import { PublicPort } from "../gateway/PublicPort.ts"
import { sandboxIngress } from "../gateway/sandboxIngress.ts"
import { previewDefinition } from "./PreviewDefinition.ts"
import { Previews, type PreviewTarget } from "./Previews.ts"
import { listed, previewReads } from "./previewReads.ts"
import { previewUrl } from "./previewUrl.ts"

/** An open preview of a Sandbox. */
interface Open {
  readonly port: number
}

/** Why another one cannot be opened beside those; null: it can. */
const obstacleTo = (port: number, alongside: boolean, open: ReadonlyArray<Open>): PreviewExists | null => {
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

const notKept = "An earlier version of Atoll opened this preview and kept no address. Close it, and open another one."

const closeAnswerMs = 3000
/** How long another process may serve from its last read: account/KeyLease.ts has the same idea. */
const leaseMs = 100
const leaseMarginMs = 10
const leasesMax = 10_000

/** Only this server can open it. Null: an earlier version made the preview. */
interface PreviewPayload {
  readonly sealedId: string
}

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
  const ingress = yield* sandboxIngress<typeof previewMachine, PreviewPayload | null>(yield* previewDefinition(forget))
  const key = yield* serverKey("preview id")
  const { findOpen, findLatest } = previewReads(sql, ingress.openStates)

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
      payload: { sealedId: seal(key, actorId, previewId).toString("base64url") } satisfies PreviewPayload,
      cause: "client",
      requestId,
      idempotency: null
    })
    // The check and the insert are one step for the Sandbox, across processes.
    yield* Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(hashtextextended(${`preview ${sandboxId}`}, 0))`
      const open = (yield* findOpen(sandboxId)).filter((one) => lastsAt(one, at))
      const obstacle = obstacleTo(port, alongside, open)
      if (obstacle !== null) return yield* obstacle
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

  const lookUp: Previews["Service"]["lookUp"] = Effect.fn("Previews.lookUp")(function* (accountId, sandboxId, port) {
    yield* ingress.ownSandbox(accountId, sandboxId)
    const open = (yield* Effect.orDie(findOpen(sandboxId))).filter((one) => one.port === port)
    for (const { id } of open) {
      const state = yield* ingress.opened(id)
      if (state === null || !(yield* ingress.isUsable(state.value, state.context))) continue
      const record = yield* ingress.find(id)
      const sealed = record?.payload?.sealedId ?? null
      const previewId = sealed === null ? null : unseal(key, id, Buffer.from(sealed, "base64url"))
      return previewId === null ? yield* new NotFound({ message: notKept }) : view(previewId, state.context)
    }
    return yield* new NotFound({ message: `No preview of port ${port} is open. Open one with POST …/previews.` })
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

  const list: Previews["Service"]["list"] = Effect.fn("Previews.list")(function* (accountId, sandboxId) {
    yield* ingress.ownSandbox(accountId, sandboxId)
    const found = yield* Effect.orDie(findLatest(sandboxId))
    const at = yield* Clock.currentTimeMillis
    return found.map((one) => listed(one, ingress.openStates.includes(one.status), at))
  })

  // --- lookup of host names -----------------------------------------------------------------------------------------

  const resolve = Effect.fnUntraced(function* (actorId: string) {
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
    lookUp,
    close,
    closeAll,
    list,
    find: Effect.fnUntraced(function* (previewId) {
      const actorId = actorIdOf(sha256(previewId))
      const lease = leases.get(actorId)
      const found = lease !== undefined && performance.now() < lease.until ? lease.target : yield* resolve(actorId)
      return found !== null && lastsAt(found, yield* Clock.currentTimeMillis) ? found : null
    })
  })
})

export const PreviewsLive = Layer.effect(Previews, make)
