/**
 * Keeps the cache of images, templates and initramfs bounded: every change of the agent, of QEMU or of a size makes new templates of some 130 MiB,
 * every change of the recipe a new image of several hundred.
 *
 * A running machine keeps what it has opened, and a sleeping one needs nothing of its template, so only starts that are under way could
 * miss a template that is removed; hence its age. What sleeps needs its image, whichever Atoll of this host it belongs to; after the images' longer
 * age it does not wake, and is stopped with the reason.
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

/** The image counts as used now. */
export const noteImageUse = async (folder: string): Promise<void> => {
  const now = new Date()
  // Another user's image may be read and not be touched.
  await utimes(`${folder}/manifest.json`, now, now).catch(() => {})
}

/** What was cut off by a crash is removed likewise. */
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
