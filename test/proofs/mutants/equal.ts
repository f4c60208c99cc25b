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
    why: "The ledger tells one status: of its four branches one is free, in whatever order they stand.",
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
    why: "The operator wishes one thing of a host: what it comes back to has one answer, in whatever order it is asked.",
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
  }
]

export const equalIds: ReadonlySet<string> = new Set(equal.flatMap(({ ids }) => ids))
