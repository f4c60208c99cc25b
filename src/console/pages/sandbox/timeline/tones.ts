/** How a state is shown: in the page's colours of a status, and whether something is over in it. */
import {
  isDeleted,
  isDeletedSnapshot,
  isEndedAccess,
  isEndedGrant,
  isEndedOperation,
  isEndedPreview
} from "../../states.ts"
import type { LaneKind, Thing } from "./things.ts"
import { lastOf } from "./things.ts"

export const tones = ["good", "warn", "bad", "accent", "calm"] as const
export type Tone = (typeof tones)[number]

const toneOfState: Readonly<Record<string, Tone>> = {
  pending: "warn",
  running: "good",
  stopping: "warn",
  restoring: "warn",
  sleeping: "accent",
  deleting: "warn",
  failed: "bad",
  queued: "warn",
  completed: "good",
  creating: "warn",
  building: "warn",
  pulling: "warn",
  ready: "good",
  opening: "warn",
  active: "good",
  granted: "good",
  closing: "warn",
  expiring: "warn",
  revoking: "warn",
  elapsed: "accent",
  refused: "bad"
}

/** States that are merely ended or at rest: calm. */
export const toneOf = (state: string): Tone => toneOfState[state] ?? "calm"

const ends: Readonly<Record<LaneKind, (state: string) => boolean>> = {
  // One that failed or expired waits to be deleted.
  sandbox: isDeleted,
  operation: isEndedOperation,
  preview: isEndedPreview,
  serviceAccess: isEndedAccess,
  connectionGrant: isEndedGrant,
  snapshot: isDeletedSnapshot
}

/** Nothing leads out of it. */
export const isEnd = (kind: LaneKind, state: string): boolean => ends[kind](state)

export const outcomes = ["all", "open", "ended", "failed"] as const
export type Outcome = (typeof outcomes)[number]

export const isOutcome = (thing: Thing, outcome: Outcome): boolean => {
  const { to } = lastOf(thing)
  switch (outcome) {
    case "all":
      return true
    case "open":
      return !isEnd(thing.kind, to)
    case "ended":
      return isEnd(thing.kind, to)
    case "failed":
      return toneOf(to) === "bad"
  }
}
