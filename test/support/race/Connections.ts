/**
 * Connections to the database for runs of a service, each of which has its own while it lasts. Idle ones of an ended
 * run go to the next one: opening new ones, and letting the server prepare the same statements on each, was half of a
 * run's cost.
 */
import { Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { Database } from "../../../src/store/Database.ts"
import { DatabaseServer } from "../../../src/store/DatabaseServer.ts"
import { DatabaseSockets } from "../../../src/store/DatabaseSockets.ts"
import { DatabaseWatch, databaseWatch } from "../../../src/store/DatabaseWatch.ts"
import { testSettings } from "../TestSettings.ts"

const pools = Layer.fresh(Database.layerOn).pipe(Layer.provide(testSettings()))
const realClock = Context.get(Context.empty(), Clock.Clock)
/** In real time, longer than any run. */
const patienceMs = 60_000

export type DatabaseContext = Context.Context<SqlClient.SqlClient | DatabaseServer>
export type Pools = Context.Context<Layer.Success<typeof pools>>

export class Connections {
  readonly #database: DatabaseContext
  readonly #scope = Scope.makeUnsafe()
  readonly #atRest: Array<Pools> = []

  constructor(database: DatabaseContext) {
    this.#database = database
  }

  /** Exclusive until they are returned. */
  readonly take: Effect.Effect<Pools> = Effect.suspend(() => {
    const found = this.#atRest.pop()
    const made = found === undefined ? this.#make : Effect.succeed(found)
    // The faults of one run do not affect its successor.
    const watch = databaseWatch(
      Effect.void,
      new DatabaseSockets(Context.get(this.#database, DatabaseServer).connect),
      patienceMs
    )
    return Effect.zipWith(made, watch, (own, { watch }) => Context.add(own, DatabaseWatch, watch))
  })

  /** Their idle times and time-outs are real. */
  get #make(): Effect.Effect<Pools> {
    return Layer.buildWithScope(pools, this.#scope).pipe(
      Effect.orDie,
      Effect.provideService(Clock.Clock, realClock),
      Effect.provideContext(this.#database)
    )
  }

  giveBack(own: Pools): void {
    this.#atRest.push(own)
  }

  close(): Promise<void> {
    return Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }
}
