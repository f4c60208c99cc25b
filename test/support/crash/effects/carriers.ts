/** What the Sandboxes of a run live on: the service's own world, or the hosts of a fleet. */
import { type Clock, Effect } from "effect"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { type AskService, HostProgram, hostIdOf } from "./HostProgram.ts"
import type { Held } from "./RunChecks.ts"
import type { Scenario } from "./scenarios/Scenario.ts"
import type { Carrier } from "./stored.ts"

type Worlds = ReadonlyArray<SimulatedWorld>
type Hosts = ReadonlyArray<HostProgram>

/** One for each host; one for the service itself, where there is no host. */
export const worldsFor = ({ hosts = 1 }: Scenario): Promise<Worlds> =>
  Promise.all(Array.from({ length: hosts }, () => Effect.runPromise(SimulatedWorld.make)))

export const hostsOf = ({ hosts = 0 }: Scenario, worlds: Worlds, clock: Clock.Clock, ask: AskService): Hosts =>
  worlds.slice(0, hosts).map((world, place) => new HostProgram(hostIdOf(place + 1), world, clock, ask))

export const carriersOf = (own: Carrier, hosts: Hosts): ReadonlyArray<Carrier> => (hosts.length === 0 ? [own] : hosts)

export const heldBy = ({ machines, volumes, snapshots }: SimulatedWorld, hosts: Hosts): ReadonlyArray<Held> =>
  hosts.length === 0 ? [{ machines, volumes, snapshots }] : hosts.map((host) => host.sandboxes)
