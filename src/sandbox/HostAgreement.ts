/**
 * The machines of one host and its Sandboxes, brought to agree: machines without a Sandbox are destroyed, Sandboxes without their machine learn
 * it, and since when. It remembers what it saw: one look alone does not tell what a runtime is just about to tell itself.
 *
 * @source design.md invariant 3
 */

import { Clock, Effect } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import type { MailboxFull } from "../actor/ActorError.ts"
import type { InventoryEntry, RuntimeUnavailable } from "../runtime/Runtime.ts"
import type { RuntimeNews } from "./RuntimeNews.ts"
import { removedStates, runtimelessStates } from "./sandboxStates.ts"

/** A Sandbox that should have a machine there, of this generation. Busy: something is being done to its runtime. */
export interface Expected {
  readonly id: string
  readonly status: string
  readonly generation: number
  readonly revision: number
  readonly isBusy: boolean
}

/** The Sandbox of something that was found. */
export interface Found {
  readonly id: string
  readonly status: string
  readonly revision: number
  readonly isBusy: boolean
  /** It lives on another host: what was found here of it is not it. */
  readonly isElsewhere: boolean
  /** This host was to boot it first, and did not: what is left of that is nobody's. */
  readonly wasRefused?: boolean
}

export interface WatchedHost<E> {
  readonly expected: Effect.Effect<ReadonlyArray<Expected>, E>
  readonly inventory: Effect.Effect<ReadonlyArray<InventoryEntry>, RuntimeUnavailable>
  readonly find: (sandboxIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Found>, E>
  readonly stop: (sandboxId: string, generation: number) => Effect.Effect<void, RuntimeUnavailable>
  readonly destroy: (sandboxId: string) => Effect.Effect<void, RuntimeUnavailable>
  readonly news: RuntimeNews
  /** Until when its machines were listened to; null: nobody knows. */
  readonly seenAt: Effect.Effect<number | null>
  /** All that was dead at this instant has been told. */
  readonly toldUntil: (at: number) => Effect.Effect<void>
}

export interface Look {
  /** Nothing had to be ended. */
  readonly isClean: boolean
  /** A machine is gone whose runtime has not told why: it is worth looking again soon. */
  readonly isPuzzled: boolean
  readonly inventory: ReadonlyArray<InventoryEntry>
}

/** How long a runtime has to tell why a machine ended, before it is told without a reason. */
export const SECOND_LOOK_MS = 2_000

/** So many entries of one look are named in the log; a host may list what it likes, and more than a log should have. */
const NAMED_MAX = 64

/** Nothing is left of it on its host. */
const LOST = { code: "LOST", message: publicText`The runtime was not found on its host.` }
/** What every runtime says of one that it knows no more of. */
const ENDED = { code: "CRASHED", message: publicText`The Sandbox ended without being asked to.` }

/** What an inventory entry calls for, given its Sandbox. Commands of a Sandbox that are under way are left to it. */
const remedyOf = (entry: InventoryEntry, found: Found | undefined): "destroy" | "end" | "tell" | null => {
  if (found === undefined) return "destroy"
  if (found.isElsewhere && found.wasRefused === true) return "destroy"
  // Its volume may be all that there is of it.
  if (found.isElsewhere) return entry.state === "volume" ? null : "end"
  if (found.isBusy) return null
  if (removedStates.includes(found.status)) return "destroy"
  // The Sandbox decides, in its own order of events: it may be starting by now.
  if (entry.state !== "volume" && runtimelessStates.includes(found.status)) return "tell"
  return null
}

/** What both sides say, and what earlier looks saw. Instants are epoch milliseconds. */
interface Sight {
  readonly expected: ReadonlyArray<Expected>
  readonly inventory: ReadonlyArray<InventoryEntry>
  /** The Sandboxes of the inventory, by their ids. */
  readonly byId: ReadonlyMap<string, Found>
  /** Sandboxes whose volume is here and whose machine was not at the last look, with their generation. */
  readonly missed: ReadonlyMap<string, number>
  /** When each machine was last found. */
  readonly foundAt: ReadonlyMap<string, number>
  /** When machines were last looked for; null: not yet. */
  readonly lookedAt: number | null
  readonly now: number
  /** Until when the machines were listened to; null: nobody knows. */
  readonly heardUntil: number | null
}

type News = { readonly sandbox: Expected } & (
  | { readonly type: "asleep" }
  | { readonly type: "down"; readonly reason: typeof LOST; readonly lastSeenAt: number | null }
)

const isAwake = (it: Pick<Found, "status" | "isBusy"> | undefined) => it?.status === "running" && !it.isBusy

/** What the expected Sandboxes have to learn, in their order, and what to remember for the next look. Decides only. */
const differences = ({ expected, inventory, byId, missed, foundAt, lookedAt, now, heardUntil }: Sight) => {
  const alive = new Map(
    inventory.flatMap((entry) => (entry.generation === null ? [] : [[entry.sandboxId, entry.generation]]))
  )
  const here = new Set(inventory.map((entry) => entry.sandboxId))
  const frozen = new Set(inventory.flatMap((entry) => (entry.state === "suspended" ? [entry.sandboxId] : [])))
  const missing = new Map<string, number>()
  const stillFoundAt = new Map([...alive.keys()].map((id) => [id, now]))
  // Nobody heard of it: it may have died at any time since it was last found, or came up after all were last looked for.
  const seenAt = (id: string) => {
    const found = foundAt.get(id) ?? lookedAt
    return heardUntil === null || found === null ? heardUntil : Math.min(heardUntil, found)
  }
  const news: Array<News> = []
  let isAllTold = true
  for (const sandbox of expected) {
    const { id, generation, isBusy } = sandbox
    if (alive.get(id) === generation) {
      if (frozen.has(id) && isAwake(sandbox) && isAwake(byId.get(id))) news.push({ type: "asleep", sandbox })
      continue
    }
    const lastSeenAt = seenAt(id)
    if (lastSeenAt !== null) stillFoundAt.set(id, lastSeenAt)
    // What is under way may end it, or find it dead.
    if (isBusy) isAllTold = false
    else if (!here.has(id)) news.push({ type: "down", sandbox, reason: LOST, lastSeenAt })
    // The runtime knows best why it ended, and is about to tell.
    else if (missed.get(id) !== generation) {
      isAllTold = false
      missing.set(id, generation)
    } else news.push({ type: "down", sandbox, reason: ENDED, lastSeenAt })
  }
  return { news, missing, foundAt: stillFoundAt, isAllTold }
}

/** A look at both, and what follows from it. */
export const agreement = <E>(host: WatchedHost<E>): Effect.Effect<Look, E | RuntimeUnavailable | MailboxFull> => {
  const { news } = host
  /** Sandboxes whose volume is here and whose machine was not at the last look, with their generation. */
  let missed: ReadonlyMap<string, number> = new Map()
  /** When each machine was last found, and when they were last looked for; null: not yet. */
  let foundAt: ReadonlyMap<string, number> = new Map()
  let lookedAt: number | null = null

  const mend = (
    entry: InventoryEntry,
    remedy: "destroy" | "end" | "tell",
    revision: number
  ): Effect.Effect<void, RuntimeUnavailable | MailboxFull> => {
    if (remedy === "destroy") return host.destroy(entry.sandboxId)
    return remedy === "tell" ? news.found(entry.sandboxId, revision) : host.stop(entry.sandboxId, entry.generation ?? 0)
  }

  return Effect.gen(function* () {
    // Candidates first, then the inventory: a Sandbox that came up in between is not taken for a lost one.
    const expected = yield* host.expected
    const now = yield* Clock.currentTimeMillis
    const inventory = yield* host.inventory
    const byId = new Map(
      (yield* host.find(inventory.map((entry) => entry.sandboxId))).map((found) => [found.id, found])
    )
    let remedies = 0
    for (const entry of inventory) {
      const found = byId.get(entry.sandboxId)
      const remedy = remedyOf(entry, found)
      if (remedy === null) continue
      remedies++
      const isNamed = remedies <= NAMED_MAX
      if (isNamed) yield* Effect.logWarning(`Reconciling ${entry.sandboxId} (${entry.state}): ${remedy}`)
      // One that cannot be ended now must not keep the others from it.
      yield* mend(entry, remedy, found?.revision ?? 0).pipe(
        Effect.catchCause((cause) =>
          isNamed ? Effect.logWarning(`${entry.sandboxId} could not be reconciled`, cause) : Effect.void
        )
      )
    }
    if (remedies > NAMED_MAX) yield* Effect.logWarning(`Reconciled ${remedies - NAMED_MAX} more`)
    const found = differences({
      expected,
      inventory,
      byId,
      missed,
      foundAt,
      lookedAt,
      now,
      heardUntil: yield* host.seenAt
    })
    for (const { sandbox, ...told } of found.news) {
      if (told.type === "asleep") yield* news.asleep(sandbox.id, sandbox.revision)
      else yield* news.down(sandbox.id, sandbox.generation, told.reason, told.lastSeenAt, sandbox.revision)
    }
    missed = found.missing
    foundAt = found.foundAt
    lookedAt = now
    if (found.isAllTold) yield* host.toldUntil(now)
    return { isClean: remedies === 0, isPuzzled: found.missing.size > 0, inventory }
  })
}
