/**
 * Keeps the cache of templates and initramfs bounded: every change of the agent, of QEMU or of a size makes new ones of some 130 MiB.
 *
 * A running machine keeps what it has mapped, and a sleeping one needs nothing of its template, so only starts that are under way could
 * miss what is removed; hence the age.
 */
import { readdir, rm, stat } from "node:fs/promises"

const KEPT = 8
const UNUSED_MS = 3_600_000

const removeOldest = async (folder: string, stampOf: (name: string) => string): Promise<void> => {
  const found: Array<{ readonly path: string; readonly usedAt: number }> = []
  for (const name of await readdir(folder).catch(() => [])) {
    const stamp = await stat(stampOf(name)).catch(() => stat(`${folder}/${name}`).catch(() => null))
    if (stamp !== null) found.push({ path: `${folder}/${name}`, usedAt: stamp.mtimeMs })
  }
  found.sort((a, b) => b.usedAt - a.usedAt)
  for (const { path, usedAt } of found.slice(KEPT)) {
    if (Date.now() - usedAt > UNUSED_MS) await rm(path, { recursive: true, force: true })
  }
}

/** What was cut off by a crash is removed likewise. */
export const removeUnused = async (vmFolder: string): Promise<void> => {
  await removeOldest(`${vmFolder}/templates`, (name) => `${vmFolder}/templates/${name}/template.json`)
  await removeOldest(`${vmFolder}/initramfs`, (name) => `${vmFolder}/initramfs/${name}`)
}
