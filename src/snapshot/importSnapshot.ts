/**
 * Makes a snapshot of a file. The host stores the content as it comes; the snapshot is inserted once all of it is there and its digest is right. What is
 * stored of a file that breaks off, or that is refused, is removed.
 */
import { hash, randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type SnapshotInput, snapshotMachine } from "../../machines/snapshot.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import { claimKey } from "../account/idempotency/claimKey.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { newId } from "../platform/identifier/newId.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { Placement } from "../sandbox/Placement.ts"
import { ownSnapshot } from "../sandbox/sandboxOrigin.ts"
import { profileBounds } from "../sandbox/sandboxSizes.ts"
import { Actors } from "../store/Actors.ts"
import { changeBegins } from "../store/Change.ts"
import { encodeInsert } from "../store/JournalEncoding.ts"
import { insertActors } from "../store/JournalStatements.ts"
import { requireFuture } from "./createSnapshot.ts"
import { type OpenedSnapshot, openSnapshot, SnapshotFileFault } from "./file/decodeSnapshot.ts"
import type { SnapshotHeader } from "./file/SnapshotHeader.ts"
import { notWhole, receiveImage } from "./receiveImage.ts"
import type { AskedImport, Snapshots } from "./Snapshots.ts"
import { SnapshotTransfers } from "./SnapshotTransfers.ts"
import { snapshotView } from "./SnapshotView.ts"
import { snapshotQuota } from "./snapshotQuota.ts"

const kind = "snapshot.import"
const mebibyte = 1024 ** 2

const refusedFor = (message: string) => new InvalidRequest({ details: { issues: [{ path: [], message }] } })

const within = (value: number, { minimum, maximum }: { readonly minimum: number; readonly maximum: number }) =>
  Math.min(Math.max(value, minimum), maximum)

/** The file's sizes within this server's bounds. Fails for a volume that is too large, which cannot become smaller. */
const profileOf = Effect.fnUntraced(function* (
  { profile, sizeBytes }: SnapshotHeader,
  bounds: ReturnType<typeof profileBounds>
) {
  const diskBytes = Math.max(profile.diskBytes, sizeBytes)
  const { maximum } = bounds.diskBytes
  if (diskBytes > maximum) {
    return yield* refusedFor(`The snapshot's volume has ${diskBytes} bytes; this server allows ${maximum}.`)
  }
  return {
    vcpus: within(Math.round(profile.vcpus * 10) / 10, bounds.vcpus),
    memoryBytes: within(Math.floor(profile.memoryBytes / mebibyte) * mebibyte, bounds.memoryBytes),
    diskBytes
  }
})

/** The same request names the same things and sends the same head. */
const fingerprintOf = ({ workspaceId, name, expiresAt }: AskedImport, { head }: OpenedSnapshot): string =>
  hash("sha256", Buffer.concat([Buffer.from(JSON.stringify([workspaceId, name, expiresAt])), head]), "hex")

/** What the snapshot will be, but for its place. Fails where it cannot be of this server. */
const inputOf = Effect.fnUntraced(function* (
  asked: AskedImport,
  header: SnapshotHeader,
  offers: Placement["Service"]["offers"],
  bounds: ReturnType<typeof profileBounds>
) {
  if (!(yield* offers(header.runtime))) {
    return yield* refusedFor(
      `The snapshot is of a Sandbox of the runtime ${header.runtime}; this server has no Sandboxes of that runtime.`
    )
  }
  yield* requireFuture(asked.expiresAt)
  return {
    accountId: asked.accountId,
    workspaceId: asked.workspaceId,
    sandboxId: null,
    sandboxRevision: 0,
    generation: 0,
    hostId: null,
    name: asked.name ?? header.name,
    expiresAt: asked.expiresAt,
    runtime: header.runtime,
    profile: yield* profileOf(header, bounds),
    networkEnabled: header.networkEnabled,
    sandboxName: header.sandboxName,
    metadata: header.metadata,
    env: null,
    lifetime: null,
    image: null,
    memory: false,
    rollbackId: null
  } satisfies Partial<SnapshotInput>
})

interface Claimed {
  readonly asked: AskedImport
  readonly key: string
  readonly fingerprint: string
  readonly input: SnapshotInput
}

/** The transaction that inserts the snapshot. */
const insertImport = Effect.gen(function* () {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const claimed = yield* claimKey
  const requireQuota = yield* snapshotQuota

  /** Counting and inserting are one step for the whole account. Null: another request has taken the key. */
  const insert = Effect.fnUntraced(function* ({ asked, key, fingerprint, input }: Claimed) {
    const { accountId, requestId } = asked
    yield* requireQuota({ accountId, kind, key }, asked.workspaceId)
    const inserted = host.prepare(snapshotMachine, {
      id: input.snapshotId,
      accountId,
      sandboxId: "",
      input,
      payload: null,
      cause: "client",
      requestId,
      idempotency: { kind, key, fingerprint }
    })
    yield* changeBegins
    const made = yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
    return made.size === 0 ? null : inserted
  })

  /** Null: another request has taken the key. */
  return (wanted: Claimed) => claimed(wanted.asked.accountId, insert(wanted))
})

export const importSnapshot = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const runtime = yield* Runtime
  const placement = yield* Placement
  const settings = yield* Settings
  const sql = yield* SqlClient.SqlClient
  const claimed = yield* claimKey
  const requireQuota = yield* snapshotQuota
  const transfers = yield* SnapshotTransfers
  const insert = yield* insertImport
  const bounds = profileBounds(settings)

  const replay = Effect.fnUntraced(function* (accountId: string, key: string, fingerprint: string) {
    const known = yield* takenKey(sql, { accountId, kind, key }, fingerprint)
    if (known === null) return null
    const { status, context } = yield* ownSnapshot(actors, accountId, known.targetId)
    return snapshotView(status, context)
  })

  const take = Effect.fnUntraced(function* (asked: AskedImport, key: string, opened: OpenedSnapshot) {
    const { accountId } = asked
    const fingerprint = fingerprintOf(asked, opened)
    const replayed = yield* replay(accountId, key, fingerprint)
    if (replayed !== null) return replayed
    const input = yield* inputOf(asked, opened.header, placement.offers, bounds)
    const limits = yield* claimed(accountId, requireQuota({ accountId, kind, key }, asked.workspaceId))
    if (limits === null) return (yield* replay(accountId, key, fingerprint))!
    const snapshotId = newId("snp_")
    const { hostId } = yield* receiveImage(runtime, snapshotId, opened, limits)
    const discard = Effect.ignore(runtime.snapshots.remove(snapshotId, hostId))
    const at = yield* Clock.currentTimeMillis
    const wanted = { asked, key, fingerprint, input: { ...input, snapshotId, hostId, at } }
    const inserted = yield* insert(wanted).pipe(Effect.onError(() => discard))
    if (inserted === null) {
      yield* discard
      return (yield* replay(accountId, key, fingerprint))!
    }
    yield* host.adopt(inserted)
    return snapshotView(inserted.row.snapshot.value, inserted.row.snapshot.context as SnapshotContext)
  })

  const received = Effect.fnUntraced(function* (asked: AskedImport, key: string) {
    const opened = yield* Effect.tryPromise({
      try: () => openSnapshot(asked.body),
      catch: (cause) => notWhole(cause instanceof SnapshotFileFault ? cause.message : "it cannot be read")
    })
    return yield* take(asked, key, opened).pipe(Effect.ensuring(Effect.sync(opened.release)))
  })

  const imported: Snapshots["Service"]["import"] = Effect.fn("Snapshots.import")(function* (asked) {
    const key = asked.idempotencyKey ?? `unnamed ${randomUUID()}`
    const release = yield* transfers.enter(asked.accountId)
    return yield* received(asked, key).pipe(Effect.ensuring(Effect.sync(release)))
  }, Effect.uninterruptible)
  return imported
})
