/** What happens to the members of a fleet in a fault sweep: drawn by a seed, struck, and undone. */
import fc from "fast-check"
import type { Fleet } from "./Fleet.ts"

export type Victim = "service-0" | "service-1" | "host-0" | "host-1" | "database"

export type Fault =
  | { readonly type: "kill" | "freeze" | "isolate" | "slow"; readonly victim: Victim }
  /** Nothing of what the first sends reaches the second; nor the other way, if it is both. */
  | { readonly type: "cut"; readonly from: Victim; readonly to: Victim; readonly bothWays: boolean }
  /** It says that it runs what it does not, and does nothing of what it says that it did. */
  | { readonly type: "lie"; readonly victim: "host-0" | "host-1" }

/** Faults that come one after the other; when all of them have lasted for so long, everything is mended. */
export interface Round {
  readonly faults: ReadonlyArray<{ readonly fault: Fault; readonly afterMs: number }>
  readonly lastsMs: number
}

const victim = fc.constantFrom<Victim>("service-0", "service-1", "host-0", "host-1", "database")
const host = fc.constantFrom("host-0" as const, "host-1" as const)

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("kill" as const), victim }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("freeze" as const), victim }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("isolate" as const), victim }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("slow" as const), victim }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("cut" as const), from: victim, to: victim, bothWays: fc.boolean() })
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("lie" as const), victim: host }) }
)

/** As many rounds as it takes for so many faults. `leasesMs`: what lasts shorter and longer than that is drawn. */
export const roundsOf = (seed: number, faults: number, atOnce: number, leasesMs: number): ReadonlyArray<Round> => {
  const rounds: Array<Round> = []
  let left = faults
  const drawn = fc.sample(
    fc.record({
      faults: fc.array(fc.record({ fault, afterMs: fc.noBias(fc.integer({ min: 0, max: 700 })) }), {
        minLength: 1,
        maxLength: atOnce,
        size: "max"
      }),
      lastsMs: fc.noBias(fc.integer({ min: 100, max: 2 * leasesMs }))
    }),
    { seed, numRuns: faults }
  )
  for (const round of drawn) {
    if (left <= 0) break
    rounds.push({ ...round, faults: round.faults.slice(0, left) })
    left -= round.faults.length
  }
  return rounds
}

const programOf = (fleet: Fleet, name: Exclude<Victim, "database">) => {
  const [kind, at] = name.split("-")
  return kind === "service" ? fleet.services[Number(at)]! : fleet.hosts[Number(at)]!
}

/** Signals to the database's server and all of its backends. */
export type SignalDatabase = (signal: NodeJS.Signals) => Promise<void>

export const strike = async (fleet: Fleet, fault: Fault, signalDatabase: SignalDatabase): Promise<void> => {
  switch (fault.type) {
    case "kill":
      return fault.victim === "database" ? signalDatabase("SIGKILL") : programOf(fleet, fault.victim).kill()
    case "freeze":
      return fault.victim === "database" ? signalDatabase("SIGSTOP") : programOf(fleet, fault.victim).freeze()
    case "isolate":
      return fleet.net.isolate(fault.victim)
    case "slow":
      return fleet.net.slow(fault.victim)
    case "cut":
      if (fault.from === fault.to) return fleet.net.isolate(fault.from)
      return fault.bothWays ? fleet.net.cut(fault.from, fault.to) : fleet.net.cutOneWay(fault.from, fault.to)
    case "lie": {
      const liar = fleet.hosts[Number(fault.victim.at(-1))]!
      liar.thaw()
      await liar.kill()
      return liar.start("test/fleet/fixtures/lyingHost.ts")
    }
  }
}
