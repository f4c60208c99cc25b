/** Checks what Sandboxes would have on this host, with the drivers' own probes where these boot nothing. */
import { access, constants } from "node:fs/promises"
import { Effect } from "effect"
import type { SettingsShape } from "../../Config.ts"
import { type CgroupHost, detectCgroups } from "../../host/linux/cgroups.ts"
import { flowObstacle } from "../../host/linux/flowBound.ts"
import { lxcfsViews } from "../../host/linux/limitViews.ts"
import { nearestFolder } from "../../host/linux/nearestFolder.ts"
import { missingPackages } from "../../host/linux/programs.ts"
import { hasReflinks } from "../../host/linux/reflinks.ts"
import { buildObstacle } from "../../host/namespace/buildObstacle.ts"
import { imageObstacle } from "../../host/namespace/imageObstacle.ts"
import { networkObstacle, probe as probeNamespaces } from "../../host/namespace/probe.ts"
import { emulationReason } from "../../host/qemu/Accelerator.ts"
import { findBaseImage } from "../../host/qemu/image/BaseImage.ts"
import { diskImageObstacle } from "../../host/qemu/MachineImages.ts"
import { findQemu } from "../../host/qemu/QemuBuild.ts"
import { type Finding, fine, limited, missing } from "./Finding.ts"
import { poolFinding, sharesInPool } from "./poolFinding.ts"

const isUsable = (path: string): Promise<boolean> =>
  access(path, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false
  )

export const cgroupFinding = ({ enforced, v1, v2 }: CgroupHost, isRoot: boolean): Finding => {
  const controllers = { memory: enforced.memory, processes: enforced.pids, CPU: enforced.cpu }
  const named = (wanted: boolean) =>
    Object.entries(controllers)
      .filter(([, holds]) => holds === wanted)
      .map(([name]) => name)
      .join(", ")
  const versions =
    [...(Object.keys(v1).length > 0 ? ["v1"] : []), ...(v2 === null ? [] : ["v2"])].join(" and ") || "none"
  const loose = named(false)
  return loose === "" && isRoot
    ? fine("cgroups", `Limits of ${named(true)} are enforced (cgroups ${versions}).`)
    : limited(
        "cgroups",
        `Limits of ${isRoot ? loose : "memory, processes, CPU"} are not enforced (writable cgroups: ${isRoot ? versions : "none without root"}).`,
        isRoot
          ? "In a container: run it with --privileged --cgroupns=host and /sys/fs/cgroup writable; else boot with systemd.unified_cgroup_hierarchy=1."
          : "Start Atoll as root: sudo -E npm run up"
      )
}

const volumeFinding = async (isRoot: boolean): Promise<Finding> => {
  if (!isRoot)
    return limited(
      "volumes",
      "A volume's size is not enforced without root.",
      "Start Atoll as root: sudo -E npm run up"
    )
  const packages = missingPackages({ "mkfs.ext4": "e2fsprogs", mount: "mount" })
  if (packages.length > 0) return missing("volumes", "Volumes cannot be made.", `apt-get install ${packages.join(" ")}`)
  return (await isUsable("/dev/loop-control"))
    ? fine("volumes", "A volume's size is enforced: each is an ext4 image on a loop device.")
    : limited(
        "volumes",
        "A volume's size is not enforced: there is no /dev/loop-control.",
        "modprobe loop, or pass /dev/loop-control and the loop devices into this container."
      )
}

const imageFinding = async (isRoot: boolean, hasMachines: boolean): Promise<Finding> => {
  const obstacle = await imageObstacle(isRoot && (await isUsable("/dev/loop-control")))
  if (obstacle === null) return fine("images", "Sandboxes can start from images of registries.")
  const byMachines = hasMachines && diskImageObstacle() === null
  const found = byMachines ? `Only virtual machines can start from images. ${obstacle.found}` : obstacle.found
  return limited("images", found, obstacle.mend)
}

/** Null: no image can be had, which is a finding already. */
const buildFinding = async (isRoot: boolean): Promise<Finding | null> => {
  if ((await imageObstacle(isRoot && (await isUsable("/dev/loop-control")))) !== null) return null
  const obstacle = await buildObstacle(detectCgroups("atoll", false).enforced.pids)
  return obstacle === null
    ? fine("builds", "Sandboxes can build Dockerfiles: a trial of their users succeeded.")
    : limited("builds", obstacle.found, obstacle.mend)
}

/** @param reflinks Null: it cannot be known. */
export const snapshotFinding = (isRoot: boolean, dataDir: string, reflinks: boolean | null): Finding => {
  if (!isRoot)
    return limited(
      "snapshots",
      "Namespace Sandboxes have no snapshots without root.",
      "Start Atoll as root: sudo -E npm run up"
    )
  if (reflinks === null)
    return limited(
      "snapshots",
      `Nothing can be written to ${dataDir}, so it is not known whether it has reflinks.`,
      "Set ATOLL_DATA_DIR to a folder of this user, or run as its owner."
    )
  return fine(
    "snapshots",
    reflinks
      ? `Volumes in ${dataDir} have reflinks: a snapshot takes milliseconds, and room only for what changes.`
      : `Volumes in ${dataDir} have no reflinks: a snapshot copies all data of its volume, and the Sandbox's writers wait meanwhile. XFS and btrfs have them.`
  )
}

const networkFinding = (): Finding => {
  const obstacle = networkObstacle()
  if (obstacle !== null) return limited("network", "Sandboxes cannot have network here.", `${obstacle}.`)
  const uncounted = flowObstacle()
  return uncounted === null
    ? fine("network", "Sandboxes with network reach the internet, and neither this host nor private ranges.")
    : limited("network", "One Sandbox can fill this host's table of tracked connections.", `${uncounted}.`)
}

const viewFinding = (): Finding =>
  lxcfsViews().length > 0
    ? fine("lxcfs", "free, top and nproc inside a Sandbox show its own limits.")
    : limited("lxcfs", "free and top inside a Sandbox show the host.", "apt-get install lxcfs, and start it")

/** Null when everything for booting machines is present. */
const machineObstacle = async (settings: SettingsShape) => {
  if (process.platform !== "linux" || process.arch !== "x64")
    return {
      found: `Virtual machines need Linux on x86-64, and this is ${process.platform} on ${process.arch}.`,
      mend: "Use another host."
    }
  const qemu = await findQemu().catch((error: Error) => error)
  if (qemu instanceof Error) return { found: "QEMU is not here.", mend: "npm run vm:image" }
  const packages = missingPackages({
    "qemu-img": "qemu-utils",
    mke2fs: "e2fsprogs",
    setpriv: "util-linux",
    unshare: "util-linux",
    prlimit: "util-linux"
  })
  if (packages.length > 0)
    return { found: "Programs that virtual machines need are not here.", mend: `apt-get install ${packages.join(" ")}` }
  return (await findBaseImage(settings.vmDir, process.version)) === null
    ? { found: "No guest image was built for virtual machines.", mend: "npm run vm:image" }
    : null
}

const hardwareMend =
  "Switch virtualization on in the firmware or for this virtual machine (nested), and modprobe kvm_intel or kvm_amd."

const hardwareFinding = async (vmDir: string): Promise<Finding> => {
  const isThere = await isUsable("/dev/kvm")
  const why = isThere ? await emulationReason(vmDir) : "/dev/kvm is not there or closed"
  return why === null
    ? fine("kvm", "Virtual machines may use the processor's virtualization (/dev/kvm).")
    : limited("kvm", `Virtual machines are emulated, several times slower: ${why}.`, hardwareMend)
}

export const sandboxFindings = Effect.fnUntraced(function* (settings: SettingsShape) {
  const { runtime } = settings
  const isRoot = process.getuid?.() === 0
  const namespaces = yield* probeNamespaces
  const machines = yield* Effect.promise(() => machineObstacle(settings))
  const isNone = runtime === "auto" && !namespaces.ok && machines !== null
  const obstacle = (driver: "namespace" | "qemu") => (isNone || runtime === driver ? missing : limited)
  const kinds: ReadonlyArray<Finding> = [
    namespaces.ok
      ? fine("namespaces", "Sandboxes run in user namespaces: a trial run of bubblewrap succeeded.")
      : obstacle("namespace")("namespaces", "Sandboxes cannot run in namespaces here.", namespaces.reason),
    machines === null
      ? fine("machines", "QEMU and a guest image are here.")
      : obstacle("qemu")("machines", machines.found, machines.mend)
  ]
  if (process.platform !== "linux") return kinds
  const builds = namespaces.ok ? yield* Effect.promise(() => buildFinding(isRoot)) : null
  return [
    ...kinds,
    ...(machines === null ? [yield* Effect.promise(() => hardwareFinding(settings.vmDir))] : []),
    cgroupFinding(detectCgroups("atoll", false), isRoot),
    yield* Effect.promise(() => volumeFinding(isRoot)),
    yield* Effect.promise(() => poolFinding(settings)),
    yield* Effect.promise(async () => {
      const { dataDir } = settings
      const shares = async () => (await sharesInPool(settings)) || (await hasReflinks(nearestFolder(dataDir)))
      return snapshotFinding(isRoot, dataDir, isRoot ? await shares() : null)
    }),
    yield* Effect.promise(() => imageFinding(isRoot, machines === null)),
    ...(builds === null ? [] : [builds]),
    networkFinding(),
    viewFinding()
  ]
})
