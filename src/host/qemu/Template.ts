/**
 * A template: a machine that was booted up to its agent and then frozen. Every Sandbox starts as a copy-on-write clone of it.
 *
 * Memory, device state and root disk belong together and never change. The folder's name is a digest of all its inputs (image, agent, QEMU build,
 * devices, sizes), so a template that does not fit is not found, and a new one is made.
 *
 * @source lab.md "QEMU"
 */
import { execFile } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import {
  chmod,
  chown,
  copyFile,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  truncate,
  utimes,
  writeFile
} from "node:fs/promises"
import { promisify } from "node:util"
import { Effect, Option, Schema } from "effect"
import type { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt, unavailable } from "../linux/attempt.ts"
import { warm } from "../linux/warm.ts"
import { templateRejected } from "./clockMetrics.ts"
import type { GuestImage } from "./GuestImage.ts"
import { type Interval, measureRate, middleOf, rateVerdict, readClock } from "./guestClock.ts"
import type { HostTicks } from "./HostTicks.ts"
import { warmGeneration } from "./identity.ts"
import { launch } from "./launchQemu.ts"
import { agentAnswers, connectMachine, disconnect, killProcess, saveState } from "./Machine.ts"
import { fileMaxBytes, type MachineShape, machineArguments } from "./machineArguments.ts"
import type { QemuBuild } from "./QemuBuild.ts"
import { removeUnused } from "./removeUnused.ts"
import { SandboxFolder } from "./SandboxFolder.ts"

const execute = promisify(execFile)

/** Incremented when templates of an older version of this code must not be used. */
const REVISION = 4
/** A guest under emulation boots in 4 s on an idle host; a busy host takes several times that. */
const BOOT_TIMEOUT_MS = 90_000
/** How often the agent's code paths run before the freeze, so that clones find them compiled and in memory. */
const WARM_RUNS = 12
/** The guest's own start-up work is over by then, and the agent has made its next session (serialLink.ts). */
const SETTLE_MS = 1_000
/** A clock runs wrong in one of ten templates at worst; three in a row mean that something else is wrong with this host. */
const BUILDS_MAX = 3
/** How long a template's clock is measured. With round trips of 10 ms the whole window bounds the rate to 0.1 %, and most need a few seconds. */
const CLOCK_WINDOW = { windowMs: 20_000, everyMs: 250 }
/** The largest difference between the counter's frequencies. A template made with another frequency, for example on another host, has a wrong clock here. */
const FREQUENCY_ERROR_MAX = 0.0005

export interface Template {
  readonly key: string
  readonly memoryFile: string
  readonly stateFile: string
  /** The image's root disk as the template left it: an overlay of a megabyte, which each clone copies. */
  readonly rootDisk: string
}

export interface TemplateHost {
  readonly vmFolder: string
  readonly qemu: QemuBuild
  readonly image: GuestImage
  readonly ticks: Pick<HostTicks, "khz">
  /** The user that runs the template's machine; null: the service's user. */
  readonly uid: number | null
  /** How long QEMU may take to answer a command before it counts as hung. */
  readonly answerTimeoutMs: number
}

export const templateKey = (host: TemplateHost, shape: MachineShape): string =>
  createHash("sha256")
    .update(
      JSON.stringify([
        REVISION,
        host.qemu.version,
        host.image.id,
        shape,
        machineArguments(shape, {
          uuid: "",
          start: { type: "boot", kernel: "", initramfs: "", memoryFile: "", tscKhz: null }
        }),
        machineArguments(shape, { uuid: "", start: { type: "clone", memoryFile: "" } })
      ])
    )
    .digest("hex")
    .slice(0, 24)

const templateAt = (folder: string, key: string): Template => ({
  key,
  memoryFile: `${folder}/memory`,
  stateFile: `${folder}/state`,
  rootDisk: `${folder}/root.qcow2`
})

const templatesOf = (host: TemplateHost): string => `${host.vmFolder}/templates`

const SealedFile = Schema.fromJsonString(Schema.Struct({ tscKhz: Schema.NullOr(Schema.Number) }))
const decodeSealed = Schema.decodeUnknownOption(SealedFile)

/** True only when both frequencies are known and differ. */
const hasOtherFrequency = async (host: TemplateHost, folder: string): Promise<boolean> => {
  const text = await readFile(`${folder}/template.json`, "utf8").catch(() => "")
  const sealed = Option.getOrNull(decodeSealed(text))?.tscKhz ?? null
  if (sealed === null) return false
  const now = await host.ticks.khz()
  return now !== null && Math.abs(sealed / now - 1) > FREQUENCY_ERROR_MAX
}

/** The complete template of that key, or null. Removes a template whose frequency does not fit this host's counter. */
export const findTemplate = async (host: TemplateHost, key: string): Promise<Template | null> => {
  const folder = `${templatesOf(host)}/${key}`
  if (await hasOtherFrequency(host, folder)) {
    await rm(folder, { recursive: true, force: true })
    return null
  }
  const now = new Date()
  // Its time stamp is the time of its last use.
  const complete = await utimes(`${folder}/template.json`, now, now).then(
    () => true,
    () => false
  )
  return complete ? templateAt(folder, key) : null
}

/** Makes an overlay; its backing file need not exist yet. */
export const makeOverlay = async (path: string, backing: { path: string; format: "raw" | "qcow2"; bytes: number }) => {
  await execute("qemu-img", [
    ...["create", "-q", "-u", "-f", "qcow2", "-o", "cluster_size=64k,extended_l2=off"],
    ...["-b", backing.path, "-F", backing.format, path, String(backing.bytes)]
  ])
}

/** Copies the template's root disk. */
export const copyRootDisk = async (from: string, to: string, uid: number | null): Promise<void> => {
  await copyFile(from, to)
  await chmod(to, 0o600)
  if (uid !== null) await chown(to, uid, uid)
}

const prepareFolder = async (host: TemplateHost, shape: MachineShape, folder: SandboxFolder): Promise<void> => {
  const { uid, image } = host
  await folder.prepare(uid)
  await makeOverlay(folder.file("overlay"), { path: image.rootDisk, format: "raw", bytes: image.rootBytes })
  await folder.makeEmpty("volume", uid)
  await truncate(folder.file("volume"), shape.volumeBytes)
  for (const [name, bytes] of [
    ["memory", shape.memoryBytes],
    ["state", 0]
  ] as const) {
    const file = await open(`${folder.path}/${name}`, "wx", 0o600)
    await file.truncate(bytes)
    await file.close()
    if (uid !== null) await chown(`${folder.path}/${name}`, uid, uid)
  }
  if (uid !== null) await chown(folder.file("overlay"), uid, uid)
}

/** The clock of a sealed template: the given frequency and the measured rate. */
interface SealedClock {
  readonly tscKhz: number | null
  readonly rate: Interval
}

/** Makes the files that clones share read-only, and publishes the template. */
const seal = async (host: TemplateHost, folder: SandboxFolder, key: string, clock: SealedClock): Promise<void> => {
  const finalFolder = `${templatesOf(host)}/${key}`
  for (const name of ["memory", "state", "root.qcow2"]) {
    if (host.uid !== null) await chown(`${folder.path}/${name}`, 0, 0)
    await chmod(`${folder.path}/${name}`, 0o444)
  }
  await rm(`${folder.path}/run`, { recursive: true, force: true })
  await rm(folder.file("volume"), { force: true })
  await chmod(folder.path, 0o755)
  await writeFile(
    `${folder.path}/template.json`,
    `${JSON.stringify({ key, qemu: host.qemu.version, image: host.image.id, ...clock })}\n`
  )
  await rename(folder.path, finalFolder).catch((error: NodeJS.ErrnoException) => {
    // Another Atoll of this host has published the same template first.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error
  })
}

/** Boots a machine, warms it and freezes it. Fails when the machine does not boot, in particular with an accelerator that does not work. */
export const buildTemplate = (
  host: TemplateHost,
  shape: MachineShape,
  bootTimeoutMs = BOOT_TIMEOUT_MS
): Effect.Effect<Template, RuntimeUnavailable> =>
  Effect.gen(function* () {
    const key = templateKey(host, shape)
    for (let build = 1; build <= BUILDS_MAX; build++) {
      const rate = yield* buildOnce(host, shape, key, bootTimeoutMs)
      if (rateVerdict(rate) !== "wrong") return templateAt(`${templatesOf(host)}/${key}`, key)
      yield* templateRejected
      yield* Effect.logWarning(
        `A template's clock ran at ${middleOf(rate).toFixed(4)} of the host's and was thrown away (build ${build} of ${BUILDS_MAX}).`
      )
    }
    return yield* unavailable("The clock of every template that was built ran wrong.")
  })

/** Builds one template, and seals it unless its clock runs wrong. Succeeds with the rate of the clock. */
const buildOnce = (
  host: TemplateHost,
  shape: MachineShape,
  key: string,
  bootTimeoutMs: number
): Effect.Effect<Interval, RuntimeUnavailable> =>
  Effect.gen(function* () {
    const folder = new SandboxFolder(templatesOf(host), `partial-${randomUUID()}`)
    yield* attempt("preparing a template", async () => {
      await mkdir(templatesOf(host), { recursive: true })
      await prepareFolder(host, shape, folder)
    })
    const tscKhz = yield* Effect.promise(() => host.ticks.khz())
    return yield* Effect.gen(function* () {
      const rate = yield* freeze(host, shape, folder, bootTimeoutMs, tscKhz)
      if (rateVerdict(rate) === "wrong") return rate
      yield* attempt("sealing a template", () => seal(host, folder, key, { tscKhz, rate }))
      yield* attempt("removing old templates", () => removeUnused(host.vmFolder))
      return rate
    }).pipe(Effect.ensuring(Effect.promise(() => folder.remove().catch(() => {}))))
  })

const freeze = (
  host: TemplateHost,
  shape: MachineShape,
  folder: SandboxFolder,
  bootTimeoutMs: number,
  tscKhz: number | null
): Effect.Effect<Interval, RuntimeUnavailable> =>
  Effect.gen(function* () {
    const started = yield* attempt("starting QEMU", () =>
      launch({
        binary: host.qemu.binary,
        arguments: machineArguments(shape, {
          uuid: randomUUID(),
          start: {
            type: "boot",
            kernel: host.image.kernel,
            initramfs: host.image.initramfs,
            memoryFile: "memory",
            tscKhz
          }
        }),
        folder: folder.path,
        uid: host.uid,
        accelerator: shape.accelerator,
        fileMaxBytes: fileMaxBytes(shape, host.image.rootBytes),
        fileMostBytes: fileMaxBytes(shape, host.image.rootBytes),
        cgroups: { joins: [], startsIn: null },
        hasImage: false,
        life: false,
        // After a crash no service would know of this machine.
        outlives: false
      })
    )
    return yield* Effect.gen(function* () {
      const machine = yield* connectMachine(folder, started.process, host.answerTimeoutMs)
      yield* agentAnswers(machine, bootTimeoutMs)
      yield* warm(machine.guest, WARM_RUNS)
      yield* warmGeneration(machine)
      const rate = yield* measureRate(readClock(machine.session), CLOCK_WINDOW).pipe(
        Effect.mapError(({ message }) => unavailable(message)),
        Effect.filterOrFail(
          (measured) => measured !== null,
          () => unavailable("The guest's agent does not report its clock.")
        )
      )
      // The end of one session and the begin of the next, which each clone has first.
      machine.session.close()
      yield* agentAnswers(machine, bootTimeoutMs)
      machine.session.close()
      yield* Effect.sleep(SETTLE_MS)
      yield* attempt("stopping a template", () => machine.qmp.execute("stop"))
      yield* saveState(machine, "state", { memoryIsShared: true })
      yield* disconnect(machine)
      return rate
    }).pipe(
      Effect.raceFirst(
        Effect.flatMap(
          Effect.promise(() => started.ended),
          (said) => attempt("starting QEMU", () => Promise.reject(new Error(said)))
        )
      ),
      Effect.ensuring(Effect.ignore(killProcess(started.process)))
    )
  })
