/** The service of one data folder without its edges: `main.ts` serves it, `Down.ts` takes it down. */
import { Effect, Layer } from "effect"
import { Atoll } from "./Atoll.ts"
import { ActorCluster } from "./actor/ActorCluster.ts"
import { noUnfinishedRestore } from "./backup/restoreMark.ts"
import { Settings } from "./Config.ts"
import { RuntimeChoice } from "./host/RuntimeChoice.ts"
import { TracedRuntime } from "./runtime/TracedRuntime.ts"
import { HostBinding } from "./sandbox/HostBinding.ts"
import { RuntimeBinding } from "./sandbox/RuntimeBinding.ts"
import { removedStates } from "./sandbox/sandboxStates.ts"
import { Database } from "./store/Database.ts"
import { DatabaseClaim } from "./store/DatabaseClaim.ts"
import { DatabaseServer } from "./store/DatabaseServer.ts"
import { Installation } from "./store/Installation.ts"
import { Migrations } from "./store/Migrations.ts"

/** One line of the start: where everything is kept. */
const kept = Layer.effectDiscard(
  Effect.gen(function* () {
    const { dataDir } = yield* Settings
    const { label } = yield* DatabaseServer
    yield* Effect.log(`Data is kept in ${dataDir}; the database is ${label}.`)
  })
)

/** The database and its bond with the data folder. Needs Settings. */
export const store = Installation.layer(removedStates).pipe(
  Layer.provide(DatabaseClaim.layer),
  Layer.provideMerge(kept),
  Layer.provideMerge(Migrations.layer),
  Layer.provideMerge(Database.layer.pipe(Layer.provide(noUnfinishedRestore)))
)

const runtime = HostBinding.layer.pipe(
  Layer.provide(TracedRuntime.layer),
  Layer.provide(Layer.unwrap(Effect.map(Installation, ({ driver }) => RuntimeChoice.layer(driver))))
)

/** Needs the store and Settings. */
export const service = Atoll.layer().pipe(
  Layer.provide(RuntimeBinding.layer),
  Layer.provideMerge(runtime),
  Layer.provide(ActorCluster.layer)
)

/** Settings in the place of others, where nobody is served: no process besides this one, no machine ahead of its Sandbox, no port. */
export const alone = Layer.effect(
  Settings,
  Effect.map(Settings, (settings) => ({
    ...settings,
    clusterPort: 0,
    vmSpares: 0,
    cooperative: "off" as const,
    bootstrapApiKey: null
  }))
)
