/**
 * Bounds the cache of images, templates and initramfs files. Every change of the agent, of QEMU or of a size makes new templates of some 130 MiB;
 * every change of the recipe makes a new image of several hundred.
 *
 * A running machine keeps the files that it has opened, and a sleeping one does not need its template. Only a start that is under way could miss a
 * removed template; hence the minimum age. A sleeping machine of any Atoll on this host needs its image. After the longer age of images it cannot
 * wake, and is stopped with the reason.
 */
import { readdir, rm, stat, utimes } from "node:fs/promises"

interface Rule {
  readonly kept: number
  readonly unusedMs: number
}

const TEMPLATES: Rule = { kept: 8, unusedMs: 3_600_000 }
const IMAGES: Rule = { kept: 2, unusedMs: 30 * 24 * 3_600_000 }

const removeOldest = async (folder: string, rule: Rule, stampOf: (name: string) => string): Promise<void> => {
  const found: Array<{ readonly path: string; readonly usedAt: number }> = []
  for (const name of await readdir(folder).catch(() => [])) {
    const stamp = await stat(stampOf(name)).catch(() => stat(`${folder}/${name}`).catch(() => null))
    if (stamp !== null) found.push({ path: `${folder}/${name}`, usedAt: stamp.mtimeMs })
  }
  found.sort((a, b) => b.usedAt - a.usedAt)
  for (const { path, usedAt } of found.slice(rule.kept)) {
    if (Date.now() - usedAt > rule.unusedMs) await rm(path, { recursive: true, force: true })
  }
}

/** Marks the image as used now. */
export const noteImageUse = async (folder: string): Promise<void> => {
  const now = new Date()
  // An image of another user may be readable but not touchable.
  await utimes(`${folder}/manifest.json`, now, now).catch(() => {})
}

/** Also removes what a crash left incomplete. */
export const removeUnused = async (vmFolder: string): Promise<void> => {
  const { templates, initramfs, images } = {
    templates: `${vmFolder}/templates`,
    initramfs: `${vmFolder}/initramfs`,
    images: `${vmFolder}/images`
  }
  await removeOldest(templates, TEMPLATES, (name) => `${templates}/${name}/template.json`)
  await removeOldest(initramfs, TEMPLATES, (name) => `${initramfs}/${name}`)
  await removeOldest(images, IMAGES, (name) => `${images}/${name}/manifest.json`)
}
