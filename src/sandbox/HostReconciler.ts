/**
 * The reconciler of one host: destroys machines without a Sandbox, and tells Sandboxes without their machine since when it is gone. It keeps state
 * between passes: a single pass cannot tell a dead machine from one whose death the runtime is about to report.
 *
 * @source design.md invariant 3
 */

import { Clock, Effect } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import type { MailboxFull } from "../engine/ActorError.ts"
import type { InventoryEntry, RuntimeUnavailable } from "../runtime/Runtime.ts"
import type { RuntimeNews } from "./RuntimeNews.ts"
import { isAsleep, isUp, removedStates, runtimelessStates } from "./sandboxStates.ts"

/** A Sandbox that should have a machine of this generation there. Busy: a command is changing its runtime. */
export interface Expected {
  readonly id: string
  readonly status: string
  readonly generation: number
  readonly revision: number
  readonly isBusy: boolean
}

/** The Sandbox of an inventory entry. */
export interface Found {
  readonly id: string
  readonly status: string
  readonly revision: number
  readonly isBusy: boolean
  /** It lives on another host: this host's entry is a leftover. */
  readonly isElsewhere: boolean
  /** This host was to boot it first, and did not: its leftovers can be destroyed. */
  readonly wasRefused?: boolean
}

export interface WatchedHost<E> {
  readonly expected: Effect.Effect<ReadonlyArray<Expected>, E>
  readonly inventory: Effect.Effect<ReadonlyArray<InventoryEntry>, RuntimeUnavailable>
  readonly find: (sandboxIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Found>, E>
  readonly stop: (sandboxId: string, generation: number) => Effect.Effect<void, RuntimeUnavailable>
  readonly destroy: (sandboxId: string) => Effect.Effect<void, RuntimeUnavailable>
  readonly news: RuntimeNews
  /** Until when its machines were observed; null: unknown. */
  readonly seenAt: Effect.Effect<number | null>
  /** All machines dead at this instant have been reported. */
  readonly toldUntil: (at: number) => Effect.Effect<void>
}

export interface PassResult {
  /** No machine had to be destroyed. */
  readonly isClean: boolean
  /** A machine is gone without a report from the runtime: run the next pass soon. */
  readonly isPuzzled: boolean
  readonly inventory: ReadonlyArray<InventoryEntry>
}

/** How long the runtime may take to report why a machine ended, before the reconciler reports it without a reason. */
export const SECOND_PASS_MS = 2_000

/** Log lines of one pass name at most so many entries: the host decides how many it lists. */
const NAMED_MAX = 64

/** The host has nothing of it. */
const LOST = { code: "LOST", message: publicText`The runtime was not found on its host.` }
/** The reason that every runtime gives when it does not know a better one. */
const ENDED = { code: "CRASHED", message: publicText`The Sandbox ended without being asked to.` }

/** The action for an inventory entry, given its Sandbox. Entries of a Sandbox with running commands are left to those. */
const actionOf = (entry: InventoryEntry, found: Found | undefined): "destroy" | "end" | "tell" | null => {
  if (found === undefined) return "destroy"
  if (found.isElsewhere && found.wasRefused === true) return "destroy"
  // The volume may be the only copy.
  if (found.isElsewhere) return entry.state === "volume" ? null : "end"
  if (found.isBusy) return null
  if (removedStates.includes(found.status)) return "destroy"
  // The Sandbox decides when it handles the event: it may be starting by now.
  if (entry.state === "volume") return null
  const shouldSleep = entry.state !== "suspended" && isAsleep(found.status)
  return shouldSleep || runtimelessStates.includes(found.status) ? "tell" : null
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

const isAwake = (it: Pick<Found, "status" | "isBusy"> | undefined) => it !== undefined && isUp(it.status) && !it.isBusy

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
export const reconcilerPass = <E>(
  host: WatchedHost<E>
): Effect.Effect<PassResult, E | RuntimeUnavailable | MailboxFull> => {
  const { news } = host
  /** Sandboxes that had a volume but no machine in the last pass, with their generation. */
  let missed: ReadonlyMap<string, number> = new Map()
  /** When each machine was last found, and the time of the last pass; null: none yet. */
  let foundAt: ReadonlyMap<string, number> = new Map()
  let lookedAt: number | null = null

  const mend = (
    entry: InventoryEntry,
    action: "destroy" | "end" | "tell",
    revision: number
  ): Effect.Effect<void, RuntimeUnavailable | MailboxFull> => {
    if (action === "destroy") return host.destroy(entry.sandboxId)
    return action === "tell" ? news.found(entry.sandboxId, revision) : host.stop(entry.sandboxId, entry.generation ?? 0)
  }

  return Effect.gen(function* () {
    // Sandboxes first, then the inventory: so a Sandbox that boots in between does not look lost.
    const expected = yield* host.expected
    const now = yield* Clock.currentTimeMillis
    const inventory = yield* host.inventory
    const byId = new Map(
      (yield* host.find(inventory.map((entry) => entry.sandboxId))).map((found) => [found.id, found])
    )
    let actions = 0
    for (const entry of inventory) {
      const found = byId.get(entry.sandboxId)
      const action = actionOf(entry, found)
      if (action === null) continue
      actions++
      const isNamed = actions <= NAMED_MAX
      if (isNamed) yield* Effect.logWarning(`Reconciling ${entry.sandboxId} (${entry.state}): ${action}`)
      // A failed action must not block the others.
      yield* mend(entry, action, found?.revision ?? 0).pipe(
        Effect.catchCause((cause) =>
          isNamed ? Effect.logWarning(`Could not reconcile ${entry.sandboxId}`, cause) : Effect.void
        )
      )
    }
    if (actions > NAMED_MAX) yield* Effect.logWarning(`Reconciled ${actions - NAMED_MAX} more`)
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
    return { isClean: actions === 0, isPuzzled: found.missing.size > 0, inventory }
  })
}
