/** The `namespace` driver: Sandboxes as bubblewrap namespaces on this host's kernel. */
import { Effect, Layer, Schedule, Schema, Stream } from "effect"
import { Settings, type SettingsShape } from "../../Config.ts"
import { worker } from "../../platform/worker/Worker.ts"
import { GuestUnavailable } from "../../runtime/Guest.ts"
import {
  type ConsoleChunk,
  Runtime,
  type RuntimeDown,
  RuntimeRefused,
  RuntimeUnavailable,
  RuntimeUnsupported,
  type SandboxSpec,
  type Snapshots
} from "../../runtime/Runtime.ts"
import { imagesOf } from "../image/HostImages.ts"
import { ImageUnusable, snapshotUnusable } from "../linux/checkedImage.ts"
import { hostFull } from "../linux/hostFull.ts"
import { noRoomForSnapshot, noVolume, SnapshotMissing, snapshotMissing } from "../linux/SnapshotStore.ts"
import { VolumeMissing, volumeMissing } from "../linux/VolumeRegister.ts"
import { isShortage } from "./isShortage.ts"
import { NamespaceHost } from "./NamespaceHost.ts"
import { networkObstacle, probe, statementsOf } from "./probe.ts"
import type { SpareShape } from "./SpareSandboxes.ts"

/** This host cannot run Sandboxes in namespaces. The message says what is missing and how to fix it. */
export class NamespacesUnusable extends Schema.TaggedError<NamespacesUnusable>()("NamespacesUnusable", {
  message: Schema.String
}) {}

const LOOK_INTERVAL_MS = 500
const CONSOLE_INTERVAL_MS = 1_000
/** How often the networks of all Sandboxes are checked. */
const NETWORK_INTERVAL_MS = 2_000
/** How often the driver looks for spares of processes that were killed, and for those that are needed no more. */
const SPARES_INTERVAL_MS = 30_000
/** How often old versions of the Sandboxes' programs are removed. */
const PROGRAMS_INTERVAL_MS = 24 * 3_600_000
const AHEAD_AFTER_MS = 500
/** How often the driver looks for volumes that were left frozen. */
const HOLD_INTERVAL_MS = 5_000

const unavailable = (cause: unknown): RuntimeUnavailable =>
  new RuntimeUnavailable({ message: cause instanceof Error ? cause.message : String(cause) })

/** Every call completes even if its caller is interrupted: half a boot is of no use. */
const attempt = <A>(act: () => Promise<A>): Effect.Effect<A, RuntimeUnavailable> =>
  Effect.uninterruptible(Effect.tryPromise({ try: act, catch: unavailable }))

/** The same for a boot that has started. An interrupted call whose boot has not started does not wait for the boots before it. */
const provision = (host: NamespaceHost, spec: SandboxSpec, turn: (() => void) | undefined) =>
  Effect.callback<void, unknown>((resume) => {
    const wanted = new AbortController()
    const booted = host.provision(spec, turn, wanted.signal).then(
      () => resume(Effect.void),
      (cause) => resume(Effect.fail(cause))
    )
    return Effect.promise(() => {
      wanted.abort()
      return booted
    })
  })

/** Details of the host's shortage go to the operator's log only. */
const refused = (cause: unknown): Effect.Effect<never, RuntimeRefused | RuntimeUnavailable> =>
  cause instanceof RuntimeRefused || cause instanceof RuntimeUnavailable
    ? Effect.fail(cause)
    : cause instanceof VolumeMissing
      ? Effect.andThen(Effect.logError(`A Sandbox does not start: ${cause.message}`), Effect.fail(volumeMissing()))
      : cause instanceof SnapshotMissing
        ? Effect.andThen(Effect.logError(`A Sandbox does not start: ${cause.message}`), Effect.fail(snapshotMissing()))
        : isShortage(cause)
          ? Effect.andThen(Effect.logWarning(`A Sandbox was refused: ${cause.message}`), Effect.fail(hostFull()))
          : Effect.fail(unavailable(cause))

const snapshotRefused = (
  cause: unknown
): Effect.Effect<never, RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported> =>
  cause instanceof RuntimeUnsupported || cause instanceof RuntimeRefused
    ? Effect.fail(cause)
    : cause instanceof VolumeMissing
      ? Effect.fail(noVolume())
      : cause instanceof SnapshotMissing
        ? Effect.andThen(Effect.logError(`A snapshot is not used: ${cause.message}`), Effect.fail(snapshotMissing()))
        : cause instanceof ImageUnusable
          ? Effect.andThen(
              Effect.logWarning(`An imported snapshot was refused: ${cause.message}`),
              Effect.fail(snapshotUnusable())
            )
          : isShortage(cause)
            ? Effect.andThen(
                Effect.logWarning(`A snapshot was refused: ${cause.message}`),
                Effect.fail(noRoomForSnapshot())
              )
            : Effect.fail(unavailable(cause))

/** Completes even if its caller is interrupted. */
const ofSnapshot = <A>(act: () => Promise<A>) =>
  Effect.uninterruptible(Effect.tryPromise({ try: act, catch: (cause) => cause })).pipe(Effect.catch(snapshotRefused))

const snapshotsOf = ({ snapshots }: NamespaceHost): Snapshots => ({
  capture: (snapshotId, sandboxId, memory) =>
    memory === true
      ? Effect.fail(new RuntimeUnsupported({ message: "Namespaces cannot save memory" }))
      : ofSnapshot(() => snapshots.capture(snapshotId, sandboxId)),
  restore: (snapshotId, sandboxId, generation) =>
    ofSnapshot(() => snapshots.restore(snapshotId, sandboxId, generation)),
  read: (snapshotId) => ofSnapshot(() => snapshots.read(snapshotId)),
  receive: (snapshotId, image) =>
    Effect.as(
      ofSnapshot(() => snapshots.receive(snapshotId, image)),
      { hostId: null }
    ),
  accept: (snapshotId) => ofSnapshot(() => snapshots.accept(snapshotId)),
  remove: (snapshotId) => attempt(() => snapshots.remove(snapshotId)),
  inventory: attempt(() => snapshots.inventory())
})

/** Checks are aligned to whole intervals, so that they coincide and wake the process once. */
const untilEnd = (intervalMs: number): number => 1 + Math.ceil(intervalMs - (performance.now() % intervalMs))

/** Resolves after the interval, or sooner when a Sandbox may have ended. */
const pause = (host: NamespaceHost, intervalMs: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const done = () => {
      clearTimeout(timer)
      stop()
      resume(Effect.void)
    }
    const timer = setTimeout(done, untilEnd(intervalMs))
    const stop = host.watch(done)
    return Effect.sync(() => {
      clearTimeout(timer)
      stop()
    })
  })

/** Emits every ended runtime once to each consumer of the stream. */
const downs = (host: NamespaceHost): Stream.Stream<RuntimeDown> =>
  Stream.suspend(() => {
    let told = new Set<RuntimeDown>()
    let first = true
    const look = Effect.gen(function* () {
      if (!first) yield* pause(host, LOOK_INTERVAL_MS)
      first = false
      const dead = host.look()
      const fresh = dead.filter((it) => !told.has(it))
      told = new Set(dead)
      return fresh
    })
    return Stream.flattenIterable(Stream.fromEffectRepeat(look))
  })

const console = (host: NamespaceHost): Stream.Stream<ConsoleChunk> =>
  Stream.flattenIterable(
    Stream.fromEffectRepeat(
      Effect.suspend(() => {
        const chunks = host.readConsoles()
        return chunks.length > 0 ? Effect.succeed(chunks) : Effect.as(pause(host, CONSOLE_INTERVAL_MS), chunks)
      })
    )
  )

const mendNetworks = (host: NamespaceHost): Effect.Effect<void, RuntimeUnavailable> =>
  Effect.flatMap(
    attempt(() => host.mendNetworks()),
    (told) => Effect.forEach(told, (it) => Effect.logWarning(it), { discard: true })
  )

const tidySpares = (host: NamespaceHost): Effect.Effect<void> =>
  attempt(() => host.spares.endOrphans()).pipe(
    Effect.catch(({ message }) => Effect.logWarning(`The spare Sandboxes of an ended process stay: ${message}`)),
    Effect.andThen(attempt(() => host.spares.dropUnused())),
    Effect.catch(({ message }) => Effect.logWarning(`Spare Sandboxes that nothing needs stay: ${message}`))
  )

const unmountImages = (host: NamespaceHost): Effect.Effect<void> =>
  attempt(() => host.mounts.unmountUnused()).pipe(
    Effect.catch(({ message }) => Effect.logWarning(`Images that no Sandbox uses stay mounted: ${message}`))
  )

const removeOldPrograms = ({ layout }: NamespaceHost): Effect.Effect<void> =>
  attempt(() => layout.removeOldPrograms()).pipe(
    Effect.catch(({ message }) => Effect.logWarning(`Old versions of the Sandboxes' programs stay: ${message}`))
  )

const shapeFrom = (settings: SettingsShape, networkEnabled: boolean): SpareShape => ({
  vcpus: settings.sandboxVcpus,
  memoryBytes: settings.sandboxMemoryBytes,
  volumeBytes: settings.volumeBytes,
  networkEnabled
})

/** Before the first Sandbox needs one, and after the start of the service, which has more urgent work. */
const madeAhead = (host: NamespaceHost, settings: SettingsShape): Effect.Effect<void> =>
  Effect.sleep(AHEAD_AFTER_MS).pipe(
    Effect.andThen(
      Effect.forEach([false, true], (network) => attempt(() => host.prepare(shapeFrom(settings, network))), {
        discard: true
      })
    ),
    Effect.ignore
  )

const thawAbandoned = (host: NamespaceHost): Effect.Effect<void, RuntimeUnavailable> =>
  Effect.flatMap(
    attempt(() => host.thawAbandoned()),
    (thawed) =>
      Effect.forEach(
        thawed,
        (it) =>
          Effect.logWarning(`The volume of Sandbox ${it} was left frozen by a backup that was killed, and thawed.`),
        { discard: true }
      )
  )

export const layer: Layer.Layer<Runtime, NamespacesUnusable, Settings> = Layer.effect(
  Runtime,
  Effect.gen(function* () {
    const settings = yield* Settings
    const run = Effect.runPromiseWith(yield* Effect.context())
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    const found = yield* probe
    if (!found.ok) return yield* new NamespacesUnusable({ message: found.reason })
    const host = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () =>
          NamespaceHost.open({
            dataDir: settings.dataDir,
            processesMax: settings.sandboxProcesses,
            parallelStarts: settings.parallelStarts,
            diskReserveBytes: settings.diskReserveBytes,
            volumePool: settings.volumePool,
            images: { maxBytes: settings.imageBytesMax, registries: settings.imageRegistries },
            spares: settings.spares,
            sparesMax: settings.sparesMax,
            usual: shapeFrom(settings, false),
            run,
            fork
          }),
        catch: (cause) => new NamespacesUnusable({ message: unavailable(cause).message })
      }),
      (it) => Effect.promise(() => it.close())
    )
    const { poolFault } = host.layout
    if (poolFault !== null) yield* Effect.logInfo(`Copies of volumes share no blocks here: ${poolFault}`)
    yield* worker("sandbox networks", mendNetworks(host).pipe(Effect.repeat(Schedule.spaced(NETWORK_INTERVAL_MS))))
    yield* worker("spare sandboxes", tidySpares(host).pipe(Effect.repeat(Schedule.spaced(SPARES_INTERVAL_MS))))
    yield* worker("image mounts", unmountImages(host).pipe(Effect.repeat(Schedule.spaced(SPARES_INTERVAL_MS))))
    yield* worker("old programs", removeOldPrograms(host).pipe(Effect.repeat(Schedule.spaced(PROGRAMS_INTERVAL_MS))))
    yield* Effect.forkScoped(madeAhead(host, settings))
    yield* worker("volume holds", thawAbandoned(host).pipe(Effect.repeat(Schedule.spaced(HOLD_INTERVAL_MS))))
    return Runtime.of({
      driver: "namespace",
      kind: "namespace",
      capabilities: {
        suspend: false,
        memorySnapshots: false,
        networkFiltered: networkObstacle() === null,
        networkRefused: networkObstacle,
        statements: statementsOf(host.cgroups, host.layout.volumesEnforced)
      },
      provision: (spec, turn) => Effect.catch(provision(host, spec, turn), refused),
      stop: (sandboxId, generation) => attempt(() => host.stop(sandboxId, generation)),
      resize: (sandboxId, generation, sizes) => attempt(() => host.resize(sandboxId, generation, sizes)),
      destroy: (sandboxId) => attempt(() => host.destroy(sandboxId)),
      suspend: () => Effect.fail(new RuntimeUnsupported({ message: "Namespaces cannot be suspended" })),
      snapshots: snapshotsOf(host),
      images: imagesOf(host.images),
      inventory: Effect.try({ try: () => host.inventory(), catch: unavailable }),
      guest: (sandboxId, generation) =>
        Effect.suspend(() => {
          const guest = host.guest(sandboxId, generation)
          return guest === null
            ? Effect.fail(new GuestUnavailable({ message: "That generation of the Sandbox does not run" }))
            : Effect.succeed(guest)
        }),
      connect: (sandboxId, generation) =>
        Effect.acquireRelease(
          Effect.tryPromise({
            try: () => host.connect(sandboxId, generation),
            catch: (cause) => new GuestUnavailable({ message: unavailable(cause).message })
          }),
          (connection) => Effect.sync(() => connection.destroy())
        ),
      sample: (sandboxId, generation) =>
        Effect.flatMap(Effect.try({ try: () => host.sample(sandboxId, generation), catch: unavailable }), (sample) =>
          sample === null
            ? Effect.fail(new RuntimeUnavailable({ message: "That generation of the Sandbox does not run" }))
            : Effect.succeed(sample)
        ),
      downs: downs(host),
      stalls: Stream.empty,
      console: console(host)
    })
  })
)
