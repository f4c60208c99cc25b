/** One run of the whole service, HTTP included, which can end as by kill -9. */
import type { Server } from "node:http"
import type { Duplex } from "node:stream"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { inject } from "vitest"
import { ApiServer } from "../../../../src/api/http/ApiServer.ts"
import { protocolServer } from "../../../../src/api/http/ProtocolServer.ts"
import { Atoll } from "../../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../../src/engine/ActorCluster.ts"
import { HostJoins } from "../../../../src/fleet/HostJoins.ts"
import type { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { Database } from "../../../../src/store/Database.ts"
import { DatabaseServer } from "../../../../src/store/DatabaseServer.ts"
import { NoteSpool, noteSpool } from "../../../../src/store/NoteSpool.ts"
import { pacedEnvironment, pacedHost } from "../../simulatedPace.ts"
import { testDatabaseUrl } from "../../TestPostgres.ts"
import { testSettings } from "../../TestSettings.ts"
import type { ActorNetwork } from "./ActorNetwork.ts"
import { type Answer, ask, type Request } from "./ClientConnection.ts"
import { countedRuntime } from "./CountedRuntime.ts"
import { DatabaseWire, type Verdict } from "./DatabaseWire.ts"
import type { Effects } from "./Effects.ts"
import { Freeze } from "./Freeze.ts"
import { fleetEnvironment, fleetOn } from "./fleetOn.ts"
import type { AskService, HostProgram } from "./HostProgram.ts"
import type { ModelVolumes } from "./ModelVolumes.ts"
import type { Plant } from "./plants.ts"

/** The service's end, the loss of a commit's answer, or a service that freezes and is woken beside the next one. */
export type Strike = "crash" | "lose" | "freeze"

export const apiKey = `atoll_live_${"C".repeat(43)}`

const environment = {
  ATOLL_BOOTSTRAP_API_KEY: apiKey,
  ...pacedEnvironment,
  ATOLL_SERVICE_ACCESS: "on",
  ATOLL_LOG_LEVEL: "error"
}

const clusterEnvironment = {
  ATOLL_CLUSTER_LEASE_MS: "1000",
  // The database rolls back what a frozen service has begun: meanwhile the next one may wait for its locks, in real time.
  ATOLL_DATABASE_IDLE_TRANSACTION_MS: "1000"
}

/** They repeat with the time, and decide nothing but who owns actors. */
const isOfCluster = (effect: string): boolean => effect.includes("cluster_")

/** Real time. */
const buryWithinMs = 60

export interface LifeOptions {
  readonly effects: Effects
  /** This effect is the target. */
  readonly struck: (life: CrashLife) => Verdict
  readonly world: SimulatedWorld
  readonly volumes: ModelVolumes
  /** Settings of the scenario, by environment variable. */
  readonly environment: Readonly<Record<string, string>>
  /** The name of the database. */
  readonly database: string
  /** Empty, for the socket of its wire. */
  readonly socketFolder: string
  /** Kept from one run of the service to the next. */
  readonly dataFolder: string
  /** With the clock of the run. */
  readonly context: Context.Context<never>
  readonly plant: Plant | null
  /** Of a fleet; none: it carries its Sandboxes itself. */
  readonly hosts: ReadonlyArray<HostProgram>
  /** Null: it is alone, and owns every actor. */
  readonly cluster: { readonly network: ActorNetwork; readonly port: number } | null
}

export class CrashLife {
  readonly #options: LifeOptions
  readonly #scope = Scope.makeUnsafe()
  readonly #spoolScope = Scope.makeUnsafe()
  readonly #wire: DatabaseWire
  readonly #connections = new Set<Duplex>()
  #server: Server | null = null
  /** Where hosts join, once it serves. */
  #joins: HostJoins["Service"] | undefined
  readonly #gone = Promise.withResolvers<null>()
  readonly #held = new Set<() => void>()
  readonly #freeze = new Freeze()
  #isDead = false
  #isBuried = false

  private constructor(options: LifeOptions) {
    this.#options = options
    this.#wire = new DatabaseWire(options.socketFolder, inject("testPostgresSocketFolder"), this.#freeze, (effect) =>
      this.#meets(effect)
    )
  }

  /** It serves once `started` resolves. */
  static begin(options: LifeOptions): { readonly life: CrashLife; readonly started: Promise<void> } {
    const life = new CrashLife(options)
    return { life, started: life.#start() }
  }

  get isDead(): boolean {
    return this.#isDead
  }

  get openStatements(): number {
    return this.#wire.open
  }

  get isFrozen(): boolean {
    return this.#freeze.isFrozen
  }

  /** Resolves once it is frozen. */
  get frozen(): Promise<void> {
    return this.#freeze.begun
  }

  /** Nothing more of it reaches anything, nor anything it, until it is woken. */
  freeze(): void {
    this.#freeze.freeze()
  }

  wake(): void {
    this.#freeze.wake()
  }

  #meets(effect: string): Verdict {
    if (this.#isDead) return "crash"
    if (this.isFrozen || isOfCluster(effect) || !this.#options.effects.strikes(effect)) return "pass"
    return this.#options.struck(this)
  }

  /** False: it is dead, or dies now. */
  readonly #passes = (effect: string): boolean => this.#meets(effect) !== "crash"

  /** What waits in a dead service waits until it is buried: some of it cannot be interrupted. */
  readonly #pass = (effect: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (!this.#passes(effect)) return this.#deadEnd
      return this.isFrozen
        ? Effect.andThen(
            this.#freeze.pass,
            Effect.suspend(() => (this.#isDead ? this.#deadEnd : Effect.void))
          )
        : Effect.void
    })

  readonly #deadEnd = Effect.callback<void>((resume) => {
    const end = () => resume(Effect.die(new Error("killed")))
    if (this.#isBuried) end()
    else this.#held.add(end)
  })

  async #start(): Promise<void> {
    await this.#wire.listen()
    const { dataFolder, socketFolder, database, context, plant, cluster, hosts, world, volumes } = this.#options
    const settings = testSettings({
      ...environment,
      ...(hosts.length === 0 ? {} : fleetEnvironment),
      ...(cluster === null ? {} : { ...clusterEnvironment, ATOLL_CLUSTER_PORT: String(cluster.port) }),
      ...this.#options.environment,
      ATOLL_DATA_DIR: dataFolder
    })
    const url = Redacted.make(testDatabaseUrl(socketFolder, database))
    const sound = Layer.fresh(Database.layerOn).pipe(Layer.provideMerge(DatabaseServer.at(url)))
    const connected = plant === null ? sound : planted(sound, plant)
    const options = cluster === null ? pacedHost : { ...pacedHost, shardsLookEveryMs: 500 }
    const alone = Atoll.layer(options).pipe(
      Layer.provideMerge(Layer.succeed(Runtime, this.#runtimeOf({ world, volumes }))),
      Layer.provide(this.#cluster)
    )
    const http = NodeHttpServer.layer(
      () => {
        this.#server = protocolServer()
        return this.#server
      },
      { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 }
    )
    const spool = plant?.isWithoutSpool
      ? Context.make(NoteSpool, null)
      : await Effect.runPromise(Layer.buildWithScope(Layer.provide(this.#spool, settings), this.#spoolScope))
    const served = ApiServer.layer.pipe(Layer.provide(http))
    const service =
      hosts.length === 0
        ? Layer.provide(served, alone)
        : Layer.provideMerge(
            served,
            fleetOn(hosts, (host) => this.#runtimeOf(host), options, this.#cluster)
          )
    const all = service.pipe(
      Layer.provide(Layer.succeedContext(spool)),
      Layer.provide(connected),
      Layer.provide(settings)
    )
    const timed = Context.add(context, Clock.Clock, this.#freeze.clock(Context.get(context, Clock.Clock)))
    const found = await Effect.runPromiseWith(timed)(Layer.buildWithScope(all, this.#scope))
    this.#joins = Context.getOrUndefined(found as Context.Context<HostJoins>, HostJoins)
  }

  #runtimeOf({ world, volumes }: Pick<LifeOptions, "world" | "volumes">): Runtime["Service"] {
    const { plant } = this.#options
    const counted = countedRuntime(world, volumes, this.#pass)
    return this.#freeze.outside(plant?.runtime?.(counted) ?? counted)
  }

  get #cluster() {
    const { cluster } = this.#options
    return cluster === null ? ActorCluster.layerSingle : ActorCluster.layerOver(cluster.network.socketsOf(this.#freeze))
  }

  /** The file of answered calls: a killed process writes nothing more into it. */
  get #spool() {
    const kept = Effect.map(NoteSpool, (spool) => ({
      open: (name: string) => {
        const file = spool!.open(name)
        return {
          ...file,
          append: (note: unknown) => this.#isDead || file.append(note),
          empty: () => {
            if (!this.#isDead) file.empty()
          }
        }
      }
    }))
    return Layer.effect(NoteSpool, kept).pipe(Layer.provide(noteSpool))
  }

  /**
   * Null: it ended before the client had its answer.
   * @param name Of the request, for its effects.
   */
  async ask(name: string, request: Request): Promise<Answer | null> {
    if (this.#isDead) return null
    const mayAnswer = () => this.#passes(`before reply to ${name}`)
    const answer = await ask(this.#server!, request, mayAnswer, this.#freeze.when, this.#connections)
    // The client has it, and then the service ends.
    if (answer !== null) this.#passes(`after reply to ${name}`)
    return answer
  }

  /** Null: it ended, or was frozen, before the host had its answer; or it does not serve yet. */
  readonly askFromHost: AskService = async (request) => {
    if (this.#joins === undefined || this.#isDead || this.isFrozen) return null
    const asked = Effect.exit(Effect.provideService(request, HostJoins, this.#joins))
    const { context } = this.#options
    const timed = Context.add(context, Clock.Clock, this.#freeze.clock(Context.get(context, Clock.Clock)))
    return Promise.race([Effect.runPromiseWith(timed)(asked), this.#gone.promise, this.frozen.then(() => null)])
  }

  /** Nothing more of it reaches the database, the machines, the data folder or a client. */
  kill(): void {
    if (this.#isDead) return
    this.#isDead = true
    this.#gone.resolve(null)
    this.#options.cluster?.network.leave(this.#options.cluster.port)
    this.#wire.kill()
    for (const connection of this.#connections) connection.destroy()
  }

  /**
   * What is left of it in memory ends. A writer that waits for its database, which no longer exists for it, is left waiting: it can reach nothing.
   */
  async bury(): Promise<void> {
    this.kill()
    this.#isBuried = true
    this.wake()
    for (const end of this.#held) end()
    this.#server?.close()
    this.#server?.closeAllConnections()
    const closed = Effect.runPromise(Scope.close(this.#scope, Exit.void))
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, buryWithinMs)
    })
    await Promise.race([closed.catch(() => {}), patience])
    clearTimeout(timer)
    await Effect.runPromise(Scope.close(this.#spoolScope, Exit.void))
  }
}

const planted = <A, E, R>(sound: Layer.Layer<A, E, R>, { database }: Plant): Layer.Layer<A, E, R> =>
  database === undefined
    ? sound
    : Layer.effectContext(
        Effect.map(Layer.build(sound), (found) => database(found as Context.Context<never>) as Context.Context<A>)
      )
