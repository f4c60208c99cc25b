/** Where the layers meet. */
import { Effect, Layer } from "effect"
import { Atoll } from "./Atoll.ts"
import { ActorCluster } from "./actor/ActorCluster.ts"
import { RuntimeChoice } from "./host/RuntimeChoice.ts"
import { ApiServer } from "./http/ApiServer.ts"
import { Listener } from "./http/Listener.ts"
import { collectPassingBytes } from "./http/PassingBytes.ts"
import { launch } from "./Launch.ts"
import { HostBinding } from "./sandbox/HostBinding.ts"
import { RuntimeBinding } from "./sandbox/RuntimeBinding.ts"
import { Database } from "./store/Database.ts"
import { DatabaseClaim } from "./store/DatabaseClaim.ts"
import { Installation } from "./store/Installation.ts"
import { Migrations } from "./store/Migrations.ts"

const store = Installation.layer.pipe(
  Layer.provide(DatabaseClaim.layer),
  Layer.provideMerge(Migrations.layer),
  Layer.provideMerge(Database.layer)
)

const runtime = HostBinding.layer.pipe(
  Layer.provide(Layer.unwrap(Effect.map(Installation, ({ driver }) => RuntimeChoice.layer(driver))))
)

const service = Atoll.layer().pipe(
  Layer.provide(RuntimeBinding.layer),
  Layer.provideMerge(runtime),
  Layer.provide(ActorCluster.layer)
)

collectPassingBytes()
launch(ApiServer.layer.pipe(Layer.provideMerge(Listener.layer), Layer.provide(service), Layer.provide(store)))
