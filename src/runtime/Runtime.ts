/**
 * Where Sandboxes run. One driver is chosen at start: `namespace/`, `qemu/` or `simulated/`.
 *
 * Every call is idempotent and may be repeated after a crash at any point. A call for an older generation than the running one changes nothing. A
 * runtime outlives the service: `inventory` lists what really exists on this host.
 *
 * @source design.md "The runtime"
 */
import type { Duplex } from "node:stream"
import { Context, type Effect, type Redacted, Schema, type Scope, type Stream } from "effect"
import { PublicText } from "../../schemas/PublicText.ts"
import type { Guest, GuestUnavailable } from "./Guest.ts"

/** A known limit of this host or of its settings: a retry does not help until something is freed. Contract: status `expired`, 429. */
export class RuntimeRefused extends Schema.TaggedError<RuntimeRefused>()("RuntimeRefused", {
  code: Schema.Literals([
    "HOST_FULL",
    "STORAGE_LIMIT_REACHED",
    "SANDBOX_LIMIT_REACHED",
    "VOLUME_MISSING",
    "SNAPSHOT_MISSING",
    "MEMORY_LOST",
    "IMAGE_NOT_FOUND",
    "IMAGE_UNAUTHORIZED",
    "IMAGE_TOO_LARGE",
    "IMAGE_UNSUPPORTED",
    "IMAGE_INVALID",
    "IMAGE_NO_ROOM",
    "IMAGE_ADDRESS_FORBIDDEN",
    "SNAPSHOT_UNUSABLE"
  ]),
  message: PublicText
}) {}

/**
 * The driver cannot carry out the call now; the caller retries. Contract 502. `message` is for the operator's log: it may name paths and processes of
 * the host. `shown` is the part that a customer may read, where the cause is a known one.
 */
export class RuntimeUnavailable extends Schema.TaggedError<RuntimeUnavailable>()("RuntimeUnavailable", {
  message: Schema.String,
  shown: Schema.optionalKey(PublicText)
}) {
  /** A known cause, whose sentence customers may read. */
  static readonly known = (message: PublicText) => new RuntimeUnavailable({ message, shown: message })
}

/** This driver never supports the call. Contract 501. */
export class RuntimeUnsupported extends Schema.TaggedError<RuntimeUnsupported>()("RuntimeUnsupported", {
  message: Schema.String
}) {}

export interface SandboxSpec {
  readonly sandboxId: string
  /** 1 for the first boot, +1 for each later one. */
  readonly generation: number
  /** With tenths. */
  readonly vcpus: number
  readonly memoryBytes: number
  readonly volumeBytes: number
  readonly networkEnabled: boolean
  /** Of which snapshot its volume becomes a copy when it is made; absent: it starts empty. */
  readonly snapshotId?: string
  /** The image whose files are its root; absent: the host's own root. A host that has not the digest pulls it at the first boot. */
  readonly image?: ImageSource & { readonly digest: string }
  /** A Dockerfile can be built in it. It has no image. Absent: an ordinary Sandbox. */
  readonly builder?: true
}

/** What a running Sandbox may get other values of. */
export type RuntimeSizes = Pick<SandboxSpec, "vcpus" | "memoryBytes" | "volumeBytes">

/** What a host keeps of a snapshot. */
export interface CapturedSnapshot {
  /** The host that has it; null: the service's only host. */
  readonly hostId: string | null
  /** The size of its volume, full or empty, and of its memory where it has one. */
  readonly sizeBytes: number
  /** Bytes of the host's disk that its files occupy; blocks that it shares with other images are counted, too. */
  readonly storedBytes: number
  /** How long writers of the Sandbox waited, in ms; 0: its volume was not in use. */
  readonly pausedMs: number
}

/** A part of an image. What no piece has is zeros. */
export interface ImagePiece {
  /** In bytes from the beginning of the image. */
  readonly offset: number
  readonly bytes: Uint8Array
}

/** An image as it goes from one host to another. */
export interface SnapshotImage {
  /** The size of its volume, full or empty. */
  readonly sizeBytes: number
  /** The user id of its files on the disk; null: that of each machine's guests. */
  readonly owner: number | null
  /** In ascending order, without overlaps. */
  readonly pieces: AsyncIterable<ImagePiece>
}

/** Volumes as they were at one instant. They stay on the host of their Sandbox, and outlive it. */
export interface Snapshots {
  /**
   * Copies the volume of a Sandbox, which may run: its writers wait meanwhile. One that is there already stays as it is. `VOLUME_MISSING`: the Sandbox
   * has no volume there. `memory`: also the memory and the processes of its machine, of the same instant; `MEMORY_LOST`: no machine runs or sleeps
   * there.
   */
  readonly capture: (
    snapshotId: string,
    sandboxId: string,
    memory?: boolean
  ) => Effect.Effect<CapturedSnapshot, RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported>
  /**
   * Replaces the volume of a Sandbox that does not run by a copy of the snapshot, whole or not at all, and only grows it. `generation`: the one that has
   * ended. Where the snapshot has memory, the next boot goes on with it if it has the same sizes and network on the same build of the driver. A volume that was replaced after that generation or a later one, or that a later one runs on, stays as it is. `SNAPSHOT_MISSING` and
   * `VOLUME_MISSING`: one of the two is not there. `HOST_FULL`: the disk has no room for a second volume.
   */
  readonly restore: (
    snapshotId: string,
    sandboxId: string,
    generation: number
  ) => Effect.Effect<void, RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported>
  /** The content of a snapshot that is there. `SNAPSHOT_MISSING`: it is not. A consumer that stops early returns the iterator. */
  readonly read: (
    snapshotId: string,
    hostId: string | null
  ) => Effect.Effect<SnapshotImage, RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported>
  /**
   * Stores an image of elsewhere until `accept`, and returns its host as `capture` does. Where `pieces` throws, it leaves nothing. For ten minutes the
   * inventory does not list what was received: a snapshot is inserted meanwhile, or `remove` is called. One that was accepted stays as it is.
   * `kind`: of the Sandboxes that can use it.
   */
  readonly receive: (
    snapshotId: string,
    image: SnapshotImage,
    kind: "vm" | "namespace"
  ) => Effect.Effect<Pick<CapturedSnapshot, "hostId">, RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported>
  /**
   * Makes a received image the snapshot, once its file system is whole. One that was accepted stays as it is. `SNAPSHOT_MISSING`: nothing was
   * received. `SNAPSHOT_UNUSABLE`: no Sandbox can use its content.
   */
  readonly accept: (
    snapshotId: string,
    hostId: string | null
  ) => Effect.Effect<CapturedSnapshot, RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported>
  /** Removes it, whole or unfinished. Volumes that were made of it stay. `hostId`: as `capture` said. */
  readonly remove: (snapshotId: string, hostId: string | null) => Effect.Effect<void, RuntimeUnavailable>
  /** The ids of all that this host has, whole or unfinished. */
  readonly inventory: Effect.Effect<ReadonlyArray<string>, RuntimeUnavailable>
}

/** Where an image comes from. `digest` of the manifest or index as first resolved; null: resolve the tag now. */
export interface ImageSource {
  /** Of an image that was uploaded, which no registry has: its digest. */
  readonly reference: string
  readonly digest: string | null
  readonly credentials: { readonly username: string; readonly password: Redacted.Redacted<string> } | null
}

/** `digest`: of the manifest for this host's architecture (sha256:…). `config`: what the image says of its programs' defaults. */
export interface PulledImage {
  readonly digest: string
  /** Unpacked. */
  readonly sizeBytes: number
  /** On this host. */
  readonly storedBytes: number
  readonly config: { readonly env: Readonly<Record<string, string>>; readonly workingDir: string | null }
}

export interface Images {
  /**
   * Idempotent. Refused (RuntimeRefused with a code): IMAGE_NOT_FOUND, IMAGE_UNAUTHORIZED, IMAGE_TOO_LARGE, IMAGE_UNSUPPORTED (other architecture,
   * unknown media type), IMAGE_INVALID (digests, tar tricks), IMAGE_NO_ROOM, IMAGE_ADDRESS_FORBIDDEN; RuntimeUnavailable: try again.
   */
  readonly pull: (source: ImageSource) => Effect.Effect<PulledImage, RuntimeRefused | RuntimeUnavailable>
  /**
   * Stores an archive of an image, an OCI layout in a tar, until `accept`. Where `pieces` throws, it leaves nothing. Refused: IMAGE_TOO_LARGE,
   * IMAGE_NO_ROOM, IMAGE_UNSUPPORTED (this runtime has no images). For ten minutes `uploads` does not list it: its image is inserted meanwhile.
   */
  readonly receive: (
    imageId: string,
    pieces: AsyncIterable<Uint8Array>
  ) => Effect.Effect<void, RuntimeRefused | RuntimeUnavailable>
  /** Makes the image of a received archive. Idempotent until `discard`. Refused as `pull`; IMAGE_NOT_FOUND: nothing was received. */
  readonly accept: (imageId: string) => Effect.Effect<PulledImage, RuntimeRefused | RuntimeUnavailable>
  /** Forgets a received archive, whether an image was made of it or not. */
  readonly discard: (imageId: string) => Effect.Effect<void, RuntimeUnavailable>
  /** The images that `discard` has something to forget of. */
  readonly uploads: Effect.Effect<ReadonlyArray<string>, RuntimeUnavailable>
  /** A whole image, for another host. Its pieces throw where it is gone when they are read. Refused: IMAGE_NOT_FOUND. */
  readonly read: (digest: string) => Effect.Effect<AsyncIterable<Uint8Array>, RuntimeRefused | RuntimeUnavailable>
  /**
   * Stores an image of another host. One that is here stays, and `pieces` is not read. Where `pieces` throws, it leaves nothing. Refused: IMAGE_INVALID,
   * IMAGE_TOO_LARGE, IMAGE_NO_ROOM, IMAGE_UNSUPPORTED.
   */
  readonly store: (
    digest: string,
    pieces: AsyncIterable<Uint8Array>
  ) => Effect.Effect<void, RuntimeRefused | RuntimeUnavailable>
  readonly remove: (digest: string) => Effect.Effect<void, RuntimeUnavailable>
  /** The digests of all that this host has, whole or unfinished. */
  readonly inventory: Effect.Effect<ReadonlyArray<string>, RuntimeUnavailable>
  /** Whether this host can pull images and give them to Sandboxes as their roots. */
  readonly isAble: Effect.Effect<boolean>
  /** Why no `builder` Sandbox boots on this host; null: it can. Elsewhere their boot is refused with IMAGE_UNSUPPORTED and this sentence. */
  readonly buildObstacle: Effect.Effect<PublicText | null>
}

/** What exists on this host for one Sandbox. `running`: it runs or is starting. `volume`: only its volume exists. */
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
 * A runtime that its host holds up without loss, and that continues by itself. `HOST_FULL`: the host's disk has no room for its writes;
 * `HOST_FAILED`: the disk refuses them. `resumed` is also reported for a runtime that the first check finds running.
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

/** Cumulative counters since boot; gauges for memory and volume. Null means "not measured". */
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
    /** fleet: each Sandbox is on another host, which has its own driver. */
    readonly driver: "namespace" | "qemu" | "simulated" | "fleet"
    /** The API's `runtime` field: always the truth. */
    readonly kind: "vm" | "namespace"
    readonly capabilities: {
      readonly suspend: boolean
      /** Whether snapshots can have the memory and the processes. */
      readonly memorySnapshots: boolean
      readonly networkFiltered: boolean
      /** Why no Sandbox with network can boot on this host now; null when it can. */
      readonly networkRefused: () => string | null
      /** Sentences that are printed at start: what is enforced here and what is not. */
      readonly statements: ReadonlyArray<string>
    }
    /**
     * Creates the volume if it is missing (of its snapshot; `SNAPSHOT_MISSING`: that is not here), boots this generation (or resumes a suspended one), and returns when its guest answers.
     * From a snapshot with memory it goes on with the processes that are in it; where another build of the driver saved that, it boots from the volume. Calls `turn` when
     * it no longer waits for other boots, or not at all if there is nothing to do. An interruption before that prevents the boot.
     */
    readonly provision: (
      spec: SandboxSpec,
      turn?: () => void
    ) => Effect.Effect<void, RuntimeRefused | RuntimeUnavailable>
    /**
     * Gives a running generation other sizes, as far as it takes them while it runs; `provision` gives the next one the rest. The volume never
     * shrinks. Does nothing to another generation.
     */
    readonly resize: (
      sandboxId: string,
      generation: number,
      sizes: RuntimeSizes
    ) => Effect.Effect<void, RuntimeUnavailable>
    /** Ends the runtime of this generation, or of an older one, and everything in it; keeps the volume. Leaves a newer running one alone. */
    readonly stop: (sandboxId: string, generation: number) => Effect.Effect<void, RuntimeUnavailable>
    /** Ends the runtime and removes its volume. */
    readonly destroy: (sandboxId: string) => Effect.Effect<void, RuntimeUnavailable>
    /** Suspends the running generation with its processes to disk; `provision` of the same generation wakes it. */
    readonly suspend: (
      sandboxId: string,
      generation: number
    ) => Effect.Effect<void, RuntimeUnavailable | RuntimeUnsupported>
    readonly inventory: Effect.Effect<ReadonlyArray<InventoryEntry>, RuntimeUnavailable>
    readonly snapshots: Snapshots
    readonly images: Images
    /** The guest of a running generation. Fails when that generation does not run here. Cheap, because connections are kept. */
    readonly guest: (sandboxId: string, generation: number) => Effect.Effect<Guest, GuestUnavailable>
    /**
     * The bytes of a new HTTP/2 connection to the agent of a running generation, for a caller on another machine. It is destroyed with the scope, and
     * ends with that runtime.
     */
    readonly connect: (sandboxId: string, generation: number) => Effect.Effect<Duplex, GuestUnavailable, Scope.Scope>
    readonly sample: (sandboxId: string, generation: number) => Effect.Effect<ResourceSample, RuntimeUnavailable>
    /** Every runtime of this host that ends by itself, while the stream is consumed. Starts with those that the first check finds dead. */
    readonly downs: Stream.Stream<RuntimeDown>
    /** Every runtime that its host holds up, and when it continues. */
    readonly stalls: Stream.Stream<RuntimeStall>
    /** Console output of every running Sandbox from the first byte not yet consumed by this process. */
    readonly console: Stream.Stream<ConsoleChunk>
  }
>()("atoll/runtime/Runtime") {}
