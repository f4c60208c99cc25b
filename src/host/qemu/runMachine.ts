/** Runs QEMU for a record and connects to it. On failure, everything started is ended. */
import { Effect } from "effect"
import type { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt, unavailable } from "../linux/attempt.ts"
import { networkFor } from "./LiveMachines.ts"
import { launch, takeRoomToConnect } from "./launchQemu.ts"
import { connectMachine, killProcess, type Machine } from "./Machine.ts"
import { fileMaxBytes, type MachineShape, machineArguments, type Start } from "./machineArguments.ts"
import { makeMachineCgroups, removeMachineCgroups } from "./machineCgroups.ts"
import type { QemuHost } from "./QemuHost.ts"
import type { MachineRecord, SandboxFolder } from "./SandboxFolder.ts"

export interface Run {
  readonly folder: SandboxFolder
  readonly record: MachineRecord
  readonly shape: MachineShape
  readonly start: Start
}

/** `use` brings the guest up; it receives the current record, with the processes in it. */
export const runMachine = <A>(
  host: QemuHost,
  { folder, record, shape, start }: Run,
  use: (machine: Machine, started: MachineRecord) => Effect.Effect<A, RuntimeUnavailable>
): Effect.Effect<A, RuntimeUnavailable> =>
  Effect.gen(function* () {
    const cgroups = yield* attempt("making a machine's cgroups", () => makeMachineCgroups(host.makeCgroups(), record))
    const launched = yield* attempt("starting QEMU", () =>
      launch({
        binary: host.qemu.binary,
        arguments: machineArguments(shape, { uuid: record.uuid, start }),
        folder: folder.path,
        uid: record.uid,
        accelerator: shape.accelerator,
        fileMaxBytes: fileMaxBytes(shape, host.image.rootBytes),
        // Its volume may grow while it runs.
        fileMostBytes: Math.max(fileMaxBytes(shape, host.image.rootBytes), host.volumeBytesMax),
        cgroups,
        hasImage: shape.imageDigest !== undefined,
        life: shape.network,
        outlives: true
      })
    )
    const bring = Effect.gen(function* () {
      const [network, machine] = yield* Effect.all(
        [networkFor(launched, cgroups.serves), connectMachine(folder, launched.process, host.answerTimeoutMs)],
        { concurrency: 2 }
      )
      const started = { ...record, process: launched.process, network }
      // A sleeping machine's record stays unchanged until it is awake: its saved state is the only copy.
      if (record.state === "starting") yield* attempt("writing a record", () => folder.write(started))
      const [used] = yield* Effect.all([use(machine, started), takeRoomToConnect(launched.process, record.uid)], {
        concurrency: 2
      })
      return used
    })
    const diedEarly = Effect.flatMap(
      Effect.promise(() => launched.ended),
      (said) => Effect.fail(unavailable(`QEMU ended while the machine was starting: ${said}`))
    )
    return yield* Effect.raceFirst(bring, diedEarly).pipe(
      Effect.tapError(() => Effect.ignore(killProcess(launched.process)))
    )
  }).pipe(Effect.tapError(() => Effect.promise(() => removeMachineCgroups(host.cgroups, record.uuid))))
