/** On which host a Sandbox lives: chosen once, for its volume is there. */
import { Context, type Effect } from "effect"
import type { UnsupportedByRuntime } from "../../schemas/Errors.ts"
import type { LostHost } from "./hostLost.ts"

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

/** How the host of a Sandbox stands. there: it serves, as far as is known. silent: nobody reaches it now, and it may come back any time. */
export type Standing = { readonly is: "there" | "silent" } | LostHost

export class Placement extends Context.Service<
  Placement,
  {
    /** Called in the transaction of a create: the room that it takes is given back with that. */
    readonly place: (wanted: Wanted) => Effect.Effect<Place, UnsupportedByRuntime>
    /** Why a Sandbox that was placed there cannot be started now, one sentence; null: nothing is known to be against it. */
    readonly obstacle: (sandboxId: string) => Effect.Effect<string | null>
    /** Asked when something of a Sandbox could not be done at its host. */
    readonly standing: (sandboxId: string) => Effect.Effect<Standing>
    /** For so long a host may fail to answer, in ms, before its standing says so. */
    readonly unsureForMs: number
    /** Whether it can sleep there. */
    readonly suspends: (sandboxId: string) => Effect.Effect<boolean>
    /** Ids of the hosts whose Sandboxes this process looks after; null: all Sandboxes are its own. */
    readonly attended: Effect.Effect<ReadonlyArray<string> | null>
    /** Nothing of this generation runs, or will when its host returns: what it was promised is free, but for its volume. */
    readonly leave: (sandboxId: string, generation: number) => Effect.Effect<void>
    /** Nothing of it is left, or ever was: all of its room is free. */
    readonly release: (sandboxId: string) => Effect.Effect<void>
  }
>()("atoll/sandbox/Placement") {}
