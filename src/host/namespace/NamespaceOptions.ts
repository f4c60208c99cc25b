/** What a namespace host is opened with. */
import type { Effect, Fiber } from "effect"
import type { ImageLimits } from "../image/HostImages.ts"
import type { PoolChoice } from "../linux/volumePool.ts"
import type { UsualSizes } from "./SpareSandboxes.ts"

export interface NamespaceOptions {
  readonly dataDir: string
  readonly processesMax: number
  readonly parallelStarts: number
  /** This much of the disk stays free when every volume is full. */
  readonly diskReserveBytes: number
  /** Default: as much as one likes, and no private registries. */
  readonly images?: ImageLimits
  readonly volumePool?: PoolChoice
  /** How long a call waits for another process that is changing the same Sandbox; default 60 s. */
  readonly othersTimeoutMs?: number
  /** Sandboxes of each shape that are started ahead; default 0. */
  readonly spares?: number
  /** The same while many are created; default `spares`. */
  readonly sparesMax?: number
  /** The only sizes that are made ahead; default: any. */
  readonly usual?: UsualSizes
  /** Runs an effect in the background. */
  readonly fork?: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
  /** Runs the agent client's effects in the service's own Effect runtime. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
}
