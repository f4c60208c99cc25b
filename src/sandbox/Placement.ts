/** On which host a new Sandbox lives. */
import { Context, type Effect } from "effect"
import type { UnsupportedByRuntime } from "../../schemas/Errors.ts"

export interface Wanted {
  readonly sandboxId: string
  /** Null: as the operator likes. */
  readonly runtime: "vm" | "namespace" | null
  readonly networkEnabled: boolean
  readonly vcpus: number
  readonly memoryBytes: number
  readonly diskBytes: number
}

export interface Place {
  /** Null: the one host there is; or none has room, and the boot will be refused. */
  readonly hostId: string | null
  readonly runtime: "vm" | "namespace"
}

export class Placement extends Context.Service<
  Placement,
  {
    /** Called in the transaction of a create: the room that it takes is given back with that. */
    readonly place: (wanted: Wanted) => Effect.Effect<Place, UnsupportedByRuntime>
    /** Why a Sandbox that was placed there cannot be started now, one sentence; null: nothing is known to be against it. */
    readonly obstacle: (sandboxId: string) => Effect.Effect<string | null>
  }
>()("atoll/sandbox/Placement") {}
