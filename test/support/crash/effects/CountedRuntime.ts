/** The simulated runtime for one run of the service: each call is an effect before it is done and after, each frame of a guest before it arrives. */
import { Effect, Stream } from "effect"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import type { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import type { Guest, GuestFiles, GuestProcesses } from "../../../../src/runtime/Guest.ts"
import type { Images, Runtime, Snapshots } from "../../../../src/runtime/Runtime.ts"
import type { FileModel } from "../../files/FileModel.ts"
import { type ModelVolumes, modelFiles } from "./ModelVolumes.ts"

/** Goes on, or never does. */
export type Pass = (effect: string) => Effect.Effect<void>

const around =
  (pass: Pass, call: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    pass(`before ${call}`).pipe(
      Effect.andThen(effect),
      Effect.tap(() => pass(`after ${call}`))
    )

const countedProcesses = (processes: GuestProcesses, pass: Pass): GuestProcesses => {
  const framed = <A extends { readonly type: string }, E>(frames: Stream.Stream<A, E>): Stream.Stream<A, E> =>
    Stream.mapEffect(frames, (frame) => Effect.as(pass(`before frame ${frame.type}`), frame))
  return {
    ...processes,
    start: (key, spec) => around(pass, "start")(processes.start(key, spec)),
    kill: (key, options) => around(pass, "kill")(processes.kill(key, options)),
    forget: (key) => around(pass, "forget")(processes.forget(key)),
    acknowledge: (key, upTo) => around(pass, "acknowledge")(processes.acknowledge(key, upTo)),
    execute: (key, spec) => around(pass, "execute")(processes.execute(key, spec)),
    endOne: (process, options) => around(pass, "endOne")(processes.endOne(process, options)),
    attach: (key, from) => Stream.unwrap(Effect.as(pass("before attach"), framed(processes.attach(key, from)))),
    run: (key, spec) => Stream.unwrap(Effect.as(pass("before run"), framed(processes.run(key, spec))))
  }
}

const countedFiles = (files: GuestFiles, pass: Pass): GuestFiles => ({
  ...files,
  write: (path, body) => around(pass, "write")(files.write(path, body)),
  edit: (path, edit) => around(pass, "edit")(files.edit(path, edit)),
  createDirectory: (path, options) => around(pass, "createDirectory")(files.createDirectory(path, options)),
  rename: (path, destination, options) => around(pass, "rename")(files.rename(path, destination, options)),
  remove: (path, options) => around(pass, "remove")(files.remove(path, options)),
  unpack: (path, archive, encoding) => around(pass, "unpack")(files.unpack(path, archive, encoding))
})

const countedGuest = (guest: Guest, files: GuestFiles, pass: Pass): Guest => ({
  ...guest,
  files: countedFiles(files, pass),
  processes: countedProcesses(guest.processes, pass),
  dial: (port) => around(pass, "dial")(guest.dial(port))
})

/** The files of images that travel, by their pieces. */
const travelling = new WeakMap<object, FileModel>()

const countedSnapshots = (snapshots: Snapshots, volumes: ModelVolumes, pass: Pass): Snapshots => ({
  ...snapshots,
  capture: (snapshotId, sandboxId) =>
    around(
      pass,
      "capture"
    )(
      Effect.tap(snapshots.capture(snapshotId, sandboxId), () =>
        Effect.sync(() => volumes.capture(snapshotId, sandboxId))
      )
    ),
  restore: (snapshotId, sandboxId, generation) =>
    around(
      pass,
      "restore"
    )(
      Effect.tap(snapshots.restore(snapshotId, sandboxId, generation), () =>
        Effect.sync(() => volumes.restore(sandboxId, snapshotId, generation))
      )
    ),
  read: (snapshotId, hostId) =>
    Effect.tap(snapshots.read(snapshotId, hostId), ({ pieces }) =>
      Effect.sync(() => {
        const files = volumes.imageOf(snapshotId)
        if (files !== undefined) travelling.set(pieces, files)
      })
    ),
  receive: (snapshotId, image, kind) =>
    around(
      pass,
      "receipt of a snapshot"
    )(
      Effect.tap(snapshots.receive(snapshotId, image, kind), () =>
        Effect.sync(() => volumes.receive(snapshotId, travelling.get(image.pieces)))
      )
    ),
  accept: (snapshotId, hostId) => around(pass, "acceptance of a snapshot")(snapshots.accept(snapshotId, hostId)),
  remove: (snapshotId, hostId) =>
    around(
      pass,
      "removal of an image"
    )(Effect.tap(snapshots.remove(snapshotId, hostId), () => Effect.sync(() => volumes.forgetImage(snapshotId))))
})

const countedImages = (images: Images, pass: Pass): Images => ({
  ...images,
  pull: (source) => around(pass, "pull")(images.pull(source)),
  receive: (imageId, pieces) => around(pass, "receive")(images.receive(imageId, pieces)),
  accept: (imageId) => around(pass, "accept")(images.accept(imageId)),
  discard: (imageId) => around(pass, "discard")(images.discard(imageId)),
  remove: (digest) => around(pass, "removal of a root")(images.remove(digest))
})

export const countedRuntime = (world: SimulatedWorld, volumes: ModelVolumes, pass: Pass): Runtime["Service"] => {
  const runtime = simulatedRuntime(world)
  return {
    ...runtime,
    provision: (spec, turn) =>
      around(
        pass,
        "provision"
      )(
        Effect.tap(runtime.provision(spec, turn), () =>
          Effect.sync(() => {
            if (spec.snapshotId !== undefined) volumes.make(spec.sandboxId, spec.snapshotId)
          })
        )
      ),
    snapshots: countedSnapshots(runtime.snapshots, volumes, pass),
    images: countedImages(runtime.images, pass),
    stop: (sandboxId, generation) => around(pass, "stop")(runtime.stop(sandboxId, generation)),
    destroy: (sandboxId) =>
      around(
        pass,
        "destroy"
      )(Effect.tap(runtime.destroy(sandboxId), () => Effect.sync(() => volumes.forget(sandboxId)))),
    suspend: (sandboxId, generation) => around(pass, "suspend")(runtime.suspend(sandboxId, generation)),
    guest: (sandboxId, generation) =>
      Effect.map(runtime.guest(sandboxId, generation), (guest) => {
        // One that builds has the files that its build needs.
        const isBuilder = world.machines.get(sandboxId)?.spec.builder === true
        return countedGuest(guest, isBuilder ? guest.files : modelFiles(guest, volumes.of(sandboxId)), pass)
      }),
    downs: Stream.mapEffect(runtime.downs, (down) => Effect.as(pass("before report of an end"), down))
  }
}
