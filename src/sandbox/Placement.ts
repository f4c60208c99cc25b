/** The host of a Sandbox: chosen once, because the volume stays there. */
import { Context, type Effect } from "effect"
import type { UnsupportedByRuntime } from "../../schemas/Errors.ts"
import type { SandboxProfile } from "../../schemas/SandboxProfile.ts"
import type { LostHost } from "./hostLost.ts"

export interface Wanted {
  readonly sandboxId: string
  /** Null: the operator's default. */
  readonly runtime: "vm" | "namespace" | null
  readonly networkEnabled: boolean
  readonly vcpus: number
  readonly memoryBytes: number
  readonly diskBytes: number
  /** Of the snapshot from which it starts: the hosts that have that come first. Null or absent: it starts empty. */
  readonly snapshotId?: string | null
  /** The host that has that snapshot. */
  readonly hostId?: string | null
  /** No other host will do: the snapshot has memory. */
  readonly isBound?: boolean
  /** The image that is its root: only hosts that run images suit, and among them rather one that has this image. Absent: the host's own root. */
  readonly image?: { readonly digest: string }
  /** An image is built in it: only hosts that build suit, of any runtime if the request names none. */
  readonly builder?: true
}

export interface Place {
  /** Null: the service's only host; or no host has capacity, and the boot will be refused. */
  readonly hostId: string | null
  readonly runtime: "vm" | "namespace"
}

/** State of a Sandbox's host. there: it serves, as far as is known. silent: unreachable now, but it may return at any time. */
export type Standing = { readonly is: "there" | "silent" } | LostHost

export class Placement extends Context.Service<
  Placement,
  {
    /** The runtime of a Sandbox whose request names none; null: it depends on the host. */
    readonly usual: "vm" | "namespace" | null
    /** Whether Sandboxes of that runtime can be here. */
    readonly offers: (runtime: "vm" | "namespace") => Effect.Effect<boolean>
    /** Called in the transaction of a create: a rollback frees the capacity. */
    readonly place: (wanted: Wanted) => Effect.Effect<Place, UnsupportedByRuntime>
    /** The host that has the Sandbox now; null: the service's only host, or none yet. A first boot may have moved it since its creation. */
    readonly hostOf: (sandboxId: string) => Effect.Effect<string | null>
    /** Called in the transaction of a change of its sizes. False: its host has no room for these. */
    readonly resize: (sandboxId: string, profile: SandboxProfile) => Effect.Effect<boolean>
    /** Why a Sandbox cannot be started on its host now, as one sentence; null: no known reason. */
    readonly obstacle: (sandboxId: string) => Effect.Effect<string | null>
    /** Called after a command failed at the Sandbox's host. */
    readonly standing: (sandboxId: string) => Effect.Effect<Standing>
    /** How long a host may fail to answer, in ms, before its standing changes. */
    readonly unsureForMs: number
    /** Whether the Sandbox can sleep on its host. */
    readonly suspends: (sandboxId: string) => Effect.Effect<boolean>
    /** Whether snapshots of the Sandbox can have its memory. */
    readonly keepsMemory: (sandboxId: string) => Effect.Effect<boolean>
    /** Ids of the hosts that this process supervises; null: it carries all Sandboxes itself. */
    readonly supervised: Effect.Effect<ReadonlyArray<string> | null>
    /** Frees vCPUs and memory: nothing of this generation runs, or will run when the host returns. The volume stays reserved. */
    readonly leave: (sandboxId: string, generation: number) => Effect.Effect<void>
    /** Frees everything: the Sandbox has nothing on any host. */
    readonly release: (sandboxId: string) => Effect.Effect<void>
  }
>()("atoll/sandbox/Placement") {}
