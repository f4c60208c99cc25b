/**
 * Builds the initramfs of a guest: the base image's busybox, kernel modules and programs, and everything of Atoll that runs in the guest (the scripts
 * of `../guest`, the agent). It is made at start, because the agent changes more often than Debian does.
 */
import { readdir, readFile } from "node:fs/promises"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { quoted } from "../../linux/shellQuoted.ts"
import type { BaseImage } from "./BaseImage.ts"
import { type CpioEntry, cpioArchive, directory, executable, plainFile } from "./cpio.ts"

const guestFile = (name: string): Promise<Buffer> =>
  readFile(fileURLToPath(new URL(`../guest/${name}`, import.meta.url)))

/** Exported shell variables, one per line. The values come from Atoll, never from a customer. */
const environmentFile = (environment: Readonly<Record<string, string>>): Buffer =>
  Buffer.from(
    Object.entries(environment)
      .map(([name, value]) => `export ${name}=${quoted(value)}\n`)
      .join("")
  )

export const makeInitramfs = async (
  image: BaseImage,
  agent: { readonly fileName: string; readonly bundle: Buffer; readonly environment: Readonly<Record<string, string>> }
): Promise<Buffer> => {
  const busybox = await readFile(`${image.folder}/busybox`)
  const parts = async (kind: "modules" | "programs", entry: (name: string, content: Buffer) => CpioEntry) => {
    const names = (await readdir(`${image.folder}/${kind}`)).sort()
    return Promise.all(names.map(async (name) => entry(name, await readFile(`${image.folder}/${kind}/${name}`))))
  }
  const modules = await parts("modules", (name, content) => plainFile(`modules/${name}`, content))
  const programs = await parts("programs", (name, content) => executable(`atoll/${name}`, content))
  const scripts: Array<CpioEntry> = []
  for (const name of ["sysinit.sh", "imageRoot.sh", "boot.sh", "agent.sh"])
    scripts.push(executable(`atoll/${name}`, await guestFile(name)))
  return cpioArchive([
    ...["bin", "dev", "proc", "root", "modules", "atoll"].map(directory),
    executable("init", await guestFile("init.sh")),
    executable("bin/busybox", busybox),
    ...modules,
    ...scripts,
    plainFile("atoll/inittab", await guestFile("inittab")),
    plainFile("atoll/agent.env", environmentFile(agent.environment)),
    plainFile(`atoll/agent${extname(agent.fileName)}`, agent.bundle),
    ...programs,
    executable("atoll/busybox", busybox),
    executable("atoll/init", busybox)
  ])
}
