/** One run of the whole service, HTTP included, which can end as by kill -9. */
import type { Server } from "node:http"
import type { Duplex } from "node:stream"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { inject } from "vitest"
import { ApiServer } from "../../../../src/api/http/ApiServer.ts"
import { protocolServer } from "../../../../src/api/http/ProtocolServer.ts"
import { Atoll } from "../../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../../src/engine/ActorCluster.ts"
import type { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { Database } from "../../../../src/store/Database.ts"
import { DatabaseServer } from "../../../../src/store/DatabaseServer.ts"
import { NoteSpool, noteSpool } from "../../../../src/store/NoteSpool.ts"
import { pacedEnvironment, pacedHost } from "../../simulatedPace.ts"
import { testDatabaseUrl } from "../../TestPostgres.ts"
import { testSettings } from "../../TestSettings.ts"
import { type Answer, ask, type Request } from "./ClientConnection.ts"
import { countedRuntime } from "./CountedRuntime.ts"
import { DatabaseWire } from "./DatabaseWire.ts"
import type { Effects } from "./Effects.ts"
import type { ModelVolumes } from "./ModelVolumes.ts"
import type { Plant } from "./plants.ts"

/** The service's end, or the loss of a commit's answer. */
export type Strike = "crash" | "lose"

export const apiKey = `atoll_live_${"C".repeat(43)}`

const environment = {
  ATOLL_BOOTSTRAP_API_KEY: apiKey,
  ...pacedEnvironment,
  ATOLL_SERVICE_ACCESS: "on",
  ATOLL_LOG_LEVEL: "error"
}

/** Real time. */
const buryWithinMs = 60

export interface LifeOptions {
  readonly effects: Effects
  readonly strike: Strike
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
}

export class CrashLife {
  readonly #options: LifeOptions
  readonly #scope = Scope.makeUnsafe()
  readonly #spoolScope = Scope.makeUnsafe()
  readonly #wire: DatabaseWire
  readonly #connections = new Set<Duplex>()
  #server: Server | null = null
  readonly #held = new Set<() => void>()
  #isDead = false
  #isBuried = false

  private constructor(options: LifeOptions) {
    this.#options = options
    this.#wire = new DatabaseWire(options.socketFolder, inject("testPostgresSocketFolder"), (effect) => {
      if (this.#isDead) return "crash"
      if (!this.#options.effects.strikes(effect)) return "pass"
      if (this.#options.strike === "lose") return "cut"
      this.kill()
      return "crash"
    })
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

  /** False: it is dead, or dies now. */
  readonly #passes = (effect: string): boolean => {
    if (this.#isDead) return false
    if (!this.#options.effects.strikes(effect)) return true
    this.kill()
    return false
  }

  /** What waits in a dead service waits until it is buried: some of it cannot be interrupted. */
  readonly #pass = (effect: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (this.#passes(effect)) return Effect.void
      return Effect.callback<void>((resume) => {
        const end = () => resume(Effect.die(new Error("killed")))
        if (this.#isBuried) end()
        else this.#held.add(end)
      })
    })

  async #start(): Promise<void> {
    await this.#wire.listen()
    const { dataFolder, socketFolder, database, context, plant } = this.#options
    const settings = testSettings({ ...environment, ...this.#options.environment, ATOLL_DATA_DIR: dataFolder })
    const url = Redacted.make(testDatabaseUrl(socketFolder, database))
    const sound = Layer.fresh(Database.layerOn).pipe(Layer.provideMerge(DatabaseServer.at(url)))
    const connected = plant === null ? sound : planted(sound, plant)
    const service = Atoll.layer(pacedHost).pipe(
      Layer.provideMerge(Layer.succeed(Runtime, this.#runtime)),
      Layer.provide(ActorCluster.layerSingle)
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
    const all = ApiServer.layer.pipe(
      Layer.provide(http),
      Layer.provide(service),
      Layer.provide(Layer.succeedContext(spool)),
      Layer.provide(connected),
      Layer.provide(settings)
    )
    await Effect.runPromiseWith(context)(Layer.buildWithScope(all, this.#scope))
  }

  get #runtime(): Runtime["Service"] {
    const { world, volumes, plant } = this.#options
    const counted = countedRuntime(world, volumes, this.#pass)
    return plant?.runtime?.(counted) ?? counted
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
    const answer = await ask(this.#server!, request, () => this.#passes(`before reply to ${name}`), this.#connections)
    // The client has it, and then the service ends.
    if (answer !== null) this.#passes(`after reply to ${name}`)
    return answer
  }

  /** Nothing more of it reaches the database, the machines, the data folder or a client. */
  kill(): void {
    if (this.#isDead) return
    this.#isDead = true
    this.#wire.kill()
    for (const connection of this.#connections) connection.destroy()
  }

  /**
   * What is left of it in memory ends. A writer that waits for its database, which no longer exists for it, is left waiting: it can reach nothing.
   */
  async bury(): Promise<void> {
    this.kill()
    this.#isBuried = true
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
