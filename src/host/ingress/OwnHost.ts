/** The description that this host gives of itself to the services that use it. */
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { hostname } from "node:os"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { Settings, SettingsUnusable } from "../../Config.ts"
import { DataFolder } from "../../platform/dataFolder/DataFolder.ts"
import type { HostCapacity, HostDescription } from "../../runtime/distant/HostDescription.ts"
import { Runtime, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { hostCapacity } from "./hostCapacity.ts"

/** How long a measurement of the disk is reused. */
const capacityFreshForMs = 10_000
/** A lost disk (NFS, FUSE) does not answer. */
const diskPatience = "5 seconds"

const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}

/** The data folder cannot be used. `message` is one sentence. */
export class HostUnusable extends Schema.TaggedError<HostUnusable>()("HostUnusable", { message: Schema.String }) {}

const everywhere: ReadonlySet<string> = new Set(["0.0.0.0", "::"])

export class OwnHost extends Context.Service<
  OwnHost,
  {
    readonly hostId: string
    /** The secret by which its fleet recognizes it. It must not leave the fleet. */
    readonly key: string
    /** Called with the port on which this host listens. */
    readonly listensOn: (port: number) => void
    /** The current description. */
    readonly describe: Effect.Effect<HostDescription, RuntimeUnavailable>
    /** Binds this host to a database's Sandboxes, unless it is bound already. Succeeds with the database to which it is bound. */
    readonly bind: (installation: string) => Effect.Effect<string, RuntimeUnavailable>
  }
>()("atoll/host/ingress/OwnHost") {
  /** Needs Settings and the Runtime. The data folder must exist. */
  static readonly layer = Layer.effect(
    OwnHost,
    Effect.gen(function* () {
      const settings = yield* Settings
      const { dataDir, fleetAddress, fleetHost, fleetPort } = settings
      const runtime = yield* Runtime
      if (fleetAddress === null && everywhere.has(fleetHost)) {
        return yield* new SettingsUnusable({
          message: `ATOLL_FLEET_HOST=${fleetHost} is no address to reach this host at. Set ATOLL_FLEET_ADDRESS to one, as name:port.`
        })
      }
      const inFolder = <A>(act: () => Promise<A>) =>
        Effect.tryPromise({
          try: act,
          catch: (cause) => new RuntimeUnavailable({ message: `The data folder ${dataDir} fails: ${String(cause)}.` })
        })
      const hostId = yield* inFolder(() => DataFolder.host(dataDir)).pipe(
        Effect.mapError(({ message }) => new HostUnusable({ message }))
      )
      const key = yield* inFolder(() => DataFolder.key(dataDir)).pipe(
        Effect.mapError(({ message }) => new HostUnusable({ message }))
      )
      const boot = randomBytes(12).toString("hex")
      let port = fleetPort
      let capacity: { readonly value: HostCapacity; readonly atMs: number } | null = null

      const readCapacity = Effect.gen(function* () {
        const atMs = Number((yield* Clock.monotonicTimeNanos) / 1_000_000n)
        if (capacity !== null && atMs - capacity.atMs < capacityFreshForMs) return capacity.value
        const value = yield* inFolder(() => hostCapacity(settings)).pipe(
          Effect.timeoutOrElse({
            duration: diskPatience,
            orElse: () => Effect.fail(new RuntimeUnavailable({ message: `The disk of ${dataDir} does not answer.` }))
          })
        )
        capacity = { value, atMs }
        return value
      })

      return {
        hostId,
        key,
        listensOn: (taken) => {
          port = taken
        },
        describe: Effect.gen(function* () {
          const { driver, kind, capabilities, images } = runtime
          return {
            hostId,
            label: `${dataDir} of ${hostname()}`,
            address: fleetAddress ?? { host: fleetHost, port },
            installation: yield* inFolder(() => DataFolder.installation(dataDir)),
            boot,
            version,
            driver,
            kind,
            capacity: yield* readCapacity,
            suspends: capabilities.suspend,
            takesSnapshots: true,
            restoresSnapshots: true,
            movesSnapshots: true,
            keepsMemory: capabilities.memorySnapshots,
            runsImages: yield* images.isAble,
            buildsImages: (yield* images.buildObstacle) === null,
            movesImages: true,
            networkFiltered: capabilities.networkFiltered,
            networkRefused: capabilities.networkRefused()
          }
        }),
        bind: (installation) => inFolder(() => DataFolder.bind(dataDir, installation))
      }
    })
  )
}
