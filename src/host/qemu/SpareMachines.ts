/**
 * Makes the machines that are started ahead (`Spares`), and hands them over to Sandboxes. Such a Sandbox waits for neither QEMU nor the translation of
 * the guest's code, which takes most of a start under emulation. Those that a killed service left are found by their names (`spareNames.ts`).
 */

import { randomBytes, randomUUID } from "node:crypto"
import { rename } from "node:fs/promises"
import { Effect, Option, type Semaphore } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused, type RuntimeUnavailable, type SandboxSpec } from "../../runtime/Runtime.ts"
import { attempt } from "../linux/attempt.ts"
import type { HostUsers } from "../linux/HostUsers.ts"
import { hostFull } from "../linux/hostFull.ts"
import { identify } from "../linux/ProcessIdentity.ts"
import { Spares, type SparesOptions } from "../linux/Spares.ts"
import { warm } from "../linux/warm.ts"
import type { Endings } from "./Endings.ts"
import type { HostRoom, NoRoom } from "./HostRoom.ts"
import { giveName, giveNobodysIdentity, IDENTITY_TIMEOUT_MS, warmGeneration } from "./identity.ts"
import type { LiveMachines } from "./LiveMachines.ts"
import { disconnect, loadState, type Machine } from "./Machine.ts"
import type { MachineShape, Start } from "./machineArguments.ts"
import type { QemuHost } from "./QemuHost.ts"
import { runMachine } from "./runMachine.ts"
import { type MachineRecord, SandboxFolder } from "./SandboxFolder.ts"
import { spareName } from "./spareNames.ts"
import { copyRootDisk } from "./Template.ts"
import type { Templates } from "./Templates.ts"
import { ensureVolume } from "./volume.ts"

/** Commands that a spare runs before it has an owner. Afterwards most of the code for a first command is translated. */
const SPARE_WARM_RUNS = 4
const REFILL_AFTER_MS = 1_000
/** The host name before the machine has an owner. */
const HOSTNAME = "sandbox"

/** A clone with an identity except the name, warmed and paused. */
interface Spare {
  readonly machine: Machine
  readonly record: MachineRecord
}

type Options = SparesOptions<MachineShape, Spare>

export interface SpareMachinesOptions {
  readonly host: QemuHost
  /** The number for each kind of machine; 0: none. */
  readonly max: number
  readonly room: HostRoom
  readonly templates: Templates
  readonly uids: HostUsers
  readonly live: LiveMachines
  readonly endings: Endings
  /** Bounds concurrent starts. Sandboxes that start take precedence. */
  readonly permits: Semaphore.Semaphore
  readonly fork: Options["fork"]
}

export class SpareMachines {
  private readonly options: SpareMachinesOptions
  private readonly spares: Spares<MachineShape, Spare>

  constructor(options: SpareMachinesOptions) {
    this.options = options
    this.spares = new Spares({
      min: options.max,
      refillAfterMs: REFILL_AFTER_MS,
      make: (shape) => this.make(shape),
      discard: ({ machine, record }) => this.discard(machine, record),
      ended: ({ machine }) => machine.qmp.closed,
      fork: options.fork
    })
  }

  refill(shape: MachineShape): Effect.Effect<void> {
    return this.spares.refill(shape)
  }

  get close(): Effect.Effect<void> {
    return this.spares.close
  }

  /** When `start` finds no room, drops the spares and retries: a Sandbox takes precedence over machines without an owner. */
  givingWay<A>(
    start: Effect.Effect<A, NoRoom | RuntimeUnavailable>
  ): Effect.Effect<A, RuntimeRefused | RuntimeUnavailable> {
    return start.pipe(
      Effect.catchTag("NoRoom", (refused) =>
        Effect.flatMap(this.spares.drop, (madeRoom) => (madeRoom ? start : Effect.fail(refused)))
      ),
      Effect.catchTag("NoRoom", ({ detail }) =>
        Effect.andThen(Effect.logWarning(`A Sandbox was refused. ${detail}`), Effect.fail(hostFull()))
      )
    )
  }

  /** Turns a spare into this Sandbox's machine by giving it the rest of its identity. False when there is none, or it failed. */
  take(folder: SandboxFolder, spec: SandboxSpec, shape: MachineShape): Effect.Effect<boolean, RuntimeUnavailable> {
    const { host, uids, live, endings } = this.options
    const { sandboxId, generation, networkEnabled } = spec
    return Effect.gen({ self: this }, function* () {
      const spare = yield* this.spares.claim(shape)
      if (spare === null) return false
      const { machine } = spare
      const record: MachineRecord = { ...spare.record, sandboxId, generation, networkEnabled }
      const before = new SandboxFolder(host.root, spare.record.sandboxId)
      const moved = yield* attempt("handing a machine over", async () => {
        await uids.pass(record.uid, sandboxId)
        // The record comes first: after a crash at any point the folder tells what runs in it.
        await before.write(record)
        await rename(before.path, folder.path)
        await host.volumes.note(sandboxId)
      }).pipe(
        Effect.as(true),
        Effect.catchTag("RuntimeUnavailable", ({ message }) => Effect.as(Effect.logWarning(message), false))
      )
      if (!moved) {
        yield* this.discard(machine, spare.record)
        return false
      }
      return yield* giveName(machine, record).pipe(
        Effect.andThen(live.begin(folder, record, machine)),
        Effect.as(true),
        Effect.catchTag("RuntimeUnavailable", ({ message }) =>
          Effect.gen(function* () {
            yield* Effect.logWarning(`Sandbox ${sandboxId} got a spare machine that failed: ${message}`)
            yield* disconnect(machine)
            yield* endings.kill(record)
            return false
          })
        )
      )
    })
  }

  private make(shape: MachineShape): Effect.Effect<Spare, RuntimeRefused | RuntimeUnavailable> {
    const { host, room, templates, endings, permits } = this.options
    const { accelerator, vcpus, memoryBytes, volumeBytes, network } = shape
    const sandboxId = spareName(identify(process.pid)!, randomBytes(8).toString("hex"))
    const folder = new SandboxFolder(host.root, sandboxId)
    return Effect.gen(function* () {
      const record = yield* room
        .admit({
          ...{ sandboxId, generation: 0, vcpus, memoryBytes, volumeBytes, networkEnabled: network, accelerator },
          ...{ state: "starting", uuid: randomUUID(), process: null, network: null }
        })
        .pipe(Effect.catchTag("NoRoom", () => Effect.fail(hostFull())))
      const template = yield* templates.of(shape)
      yield* attempt("making a machine's disks", async () => {
        await ensureVolume(folder.file("volume"), volumeBytes, record.uid)
        await copyRootDisk(template.rootDisk, folder.file("overlay"), record.uid)
      })
      const start: Start = { type: "clone", memoryFile: template.memoryFile }
      return yield* runMachine(host, { folder, record, shape, start }, (machine, started) =>
        Effect.gen(function* () {
          yield* loadState(machine, template.stateFile, { memoryIsShared: true })
          yield* giveNobodysIdentity(machine, HOSTNAME, shape)
          yield* warm(machine.guest, SPARE_WARM_RUNS)
          yield* warmGeneration(machine)
          yield* attempt("warming a machine", () => machine.boot.name(HOSTNAME, IDENTITY_TIMEOUT_MS))
          yield* attempt("pausing a machine", () => machine.qmp.execute("stop"))
          return { machine, record: started }
        })
      )
    }).pipe(
      Effect.tapError(() => Effect.ignore(endings.remove(folder))),
      permits.withPermitsIfAvailable(1),
      Effect.flatMap(
        Option.match({
          onNone: () =>
            new RuntimeRefused({ code: "HOST_FULL", message: publicText`Too many Sandboxes are starting now.` }),
          onSome: Effect.succeed
        })
      )
    )
  }

  private discard(machine: Machine, record: MachineRecord): Effect.Effect<void> {
    const { host, endings } = this.options
    return Effect.andThen(
      disconnect(machine),
      Effect.ignore(endings.remove(new SandboxFolder(host.root, record.sandboxId)))
    )
  }
}
