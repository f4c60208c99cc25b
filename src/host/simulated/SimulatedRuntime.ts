/** An in-memory, deterministic runtime with faults on demand: for tests and benches only, refused in production. */
import { Effect, Layer, Stream } from "effect"
import { GuestUnavailable } from "../../runtime/Guest.ts"
import {
  type ResourceSample,
  Runtime,
  RuntimeRefused,
  type RuntimeSizes,
  RuntimeUnavailable,
  type SandboxSpec
} from "../../runtime/Runtime.ts"
import { onlyUnavailable } from "./onlyUnavailable.ts"
import { simulatedGuest } from "./SimulatedGuest.ts"
import { type SimulatedMachine, SimulatedWorld } from "./SimulatedWorld.ts"
import { simulatedImages } from "./simulatedImages.ts"
import { simulatedSnapshots, snapshotMissing } from "./simulatedSnapshots.ts"

const notMeasured: ResourceSample = {
  cpuSeconds: null,
  memoryBytes: null,
  volumeBytes: null,
  networkRxBytes: null,
  networkTxBytes: null
}

const resized = (machine: SimulatedMachine, { vcpus, memoryBytes, volumeBytes }: RuntimeSizes): void => {
  machine.spec = { ...machine.spec, vcpus, memoryBytes, volumeBytes }
}

const resizing =
  (world: SimulatedWorld): Runtime["Service"]["resize"] =>
  (sandboxId, generation, sizes) =>
    Effect.gen(function* () {
      yield* Effect.mapError(world.intercept("resize", sandboxId), onlyUnavailable)
      const machine = world.machines.get(sandboxId)
      if (machine?.spec.generation === generation) resized(machine, sizes)
    })

const bootedMachine = (spec: SandboxSpec): SimulatedMachine => ({
  spec,
  state: "running",
  processes: new Map(),
  starts: new Map(),
  ended: new Set(),
  lateStarts: [],
  waiting: new Set(),
  listeners: new Map(),
  files: new Map(),
  tunnels: new Set()
})

const inventoryOf = (world: SimulatedWorld): Runtime["Service"]["inventory"] =>
  Effect.suspend(() => world.intercept("inventory", "")).pipe(
    Effect.mapError(onlyUnavailable),
    Effect.map(() =>
      [...new Set([...world.volumes, ...world.machines.keys()])].map((sandboxId) => {
        const machine = world.machines.get(sandboxId)
        return machine === undefined
          ? { sandboxId, state: "volume" as const, generation: null }
          : { sandboxId, state: machine.state, generation: machine.spec.generation }
      })
    )
  )

export const simulatedRuntime = (world: SimulatedWorld) =>
  Runtime.of({
    driver: "simulated",
    kind: "namespace",
    capabilities: {
      suspend: true,
      get memorySnapshots() {
        return world.keepsMemory
      },
      networkFiltered: false,
      networkRefused: () => world.networkRefused,
      statements: ["Simulated machines: nothing is isolated and nothing is real."]
    },
    provision: Effect.fnUntraced(function* (spec, turn) {
      yield* world.intercept("turn", spec.sandboxId)
      turn?.()
      yield* world.intercept("provision", spec.sandboxId)
      if (spec.builder === true && world.buildObstacle !== null)
        return yield* new RuntimeRefused({ code: "IMAGE_UNSUPPORTED", message: world.buildObstacle })
      const running = world.machines.get(spec.sandboxId)
      if (running !== undefined && running.spec.generation > spec.generation) return
      if (!world.volumes.has(spec.sandboxId) && spec.snapshotId !== undefined) {
        if (!world.snapshots.has(spec.snapshotId)) return yield* snapshotMissing()
        world.origins.set(spec.sandboxId, spec.snapshotId)
      }
      if (spec.image !== undefined && !world.images.has(spec.image.digest))
        yield* simulatedImages(world).pull(spec.image)
      world.volumes.add(spec.sandboxId)
      if (running?.spec.generation === spec.generation) {
        running.state = "running"
        resized(running, spec)
        return
      }
      world.end(spec.sandboxId)
      world.machines.set(spec.sandboxId, bootedMachine(spec))
      world.boots.push(`${spec.sandboxId}#${spec.generation}`)
    }),
    stop: (sandboxId, generation) =>
      world.intercept("stop", sandboxId).pipe(
        Effect.mapError(onlyUnavailable),
        Effect.andThen(
          Effect.sync(() => {
            const running = world.machines.get(sandboxId)
            if (running === undefined || running.spec.generation <= generation) world.end(sandboxId)
          })
        )
      ),
    destroy: (sandboxId) =>
      world.intercept("destroy", sandboxId).pipe(
        Effect.mapError(onlyUnavailable),
        Effect.andThen(
          Effect.sync(() => {
            world.end(sandboxId)
            world.volumes.delete(sandboxId)
            world.origins.delete(sandboxId)
            world.restored.delete(sandboxId)
          })
        )
      ),
    resize: resizing(world),
    suspend: (sandboxId, generation) =>
      world.intercept("suspend", sandboxId).pipe(
        Effect.mapError(onlyUnavailable),
        Effect.andThen(
          Effect.suspend(() => {
            const machine = world.machines.get(sandboxId)
            if (machine?.spec.generation !== generation) {
              return Effect.fail(new RuntimeUnavailable({ message: "That generation does not run." }))
            }
            machine.state = "suspended"
            return Effect.void
          })
        )
      ),
    inventory: inventoryOf(world),
    snapshots: simulatedSnapshots(world),
    images: simulatedImages(world),
    guest: (sandboxId, generation) =>
      world.intercept("guest", sandboxId).pipe(
        Effect.mapError(({ message }) => new GuestUnavailable({ message })),
        Effect.andThen(
          Effect.suspend(() => {
            const machine = world.machines.get(sandboxId)
            return machine?.spec.generation === generation && machine.state === "running"
              ? Effect.succeed(simulatedGuest(world, machine))
              : Effect.fail(new GuestUnavailable({ message: `Generation ${generation} of ${sandboxId} does not run.` }))
          })
        )
      ),
    connect: () => Effect.fail(new GuestUnavailable({ message: "A simulated machine has no agent." })),
    sample: () => Effect.succeed(notMeasured),
    downs: Stream.fromPubSub(world.downs),
    stalls: Stream.fromPubSub(world.stalls),
    console: Stream.fromPubSub(world.console)
  })

export const layer = Layer.effect(Runtime, Effect.map(SimulatedWorld.make, simulatedRuntime))
export const layerWorld = (world: SimulatedWorld) => Layer.succeed(Runtime, simulatedRuntime(world))
