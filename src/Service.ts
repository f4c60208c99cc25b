/** The service of one data folder without its edges: `main.ts` serves it, `Down.ts` takes it down. */
import { Effect, Layer } from "effect"
import { Atoll } from "./Atoll.ts"
import { ActorCluster } from "./actor/ActorCluster.ts"
import { RuntimeChoice } from "./host/RuntimeChoice.ts"
import { HostBinding } from "./sandbox/HostBinding.ts"
import { RuntimeBinding } from "./sandbox/RuntimeBinding.ts"
import { Database } from "./store/Database.ts"
import { DatabaseClaim } from "./store/DatabaseClaim.ts"
import { Installation } from "./store/Installation.ts"
import { Migrations } from "./store/Migrations.ts"

/** The database and its bond with the data folder. Needs Settings. */
export const store = Installation.layer.pipe(
  Layer.provide(DatabaseClaim.layer),
  Layer.provideMerge(Migrations.layer),
  Layer.provideMerge(Database.layer)
)

const runtime = HostBinding.layer.pipe(
  Layer.provide(Layer.unwrap(Effect.map(Installation, ({ driver }) => RuntimeChoice.layer(driver))))
)

/** Needs the store and Settings. */
export const service = Atoll.layer().pipe(
  Layer.provide(RuntimeBinding.layer),
  Layer.provideMerge(runtime),
  Layer.provide(ActorCluster.layer)
)
