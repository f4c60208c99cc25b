/** A base image with this Atoll's agent: what a machine boots. */
import { createHash, randomUUID } from "node:crypto"
import { mkdir, readFile, rename, utimes, writeFile } from "node:fs/promises"
import { agentBundle } from "../../runtime/agentClient/agentBundle.ts"
import type { BaseImage } from "./image/BaseImage.ts"
import { makeInitramfs } from "./image/initramfs.ts"
import { recipe } from "./image/recipe.ts"

export interface GuestImage {
  /** Identifies the content of all the files below. */
  readonly id: string
  readonly kernel: string
  readonly initramfs: string
  readonly rootDisk: string
  readonly rootBytes: number
  /** Reads the host's time stamp counter. @see HostTicks.ts */
  readonly ticks: string
}

/** The agent's settings in a guest. @source ../agent/main.ts */
const agentEnvironment = {
  ATOLL_AGENT_LISTEN: "relay:0,3",
  ATOLL_AGENT_RUN_DIR: "/run/atoll-agent",
  ATOLL_AGENT_CGROUP: "/sys/fs/cgroup/sandbox",
  ATOLL_AGENT_RUN_AS: `${recipe.user.uid}:${recipe.user.gid}`,
  ATOLL_AGENT_SPAWNER: "/run/atoll/spawner",
  ATOLL_AGENT_USER: recipe.user.name,
  ATOLL_AGENT_WORKSPACE: "/workspace"
}

/** Makes the initramfs unless an equal one exists. */
export const prepareGuestImage = async (
  vmFolder: string,
  base: BaseImage,
  options: { readonly processesMax: number }
): Promise<GuestImage> => {
  const fileName = await agentBundle(`${vmFolder}/agent`)
  const environment = { ...agentEnvironment, ATOLL_SANDBOX_PROCESSES: String(options.processesMax) }
  const archive = await makeInitramfs(base, {
    fileName,
    bundle: await readFile(fileName),
    environment
  })
  const digest = createHash("sha256").update(archive).digest("hex").slice(0, 16)
  const initramfs = `${vmFolder}/initramfs/${digest}.cpio`
  const now = new Date()
  const known = await utimes(initramfs, now, now).then(
    () => true,
    () => false
  )
  if (!known) {
    await mkdir(`${vmFolder}/initramfs`, { recursive: true })
    const partial = `${initramfs}.${randomUUID()}`
    await writeFile(partial, archive, { mode: 0o644 })
    await rename(partial, initramfs)
  }
  return {
    id: `${base.id}-${digest}`,
    kernel: `${base.folder}/vmlinux`,
    initramfs,
    rootDisk: `${base.folder}/root.ext4`,
    rootBytes: recipe.rootBytes,
    ticks: `${base.folder}/programs/ticks`
  }
}
