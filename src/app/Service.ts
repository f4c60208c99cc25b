/** The service of one data folder, or of a fleet, without its edges: `ServiceProgram.ts` serves it, `Down.ts` takes it down. */
import { Effect, Layer } from "effect"
import { Settings } from "../Config.ts"
import { noUnfinishedRestore } from "../ops/backup/restoreMark.ts"
import { countedStates, removedStates, runtimelessStates } from "../sandbox/sandboxStates.ts"
import { Database } from "../store/Database.ts"
import { DatabaseClaim } from "../store/DatabaseClaim.ts"
import { DatabaseServer } from "../store/DatabaseServer.ts"
import { Installation } from "../store/Installation.ts"
import { Migrations } from "../store/Migrations.ts"
import { noteSpool } from "../store/NoteSpool.ts"
import { thisClaimant } from "./thisClaimant.ts"

/** Logs at the start where the data is. */
const kept = Layer.effectDiscard(
  Effect.gen(function* () {
    const { dataDir, role } = yield* Settings
    const { label } = yield* DatabaseServer
    yield* Effect.log(
      role === "service"
        ? `The database is ${label}; Sandboxes are on the hosts that join.`
        : `The data is in ${dataDir}; the database is ${label}.`
    )
  })
)

const bond = Layer.unwrap(
  Effect.map(Settings, ({ role }) =>
    role === "service"
      ? Installation.ofFleet({ counted: countedStates, runtimeless: runtimelessStates })
      : Installation.layer(removedStates)
  )
)

/** The database, bound to the data folder if that holds Sandboxes. Needs Settings. */
export const store = bond.pipe(
  Layer.provideMerge(DatabaseClaim.layer),
  Layer.provide(thisClaimant),
  Layer.provideMerge(kept),
  Layer.provideMerge(Migrations.layer),
  Layer.provideMerge(Database.layer.pipe(Layer.provide(noUnfinishedRestore)))
)

/** The drivers are loaded only if there are Sandboxes here, and while the database starts. */
const oneHost = () => import("./OneHostService.ts")
const fleet = () => import("./FleetService.ts")
if (process.env["ATOLL_ROLE"] !== "service") void oneHost()

const ofOneHost = Layer.unwrap(Effect.map(Effect.promise(oneHost), ({ oneHostService }) => oneHostService))

const ofFleet = Layer.unwrap(Effect.map(Effect.promise(fleet), ({ fleetService }) => fleetService))

type Served = Layer.Layer<
  Layer.Success<typeof ofOneHost>,
  Layer.Error<typeof ofOneHost> | Layer.Error<typeof ofFleet>,
  Layer.Services<typeof ofOneHost> | Layer.Services<typeof ofFleet>
>

/** Needs the store and Settings. */
export const service = Layer.unwrap(
  Effect.map(Settings, ({ role }): Served => (role === "service" ? ofFleet : ofOneHost))
).pipe(Layer.provide(noteSpool))

/** Overrides settings for a service without clients: no other process, nothing started ahead, no port. */
export const alone = Layer.effect(
  Settings,
  Effect.map(Settings, (settings) => ({
    ...settings,
    clusterPort: 0,
    spares: 0,
    vmSpares: 0,
    cooperative: "off" as const,
    imagesCredentialsFile: null,
    bootstrapApiKey: null
  }))
)
