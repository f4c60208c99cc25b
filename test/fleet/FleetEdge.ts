/**
 * A fleet of two services and two hosts in the place of the one service that a suite asks for: `npm run test:fleet` sets ATOLL_TEST_FLEET. Each
 * connection goes to the other service than the one before it.
 */
import { Effect, type Layer } from "effect"
import { balancer } from "./Balancer.ts"
import { Fleet, type FleetShape } from "./Fleet.ts"

const writtenWithinMs = 3000

const isOverAFleet = process.env["ATOLL_TEST_FLEET"] === "1"

/** What a suite runs over. */
export const overAFleetOr = <A, E1, R1, E2, R2>(
  fleet: () => Layer.Layer<A, E1, R1>,
  inProcess: () => Layer.Layer<A, E2, R2>
): Layer.Layer<A, E1 | E2, R1 | R2> => (isOverAFleet ? fleet() : inProcess())

/** The port of both services, and that of one of them. */
export const fleetEdge = Effect.fnUntraced(function* (shape: Pick<FleetShape, "driver" | "environment" | "key">) {
  const fleet = yield* Fleet.make(shape)
  const addresses = fleet.services.map(({ host, port }) => ({ host, port }))
  return { port: yield* balancer(addresses), second: yield* balancer(addresses.slice(1)) }
})

/** What services write down in groups is written down. */
export const groupsWritten = () => new Promise<void>((resolve) => setTimeout(resolve, writtenWithinMs))
