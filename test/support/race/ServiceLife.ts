/** One run of the service below HTTP, from its start to its crash. */
import { setTimeout as pause } from "node:timers/promises"
import { Context, Effect, Exit, type Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Atoll } from "../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import type { ActorHost } from "../../../src/engine/ActorHost.ts"
import type { Images } from "../../../src/image/Images.ts"
import type { Operations } from "../../../src/operation/Operations.ts"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import type { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import type { Snapshots } from "../../../src/snapshot/Snapshots.ts"
import { JournalDatabase } from "../../../src/store/Database.ts"
import { pacedEnvironment, pacedHost } from "../simulatedPace.ts"
import { testSettings } from "../TestSettings.ts"
import type { Connections, DatabaseContext, Pools } from "./Connections.ts"
import type { Gates } from "./Gates.ts"
import { gatedClient, gatedJournal } from "./gatedDatabase.ts"

/** Two volumes of a workspace leave room for its snapshots. */
export const limits = { sandboxes: 3, volumeBytes: 1024, workspaceBytes: 2560, copyBytes: 16, operations: 2 }

const environment = {
  ATOLL_SANDBOXES_PER_ACCOUNT: String(limits.sandboxes),
  ATOLL_VOLUME_BYTES: String(limits.volumeBytes),
  ATOLL_WORKSPACE_STORAGE_BYTES: String(limits.workspaceBytes),
  ATOLL_OPERATIONS_RUNNING: String(limits.operations),
  ATOLL_BUILD_SECONDS_MAX: "30",
  ...pacedEnvironment
}

/** Read once, for all runs. */
const settings = Layer.succeedContext(await Effect.runPromise(Effect.scoped(Layer.build(testSettings(environment)))))

/** Real time. */
const leftAfterMs = 50

export type ServiceCalls = ActorHost | Images | Operations | Sandboxes | Snapshots
export type ServiceContext = Context.Context<ServiceCalls>

export class ServiceLife {
  readonly #context: DatabaseContext
  readonly #scope: Scope.Closeable
  readonly #service: ServiceContext
  readonly #gates: Gates
  readonly #owner: object
  readonly #connections: Connections
  readonly #pools: Pools
  readonly #calls = new Set<Fiber.Fiber<unknown, unknown>>()

  private constructor(
    context: DatabaseContext,
    scope: Scope.Closeable,
    service: ServiceContext,
    gates: Gates,
    owner: object,
    connections: Connections,
    pools: Pools
  ) {
    this.#context = context
    this.#scope = scope
    this.#service = service
    this.#gates = gates
    this.#owner = owner
    this.#connections = connections
    this.#pools = pools
  }

  /**
   * @param context Also holds the clock of the test.
   * @param pools Taken from the connections, which get them back when it crashes.
   */
  static async start(
    context: DatabaseContext,
    connections: Connections,
    pools: Pools,
    runtime: Runtime["Service"],
    gates: Gates
  ): Promise<ServiceLife> {
    const owner = {}
    const scope = Scope.makeUnsafe()
    const build = Effect.gen(function* () {
      const database = Layer.mergeAll(
        Layer.succeedContext(pools),
        Layer.succeed(JournalDatabase, gatedJournal(Context.get(pools, JournalDatabase), gates, owner)),
        Layer.succeed(SqlClient.SqlClient, gatedClient(Context.get(pools, SqlClient.SqlClient), gates, owner))
      )
      const layer = Atoll.layer(pacedHost).pipe(
        Layer.provide([Layer.succeed(Runtime, runtime), ActorCluster.layerSingle, settings, database])
      )
      return yield* Layer.buildWithScope(layer, scope)
    })
    const service = await Effect.runPromiseWith(context)(build)
    return new ServiceLife(context, scope, service, gates, owner, connections, pools)
  }

  /** A request of a client; a crash cuts it off. */
  call(request: Effect.Effect<void, never, ServiceCalls>): void {
    const fiber = Effect.runForkWith(Context.merge(this.#context, this.#service))(request)
    this.#calls.add(fiber)
    fiber.addObserver(() => void this.#calls.delete(fiber))
  }

  get openCalls(): number {
    return this.#calls.size
  }

  /**
   * Everything stops where it is; nothing is finished, handed over or reported. A command that waits for the database, so that nothing is lost, and that no
   * interruption ends, is left to itself: it reaches nothing any more.
   * @param still Nothing happens by itself.
   */
  async crash(still: () => Promise<unknown>): Promise<void> {
    this.#gates.abandon(this.#owner)
    // A request that cannot be interrupted is left as it is: its wait never ends.
    for (const fiber of this.#calls) fiber.interruptUnsafe()
    const closed = Effect.runPromise(Scope.close(this.#scope, Exit.void))
    await Promise.race([closed, still().then(() => pause(leftAfterMs))])
    this.#connections.giveBack(this.#pools)
  }
}
