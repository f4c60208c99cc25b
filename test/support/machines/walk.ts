/**
 * Every state that a machine can reach, context included, and its verdict on every event there.
 * The verdicts are the host's own (`src/engine/Transition.ts`). Events carry one instant, or the end of the access that
 * they are sent to, so contexts stay finite; of the two values that grow, a generation is followed to its third boot, and
 * from a client's change on to the next one, and an edition to the second change.
 */
import { isDeepStrictEqual } from "node:util"
import type { AnyMachineSnapshot } from "xstate"
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import { begin, decide, restore, store, type Verdict } from "../../../src/engine/Transition.ts"
import type { Deadlines } from "../../../src/store/JournalRecord.ts"
import type { MachineSource } from "./MachineSource.ts"
import { at, combinations, samplesTogether } from "./sampleValues.ts"

const generationMax = 3
/** What a second change makes is seen, and not followed. */
const editionMax = 2

export interface Step {
  readonly from: string
  readonly event: AnyEvent
  readonly verdict: Verdict
  /** Key of the state that the verdict leads to; the same one unless it was accepted. */
  readonly to: string
}

export interface Reached {
  readonly key: string
  readonly snapshot: AnyMachineSnapshot
  readonly steps: ReadonlyArray<Step>
}

export const deepFreeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}

/** A state with everything that is stored of it: value, context and deadlines. */
const keyOf = (snapshot: AnyMachineSnapshot, deadlines: Deadlines) => JSON.stringify({ ...store(snapshot), deadlines })

export const deadlinesOf = (key: string): Deadlines => JSON.parse(key).deadlines

/**
 * Events of every type with every sample of their fields; generations before, at and after the present one; the last
 * check of a Sandbox's use and another one; two processes of a host; also at an access's end, at which its deadline may
 * not have fired.
 */
export const eventsIn = ({ events }: MachineSource, snapshot: AnyMachineSnapshot): ReadonlyArray<AnyEvent> => {
  const {
    generation: present = 1,
    edition = 1,
    idleStopAt,
    expiresAt
  } = snapshot.context as {
    readonly generation?: number
    readonly edition?: number
    readonly idleStopAt?: number | null
    readonly expiresAt?: number | null
  }
  const sampled = events.flatMap(({ type, fields }) =>
    combinations(fields).flatMap((event) =>
      "generation" in event
        ? [present - 1, present, present + 1].map((generation) => ({ ...event, type, generation }))
        : "idleStopAt" in event
          ? [at, ...(idleStopAt ? [idleStopAt] : [])].map((look) => ({ ...event, type, idleStopAt: look }))
          : "boot" in event
            ? ["boot-1", "boot-2"].map((boot) => ({ ...event, type, boot }))
            : "edition" in event && edition > 1
              ? [event.edition, edition].map((seen) => ({ ...event, type, edition: seen }))
              : [{ ...event, type }]
    )
  )
  return expiresAt === undefined || expiresAt === null
    ? sampled
    : [...sampled, ...sampled.map((event) => ({ ...event, at: expiresAt }))]
}

export const inputsOf = ({ input }: MachineSource) => samplesTogether(input).map((value) => ({ ...value, at }))

interface WalkedContext {
  readonly generation?: number
  readonly edition?: number
  readonly lastCheckpoint?: { readonly snapshotId: string | null; readonly error: unknown } | null
}

/** Without XState's internal fields. */
export const plainVerdict = (verdict: Verdict) =>
  verdict.type === "accepted" ? { ...verdict, snapshot: store(verdict.snapshot) } : verdict

/** Decides twice over frozen values, restored twice: a guard, factory or action that is not pure throws or differs. */
const decideTwice = (source: MachineSource, key: string) => {
  const deadlines = deepFreeze(deadlinesOf(key))
  const restored = [restoreFrozen(source, key), restoreFrozen(source, key)]
  return (event: AnyEvent): Verdict => {
    const [first, second] = restored.map((snapshot) =>
      decide(source.machine, snapshot, deepFreeze(structuredClone(event)), 2, deadlines)
    )
    const [one, two] = [plainVerdict(first!), plainVerdict(second!)]
    if (!isDeepStrictEqual(one, two)) {
      throw new Error(
        `${source.name} is not pure: ${JSON.stringify(one)} and then ${JSON.stringify(two)} for ${JSON.stringify(event)}`
      )
    }
    return first!
  }
}

/** As after a restart: only what JSON keeps. */
export const restoreFrozen = ({ machine }: MachineSource, key: string) => restore(machine, deepFreeze(JSON.parse(key)))

/** What came of a checkpoint decides nothing afterwards. Only checkpoints of an unchanged first generation are followed. */
const hadCheckpoints = ({ lastCheckpoint = null, generation = 0, edition = 1 }: WalkedContext): boolean =>
  lastCheckpoint !== null &&
  (lastCheckpoint.snapshotId !== null || lastCheckpoint.error !== null || generation > 1 || edition > 1)

/** It is not followed from here. */
export const isBeyond = (context: unknown): boolean => {
  const { generation = 0, edition = 1 } = context as WalkedContext
  if (hadCheckpoints(context as WalkedContext)) return true
  return generation > (edition > 1 ? 1 : generationMax) || edition > editionMax
}

export const walk = (source: MachineSource): ReadonlyMap<string, Reached> => {
  const reached = new Map<string, Reached>()
  const waiting = inputsOf(source).map((input) => {
    const [first, second] = [0, 1].map(() => {
      const { snapshot, deadlines } = begin(source.machine, deepFreeze(input))
      return keyOf(snapshot, deadlines)
    })
    if (first !== second) throw new Error(`${source.name} begins differently each time.`)
    return first!
  })
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    if (reached.has(key)) continue
    const snapshot = restoreFrozen(source, key)
    const decided = decideTwice(source, key)
    const steps = isBeyond(snapshot.context)
      ? []
      : eventsIn(source, snapshot).map((event): Step => {
          const verdict = decided(event)
          return {
            from: key,
            event,
            verdict,
            to: verdict.type === "accepted" ? keyOf(verdict.snapshot, verdict.deadlines) : key
          }
        })
    reached.set(key, { key, snapshot, steps })
    waiting.push(...steps.map(({ to }) => to))
  }
  return reached
}

/** States past the last generation that is followed are not expanded. */
export const isFollowed = ({ steps }: Reached) => steps.length > 0

export const isEnd = (snapshot: AnyMachineSnapshot) => snapshot.status === "done" || snapshot.hasTag("terminal")
