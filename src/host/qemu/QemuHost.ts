/** The machine facilities of this host, found and prepared once at start. */
import { chmod, mkdir } from "node:fs/promises"
import { Effect, Schema } from "effect"
import type { SettingsShape } from "../../Config.ts"
import { type CgroupHost, detectCgroups, NO_CGROUPS } from "../linux/cgroups.ts"
import { flowStatement } from "../linux/flowBound.ts"
import { missingPackages } from "../linux/programs.ts"
import { VolumeRegister } from "../linux/VolumeRegister.ts"
import { type Choice, chooseAccelerator } from "./Accelerator.ts"
import { prepareGuestImage } from "./GuestImage.ts"
import { HostTicks } from "./HostTicks.ts"
import { findBaseImage } from "./image/BaseImage.ts"
import { instanceOf } from "./instanceOf.ts"
import type { MachineShape } from "./machineArguments.ts"
import { findQemu, type runtimePackages } from "./QemuBuild.ts"
import type { TemplateHost } from "./Template.ts"

/** This host cannot run virtual machines. The message says what is missing and how to fix it. */
export class MachinesUnusable extends Schema.TaggedError<MachinesUnusable>()("MachinesUnusable", {
  message: Schema.String
}) {}

export interface QemuHost extends TemplateHost {
  /** Folder of the Sandboxes' machines. */
  readonly root: string
  readonly volumes: VolumeRegister
  readonly choice: Choice
  /** The machines' cgroups, as root. */
  readonly cgroups: CgroupHost
  /** The same, created again if another process of this data folder removed them while they were empty. */
  readonly makeCgroups: () => CgroupHost
  /** Null when machines can have a network; otherwise one sentence. */
  readonly networkObstacle: string | null
  readonly isRoot: boolean
  /** The operator's bound. */
  readonly volumeBytesMax: number
  /** The first user id for machines; null: the service's user. */
  readonly firstUid: number | null
}

const PROGRAMS: Readonly<Record<string, (typeof runtimePackages)[number]>> = {
  "qemu-img": "qemu-utils",
  mke2fs: "e2fsprogs",
  setpriv: "util-linux",
  unshare: "util-linux",
  prlimit: "util-linux"
}

const findNetworkObstacle = (isRoot: boolean): string | null => {
  if (!isRoot) return "the service is not root, and joining a machine's network namespace needs it"
  const missing = missingPackages({ slirp4netns: "slirp4netns", ip: "iproute2", tc: "iproute2", nsenter: "util-linux" })
  return missing.length === 0 ? null : `missing on this host: apt-get install ${missing.join(" ")}`
}

export const shapeOf = (settings: SettingsShape, network: boolean): Omit<MachineShape, "accelerator"> => ({
  vcpus: settings.sandboxVcpus,
  memoryBytes: settings.sandboxMemoryBytes,
  volumeBytes: settings.volumeBytes,
  network
})

/** Whether it has the sizes of the spares. A spare's cgroup has whole vCPUs, so it suits no Sandbox with a part of one. */
export const hasSpareSizes = (
  { sandboxVcpus, sandboxMemoryBytes, volumeBytes }: SettingsShape,
  sizes: Pick<MachineShape, "vcpus" | "memoryBytes" | "volumeBytes">
): boolean =>
  Number.isInteger(sizes.vcpus) &&
  sizes.vcpus === sandboxVcpus &&
  sizes.memoryBytes === sandboxMemoryBytes &&
  sizes.volumeBytes === volumeBytes

/** Inspects and prepares the host. Boots a guest once if no guest of this build has booted here before. */
export const openQemuHost = (settings: SettingsShape): Effect.Effect<QemuHost, MachinesUnusable> =>
  Effect.gen(function* () {
    const found = yield* Effect.tryPromise({
      try: async () => {
        if (process.platform !== "linux" || process.arch !== "x64") {
          throw new Error(`The VM runtime needs Linux on x86-64, and this is ${process.platform} on ${process.arch}.`)
        }
        const qemu = await findQemu()
        const missing = missingPackages(PROGRAMS)
        if (missing.length > 0) {
          throw new Error(`Programs are missing on this host: apt-get install ${missing.join(" ")}.`)
        }
        const base = await findBaseImage(settings.vmDir, process.version)
        if (base === null) throw new Error("No guest image was built yet: npm run vm:image (half a minute).")
        const isRoot = process.getuid?.() === 0
        const image = await prepareGuestImage(settings.vmDir, base, { processesMax: settings.sandboxProcesses })
        const uid = isRoot ? settings.vmUidFirst : null
        const root = `${settings.dataDir}/runtime/qemu`
        await mkdir(root, { recursive: true })
        if (isRoot) for (const folder of [root, `${settings.dataDir}/runtime`]) await chmod(folder, 0o711)
        return {
          vmFolder: settings.vmDir,
          qemu,
          image,
          ticks: new HostTicks(image.ticks, uid),
          uid,
          firstUid: isRoot ? settings.vmUidFirst + 1 : null,
          root,
          volumes: new VolumeRegister(root),
          isRoot,
          volumeBytesMax: settings.volumeBytesMax,
          cgroups: isRoot ? detectCgroups(instanceOf(root), true) : NO_CGROUPS,
          makeCgroups: () => (isRoot ? detectCgroups(instanceOf(root), true) : NO_CGROUPS),
          networkObstacle: findNetworkObstacle(isRoot),
          answerTimeoutMs: settings.vmAnswerTimeoutMs
        }
      },
      catch: (cause) => new MachinesUnusable({ message: cause instanceof Error ? cause.message : String(cause) })
    })
    const choice = yield* chooseAccelerator(found, shapeOf(settings, false))
    return { ...found, choice }
  })

/** One sentence for each property that holds or does not hold on this host. */
export const statementsOf = (host: QemuHost): ReadonlyArray<string> => [
  `Every Sandbox is its own virtual machine (${host.qemu.version.replace("QEMU emulator version ", "QEMU ")}).`,
  host.choice.statement,
  host.qemu.clones
    ? "Machines start as copy-on-write clones of a template, and can sleep on disk."
    : "This QEMU is older than 8.2: every start is a full boot of several seconds, and machines cannot sleep. Install a newer one (bookworm-backports).",
  host.isRoot
    ? "Each QEMU runs as its own user, without capabilities, in an empty network namespace, with its system calls filtered."
    : "Every QEMU runs as the service's own user, with its system calls filtered: run the service as root to give each its own.",
  host.cgroups.enforced.cpu || host.cgroups.enforced.memory
    ? "QEMU and its network are bounded by cgroups, beside what the machine itself has."
    : "QEMU's own use of processors and memory is not bounded: no writable cgroup controller on this host.",
  "A volume's size is enforced: it is a separate disk. Memory and processors are the machine's own.",
  host.networkObstacle === null
    ? "Network is filtered outside the machine: this host, private and link-local addresses are unreachable; there is no IPv6."
    : `Machines have no network, whatever was asked: ${host.networkObstacle}.`,
  ...(host.networkObstacle === null ? [flowStatement()] : [])
]
