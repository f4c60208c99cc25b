/** The faults of a fleet's members in a fault sweep: drawn by a seed, struck, and undone. */
import type { Fleet } from "../../support/fleet/Fleet.ts"
import { Dice } from "../../support/fleet/simulated/Dice.ts"

const afterMaxMs = 500

export type Victim = "service-0" | "service-1" | "host-0" | "host-1" | "database"

export type Fault =
  | { readonly type: "kill" | "freeze" | "isolate" | "slow"; readonly victim: Victim }
  /** Nothing that the first sends reaches the second; nor the other way, if it is both. */
  | { readonly type: "cut"; readonly from: Victim; readonly to: Victim; readonly bothWays: boolean }
  /** Its secret differs from the fleet's. */
  | { readonly type: "estrange"; readonly victim: "service-0" | "service-1" | "host-0" | "host-1" }
  /** Each service's connection for notifications breaks. */
  | { readonly type: "deafen"; readonly victim: "database" }
  /** It reports Sandboxes that it does not run, and work that it has not done. */
  | { readonly type: "lie"; readonly victim: "host-0" | "host-1" }

/** Faults that come one after the other; when all of them have lasted for so long, everything is mended. */
export interface Round {
  readonly faults: ReadonlyArray<{ readonly fault: Fault; readonly afterMs: number }>
  readonly lastsMs: number
}

const programs = ["service-0", "service-1", "host-0", "host-1"] as const
const hosts = ["host-0", "host-1"] as const

/** Pairs that connect to each other. */
const pairs: ReadonlyArray<readonly [Victim, Victim]> = [
  ["service-0", "service-1"],
  ...hosts.flatMap((host) => [["service-0", host] as const, ["service-1", host] as const]),
  ["service-0", "database"],
  ["service-1", "database"]
]

/** Every fault of every member, once: 34 faults. The direction in which a connection is cut is drawn. */
const deckOf = (dice: Dice): ReadonlyArray<Fault> => [
  ...[...programs, "database" as const].flatMap((victim) =>
    (["kill", "freeze", "isolate", "slow"] as const).map((type): Fault => ({ type, victim }))
  ),
  ...programs.map((victim): Fault => ({ type: "estrange", victim })),
  { type: "deafen", victim: "database" },
  ...hosts.map((victim): Fault => ({ type: "lie", victim })),
  ...pairs.map(([one, other]): Fault => {
    const [from, to] = dice.next() < 0.5 ? [one, other] : [other, one]
    return { type: "cut", from, to, bothWays: dice.next() < 0.5 }
  })
]

/** The member that no second end or stop can strike after this fault; null: none. */
const endedBy = (fault: Fault): Victim | null =>
  fault.type === "kill" || fault.type === "freeze" || fault.type === "lie" ? fault.victim : null

export interface Plan {
  readonly seed: number
  readonly faults: number
  readonly atOnce: { readonly min: number; readonly max: number }
  /** A round lasts shorter than this, or longer, alternately. */
  readonly leasesMs: number
}

/** Every 34 faults cover all kinds, in an order that the seed draws. */
export const roundsOf = ({ seed, faults, atOnce, leasesMs }: Plan): ReadonlyArray<Round> => {
  const dice = new Dice(seed)
  const rounds: Array<Round> = []
  const deck: Array<Fault> = []
  for (let left = faults; left > 0; ) {
    const size = Math.min(left, dice.between(atOnce.min, atOnce.max))
    const round: Array<Round["faults"][number]> = []
    while (round.length < size) {
      if (deck.length === 0) deck.push(...dice.shuffled(deckOf(dice)))
      // What has ended cannot be ended again.
      const ended = round.map(({ fault }) => endedBy(fault))
      const at = deck.findIndex((fault) => endedBy(fault) === null || !ended.includes(endedBy(fault)))
      const [fault] = deck.splice(Math.max(0, at), 1)
      round.push({ fault: fault!, afterMs: dice.between(0, afterMaxMs) })
    }
    left -= size
    const isLong = rounds.length % 2 === 0 || round.some(({ fault }) => fault.type === "lie")
    const lastsMs = isLong ? dice.between(leasesMs, Math.ceil(1.5 * leasesMs)) : dice.between(100, leasesMs)
    rounds.push({ faults: round, lastsMs })
  }
  return rounds
}

const programOf = (fleet: Fleet, name: Exclude<Victim, "database">) => {
  const [kind, at] = name.split("-")
  return kind === "service" ? fleet.services[Number(at)]! : fleet.hosts[Number(at)]!
}

export interface StruckDatabase {
  /** To its server and all of its backends. */
  readonly signal: (signal: NodeJS.Signals) => Promise<void>
  /** Ends the backends through which services receive notifications. */
  readonly deafen: () => Promise<void>
}

export const strike = async (fleet: Fleet, fault: Fault, database: StruckDatabase): Promise<void> => {
  switch (fault.type) {
    case "kill":
      return fault.victim === "database" ? database.signal("SIGKILL") : programOf(fleet, fault.victim).kill()
    case "freeze":
      return fault.victim === "database" ? database.signal("SIGSTOP") : programOf(fleet, fault.victim).freeze()
    case "estrange":
      return fleet.estrange(fault.victim)
    case "deafen":
      return database.deafen()
    case "isolate":
      return fleet.net.isolate(fault.victim)
    case "slow":
      return fleet.net.slow(fault.victim)
    case "cut":
      return fault.bothWays ? fleet.net.cut(fault.from, fault.to) : fleet.net.cutOneWay(fault.from, fault.to)
    case "lie": {
      const liar = fleet.hosts[Number(fault.victim.at(-1))]!
      liar.thaw()
      await liar.kill()
      return liar.start("test/system/fleet/fixtures/lyingHost.ts")
    }
  }
}
