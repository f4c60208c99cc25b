/**
 * The mutants that no killer kills, each with the reason why it cannot be seen. A survivor that is not here fails the run; so does one of these that is
 * killed, or that is none any more: the list only shrinks.
 */
interface Equal {
  readonly why: string
  readonly ids: ReadonlyArray<string>
}

const ofFour = (what: string) => ["unlimited", "funded", "low", "exhausted"].map((state) => `wallet ${state} ${what}`)
const everywhere = (what: string) => [`wallet opening ${what}`, ...ofFour(what)]

export const equal: ReadonlyArray<Equal> = [
  {
    why: "The ledger tells one status: of its four branches one is free, and their order decides nothing.",
    ids: ["2.", "3.", "4."].flatMap((branch) => everywhere(`RECKONED ${branch}: before the branch above it`))
  },
  {
    why: "A status that is none of the three before is the fourth.",
    ids: everywhere("RECKONED 4.: guard is removed")
  },
  {
    why: "The ledger is asked or it is not: both guards are never free together.",
    ids: ["CHANGED", "DUE"].flatMap((event) => ofFour(`${event} 2.: before the branch above it`))
  },
  {
    why: "The operator wishes one thing of a host: what it comes back to has one answer, and the order decides nothing.",
    ids: ["JOINED 3.", "JOINED 4.", "SEEN 2.", "SEEN 3."].map(
      (branch) => `host suspect ${branch}: before the branch above it`
    )
  },
  {
    why: "comesBackTo takes every state but ready and draining for cordoned.",
    ids: ["JOINED 3.", "SEEN 2."].map((branch) => `host suspect ${branch}: guard comesBackTo with another state`)
  },
  {
    why: "A canary's instant is planned in joining only, whose exit forgets it before noteJoined does.",
    ids: ["host noteJoined: retryAt not written"]
  },
  {
    why: "joining doubts on entry: it lies on the way of each unreached host, and a host begins there.",
    ids: [
      "host noteUnreached: isProven not written",
      ...["isReconciled", "isProven"].flatMap((field) => [
        `host context: ${field} not written`,
        `host context: ${field} otherwise`
      ])
    ]
  },
  {
    why: "Only a stopped Sandbox has stoppedAt, and its next generation has forgotten it before it is up.",
    ids: ["sandbox noteStarted: stoppedAt not written"]
  },
  {
    why: "A joining host that was compared is not to be drained: it would have gone to draining then, or with the wish.",
    ids: [
      'host source: "boot" in event && event.boot === context.boot && !context.isReconciled becomes "boot" in event && event.boot === context.boot'
    ]
  },
  {
    why: "The events that lead to suspect have lostAfterMs: its default is for the compiler.",
    ids: ["host source: 0 becomes 0 + 1 (8.)"]
  },
  {
    why: "Only a queued operation ends before its start was seen, and that has no startedAt.",
    ids: ["operation source: context.startedAt ?? event.at becomes event.at"]
  },
  {
    why: "Only an operation with a time-out runs out of it: the 0 is for the compiler.",
    ids: [
      "operation source: context.timeoutMs ?? 0 becomes context.timeoutMs",
      "operation source: context.timeoutMs ?? 0 becomes context.timeoutMs (2.)",
      "operation source: 0 becomes 0 + 1",
      "operation source: 0 becomes 0 + 1 (2.)"
    ]
  },
  {
    why: "WAS_USED and WAS_IDLE name an instant: null is none, and equal to none.",
    ids: [
      'sandbox source: context.idleStopAt !== null && "idleStopAt" in event && event.idleStopAt === context.idleStopAt becomes event.idleStopAt === context.idleStopAt',
      'sandbox source: context.idleStopAt !== null && "idleStopAt" in event becomes "idleStopAt" in event'
    ]
  },
  {
    why: "A stored event has no field that is undefined.",
    ids: ["sandbox source: event.reason ?? null becomes event.reason"]
  },
  {
    why: "A create names a host, or null.",
    ids: ["sandbox source: input?.hostId ?? null becomes input?.hostId"]
  },
  {
    why: "The branch before it is free while the ledger is not asked.",
    ids: ["wallet source: context.isReckoning && !context.isStale becomes !context.isStale"]
  }
]

export const equalIds: ReadonlySet<string> = new Set(equal.flatMap(({ ids }) => ids))
