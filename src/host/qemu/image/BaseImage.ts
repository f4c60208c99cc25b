/**
 * A base image: kernel, root disk and initramfs parts. `build.ts` makes it from Debian packages and the C programs of `../guest` and
 * `../../linux/native`. It has no agent, so a new agent needs no new image; `initramfs.ts` adds the agent at start.
 */
import { createHash } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { recipe } from "./recipe.ts"

export interface BaseImage {
  /** `<recipe digest>-<digest of the package versions>`: identifies the content. */
  readonly id: string
  readonly folder: string
  readonly builtAt: string
  readonly nodeVersion: string
}

export const imagesFolder = (vmFolder: string): string => `${vmFolder}/images`

export const prepareScript = fileURLToPath(new URL("./prepare.sh", import.meta.url))

/** Runs inside the new root, once Node is there. */
export const agentProgramsScript = fileURLToPath(new URL("./agentPrograms.sh", import.meta.url))

const sourcesAt = (...names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.map((name) => fileURLToPath(new URL(name, import.meta.url)))

/** One C file for each program, and the header that they share, by the folder of the image that has the programs. */
export const programSources = {
  /** Of the guest. */
  programs: sourcesAt(
    "../guest/boot.c",
    "../guest/relay.c",
    "../guest/settime.c",
    "../../linux/native/mountimage.c",
    "../../linux/native/spawner.c",
    "../../linux/native/ticks.c",
    "../../linux/native/system.h"
  ),
  /** Of the host alone. No guest gets them: they are made for a comparison with those beside their sources. */
  hostPrograms: sourcesAt(
    "../../linux/native/clonevolume.c",
    "../../linux/native/freezevolume.c",
    "../../linux/native/givevolume.c",
    "../../linux/native/idmapmount.c",
    "../../linux/native/system.h"
  )
} as const

const digest = (parts: ReadonlyArray<string | Buffer>): string => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part).update("\0")
  return hash.digest("hex").slice(0, 12)
}

/** A digest of everything that determines the build, except package versions. */
export const recipeDigest = async (nodeVersion: string): Promise<string> =>
  digest([
    JSON.stringify(recipe),
    ...(await Promise.all(
      [prepareScript, agentProgramsScript, ...Object.values(programSources).flat()].map((path) => readFile(path))
    )),
    nodeVersion
  ])

export const packagesDigest = (packages: Buffer): string => digest([packages])

/** The newest complete image of the current recipe, or null. */
export const findBaseImage = async (vmFolder: string, nodeVersion: string): Promise<BaseImage | null> => {
  const prefix = `${await recipeDigest(nodeVersion)}-`
  const names = await readdir(imagesFolder(vmFolder)).catch(() => [])
  const found: Array<BaseImage> = []
  for (const id of names.filter((name) => name.startsWith(prefix) && !name.endsWith(".partial"))) {
    const folder = `${imagesFolder(vmFolder)}/${id}`
    const manifest = await readFile(`${folder}/manifest.json`, "utf8").catch(() => null)
    if (manifest === null) continue
    const { builtAt } = JSON.parse(manifest) as { builtAt: string }
    found.push({ id, folder, builtAt, nodeVersion })
  }
  found.sort((a, b) => b.builtAt.localeCompare(a.builtAt))
  return found[0] ?? null
}
