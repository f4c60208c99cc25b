/**
 * Where Sandboxes run. One driver is chosen at start: `namespace/`, `qemu/` or `simulated/`.
 *
 * Every call is idempotent and may be repeated after a crash at any point; a call for a generation older than the one
 * that runs changes nothing. A runtime outlives the service: `inventory` tells what really exists on this host.
 *
 * @source design.md "The runtime"
 */
import type { Duplex } from "node:stream"
import { Context, type Effect, Schema, type Scope, type Stream } from "effect"
import { PublicText } from "../../schemas/PublicText.ts"
import type { Guest, GuestUnavailable } from "./Guest.ts"

/** A known limit of this host or of its settings: trying again does not help until something is freed. Contract: status `expired`, 429. */
export class RuntimeRefused extends Schema.TaggedError<RuntimeRefused>()("RuntimeRefused", {
  code: Schema.Literals([
    "HOST_FULL",
    "STORAGE_LIMIT_REACHED",
    "SANDBOX_LIMIT_REACHED",
    "VOLUME_MISSING",
    "MEMORY_LOST"
  ]),
  message: PublicText
}) {}

/**
 * The driver could not do it now; the caller retries. Contract 502. `message` is for the operator's log: it may name paths and processes of the host.
 * `shown` is what a customer may read of it, where the cause is a known one.
 */
export class RuntimeUnavailable extends Schema.TaggedError<RuntimeUnavailable>()("RuntimeUnavailable", {
  message: Schema.String,
  shown: Schema.optionalKey(PublicText)
}) {
  /** A known cause, whose sentence customers may read. */
  static readonly known = (message: PublicText) => new RuntimeUnavailable({ message, shown: message })
}

/** This driver cannot do it at all. Contract 501. */
export class RuntimeUnsupported extends Schema.TaggedError<RuntimeUnsupported>()("RuntimeUnsupported", {
  message: Schema.String
}) {}

export interface SandboxSpec {
  readonly sandboxId: string
  /** 1 for the first boot, +1 for each later one. */
  readonly generation: number
  readonly vcpus: number
  readonly memoryBytes: number
  readonly volumeBytes: number
  readonly networkEnabled: boolean
}

/** What exists on this host for one Sandbox. `running`: it does, or comes up. `volume`: only its volume, nothing runs. */
export interface InventoryEntry {
  readonly sandboxId: string
  readonly state: "running" | "suspended" | "volume"
  /** Null for a bare volume. */
  readonly generation: number | null
}

/** A runtime ended by itself. `reason.code`: `EXITED` (power-off), `CRASHED` (killed, panic, out of memory). */
export interface RuntimeDown {
  readonly type: "down"
  readonly sandboxId: string
  readonly generation: number
  readonly reason: { readonly code: "EXITED" | "CRASHED"; readonly message: PublicText }
}

/**
 * A runtime that is held up by its host, with nothing lost, and goes on by itself. `HOST_FULL`: the host's disk has no room for what it writes;
 * `HOST_FAILED`: the disk does not take it. `resumed` is also told of one that was found running at first look.
 */
export type RuntimeStall =
  | {
      readonly type: "stalled"
      readonly sandboxId: string
      readonly generation: number
      readonly reason: { readonly code: "HOST_FULL" | "HOST_FAILED"; readonly message: PublicText }
    }
  | { readonly type: "resumed"; readonly sandboxId: string; readonly generation: number }

/** A chunk of the Sandbox's own console (log source `workload`), by absolute offset within the generation. */
export interface ConsoleChunk {
  readonly sandboxId: string
  readonly generation: number
  readonly offset: number
  readonly bytes: Uint8Array
}

/** Cumulative counters since boot, gauges for memory and volume. Null is "not measured". */
export interface ResourceSample {
  readonly cpuSeconds: number | null
  readonly memoryBytes: number | null
  readonly volumeBytes: number | null
  readonly networkRxBytes: number | null
  readonly networkTxBytes: number | null
}

export class Runtime extends Context.Service<
  Runtime,
  {
    /** fleet: each Sandbox is on a host of its own, which has a driver. */
    readonly driver: "namespace" | "qemu" | "simulated" | "fleet"
    /** The API's `runtime` field: always the truth. */
    readonly kind: "vm" | "namespace"
    readonly capabilities: {
      readonly suspend: boolean
      readonly networkFiltered: boolean
      /** Why no Sandbox with network would boot on this host now; null: it would. */
      readonly networkRefused: () => string | null
      /** One sentence each, printed at start: what is enforced here and what is not. */
      readonly statements: ReadonlyArray<string>
    }
    /**
     * Makes the volume if there is none, boots this generation (a suspended one resumes), returns when its guest answers.
     * `turn` is called when it no longer waits for others that boot; not at all where there is nothing to do. One that is interrupted before does
     * not begin.
     */
    readonly provision: (
      spec: SandboxSpec,
      turn?: () => void
    ) => Effect.Effect<void, RuntimeRefused | RuntimeUnavailable>
    /** Ends the runtime of this generation, or of an older one, and everything in it; keeps the volume. A newer one that runs is left alone. */
    readonly stop: (sandboxId: string, generation: number) => Effect.Effect<void, RuntimeUnavailable>
    /** Ends the runtime and removes its volume. */
    readonly destroy: (sandboxId: string) => Effect.Effect<void, RuntimeUnavailable>
    /** Freezes the running generation to disk, processes and all; `provision` of the same generation wakes it. */
    readonly suspend: (
      sandboxId: string,
      generation: number
    ) => Effect.Effect<void, RuntimeUnavailable | RuntimeUnsupported>
    readonly inventory: Effect.Effect<ReadonlyArray<InventoryEntry>, RuntimeUnavailable>
    /** The guest of a running generation; fails when that generation does not run here. Cheap: connections are kept. */
    readonly guest: (sandboxId: string, generation: number) => Effect.Effect<Guest, GuestUnavailable>
    /**
     * The bytes of one HTTP/2 connection to the agent of a running generation, for who speaks to it from afar; nothing of them was read. It is
     * destroyed with the scope, and ends with that runtime.
     */
    readonly connect: (sandboxId: string, generation: number) => Effect.Effect<Duplex, GuestUnavailable, Scope.Scope>
    readonly sample: (sandboxId: string, generation: number) => Effect.Effect<ResourceSample, RuntimeUnavailable>
    /** Every runtime of this host that ends without being asked to, for as long as the stream is consumed; starts with those found dead at first look. */
    readonly downs: Stream.Stream<RuntimeDown>
    /** Every runtime that its host holds up, and its going on. */
    readonly stalls: Stream.Stream<RuntimeStall>
    /** Console output of every running Sandbox from the first byte not yet consumed by this process. */
    readonly console: Stream.Stream<ConsoleChunk>
  }
>()("atoll/runtime/Runtime") {}
