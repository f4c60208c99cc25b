/** The colour of a state, by the page's status colours, and whether it is an end state. */
import type { LaneKind, Thing } from "./things.ts"
import { lastOf } from "./things.ts"

export const tones = ["good", "warn", "bad", "accent", "calm"] as const
export type Tone = (typeof tones)[number]

const toneOfState: Readonly<Record<string, Tone>> = {
  pending: "warn",
  running: "good",
  stopping: "warn",
  sleeping: "accent",
  deleting: "warn",
  failed: "bad",
  queued: "warn",
  completed: "good",
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

const ends: Readonly<Record<LaneKind, ReadonlySet<string>>> = {
  // A failed or expired Sandbox can still be deleted.
  sandbox: new Set(["deleted"]),
  operation: new Set(["completed", "cancelled", "failed"]),
  preview: new Set(["closed", "expired", "refused"]),
  serviceAccess: new Set(["revoked", "expired", "refused"]),
  connectionGrant: new Set(["revoked", "ended", "refused"])
}

/** No transition leaves it. */
export const isEnd = (kind: LaneKind, state: string): boolean => ends[kind].has(state)

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
