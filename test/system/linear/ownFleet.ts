/** A fleet of real services and hosts, each with a separate address. */
import { Effect } from "effect"
import { Fleet } from "../../support/fleet/Fleet.ts"
import { OwnPostgres } from "../../support/OwnPostgres.ts"

/** So short that a host is lost while it is away. */
const environment = {
  ATOLL_CLUSTER_LEASE_MS: "3000",
  ATOLL_HOST_LEASE_MS: "2000",
  ATOLL_HOST_LOST_AFTER_MS: "1000"
}

export const ownFleet = (
  shape: { readonly services: number; readonly hosts: number },
  use: (fleet: Fleet) => Promise<void>
): Promise<void> =>
  Effect.gen(function* () {
    const fleet = yield* Fleet.make({ ...shape, environment })
    yield* Effect.promise(() => use(fleet))
  }).pipe(Effect.scoped, Effect.provide(OwnPostgres.layer), Effect.runPromise)
