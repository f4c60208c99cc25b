/**
 * Builds the base image of the VM runtime from Debian packages: `npm run vm:image [-- --refresh]`.
 *
 * Runs as root, or without it where user namespaces work (with Debian's `uidmap`). Takes about half a minute; a second call finds the image and
 * returns immediately. `--refresh` builds again with today's packages; equal packages give the same files.
 */
import { spawn } from "node:child_process"
import { createWriteStream } from "node:fs"
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname } from "node:path"
import { pipeline } from "node:stream/promises"
import {
  agentProgramsScript,
  type BaseImage,
  findBaseImage,
  imagesFolder,
  packagesDigest,
  prepareScript,
  programSources,
  recipeDigest
} from "./BaseImage.ts"
import { recipe } from "./recipe.ts"
import { vmlinuxToElf } from "./vmlinux.ts"

/** Debian packages that the build needs in addition to those of a running VM. */
export const buildPackages = ["mmdebstrap", "e2fsprogs", "debian-archive-keyring"] as const

/** The pinned npm: Debian's would bring four hundred packages. Absent where only the service was installed. */
const npmFolder = (): string => dirname(createRequire(import.meta.url).resolve("npm/package.json"))

const isRoot = process.getuid?.() === 0

const run = (
  command: string,
  args: ReadonlyArray<string>,
  options: { readonly env?: Record<string, string>; readonly stdoutTo?: string } = {}
): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin:/sbin`, ...options.env },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let errors = ""
    child.stderr.on("data", (bytes: Buffer) => {
      errors = (errors + bytes.toString()).slice(-4000)
    })
    let copied = Promise.resolve()
    if (options.stdoutTo === undefined) child.stdout.resume()
    else copied = pipeline(child.stdout, createWriteStream(options.stdoutTo))
    child.on("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "ENOENT"
          ? new Error(`${command} is not installed: apt-get install ${buildPackages.join(" ")}`)
          : error
      )
    )
    child.on("close", (code) =>
      copied.then(() => {
        if (code === 0) resolve()
        // Only a build without root needs it.
        else if (errors.includes("newuidmap")) reject(new Error("newuidmap is not installed: apt-get install uidmap"))
        else reject(new Error(`${command} ended with ${code}:\n${errors}`))
      }, reject)
    )
  })

/** The archive's own date in seconds, so that equal package lists give equal time stamps in the image. */
const archiveEpoch = async (): Promise<number> => {
  const [, url, suite] = recipe.archives[0].split(" ")
  const answer = await fetch(`${url}/dists/${suite}/InRelease`)
  if (!answer.ok) throw new Error(`The Debian archive answered ${answer.status}.`)
  const date = /^Date: (.+)$/m.exec(await answer.text())?.[1]
  if (date === undefined) throw new Error("The Debian archive's release file has no date.")
  return Date.parse(date) / 1000
}

/** Runs a shell line with the file ownership of the new root: directly as root, otherwise inside mmdebstrap's user namespace. */
const asGuestRoot = (line: string, env: Record<string, string>): Promise<void> =>
  isRoot ? run("sh", ["-euc", line], { env }) : run("mmdebstrap", ["--unshare-helper", "sh", "-euc", line], { env })

const buildInto = async (folder: string, work: string, nodeVersion: string): Promise<void> => {
  const epoch = await archiveEpoch()
  const tar = `${work}/root.tar`
  await mkdir(`${work}/out`)
  await run(
    "mmdebstrap",
    [
      `--mode=${isRoot ? "root" : "unshare"}`,
      "--variant=minbase",
      "--format=tar",
      `--include=${recipe.packages.join(",")}`,
      ...recipe.excludedPaths.map((path) => `--dpkgopt=path-exclude=${path}`),
      '--aptopt=Acquire::Languages "none"',
      '--aptopt=APT::Install-Recommends "false"',
      ...Object.entries(programSources).flatMap(([kind, paths]) => [
        `--customize-hook=mkdir "$1/tmp/${kind}"`,
        `--customize-hook=copy-in ${paths.map((path) => `'${path}'`).join(" ")} /tmp/${kind}`
      ]),
      `--customize-hook=sh '${prepareScript}' "$1"`,
      `--customize-hook=copy-out /atoll '${work}/out'`,
      '--customize-hook=rm -rf "$1/atoll"',
      `--customize-hook=upload '${process.execPath}' /usr/local/bin/node`,
      '--customize-hook=chmod 755 "$1/usr/local/bin/node"',
      `--customize-hook=chroot "$1" sh -eu < '${agentProgramsScript}'`,
      '--customize-hook=mkdir -p "$1/usr/local/lib/node_modules"',
      `--customize-hook=copy-in '${npmFolder()}' /usr/local/lib/node_modules`,
      '--customize-hook=ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"',
      '--customize-hook=ln -s ../lib/node_modules/npm/bin/npx-cli.js "$1/usr/local/bin/npx"',
      recipe.suite,
      "-",
      ...recipe.archives
    ],
    {
      stdoutTo: tar,
      env: {
        SOURCE_DATE_EPOCH: String(epoch),
        KERNEL_PACKAGE: recipe.kernelPackage,
        MODULES: recipe.modules.join(" "),
        GUEST_USER: recipe.user.name,
        GUEST_UID: String(recipe.user.uid)
      }
    }
  )
  // A user namespace may not create devices, and the kernel provides a guest's /dev.
  await asGuestRoot(
    `mkdir "$WORK/root"
     tar --extract --numeric-owner --exclude="./dev/*" --directory="$WORK/root" --file="$WORK/root.tar"
     truncate --size="$BYTES" "$WORK/root.ext4"
     mke2fs -q -t ext4 -F -m 0 -U "$UUID" -O ^has_journal -E "hash_seed=$UUID,lazy_itable_init=1,nodiscard" -d "$WORK/root" "$WORK/root.ext4"
     chmod 644 "$WORK/root.ext4"
     rm -rf "$WORK/root"`,
    { WORK: work, BYTES: String(recipe.rootBytes), UUID: recipe.rootUuid, E2FSPROGS_FAKE_TIME: String(epoch) }
  )
  await run("cp", ["--sparse=always", `${work}/root.ext4`, `${folder}/root.ext4`])
  const parts = `${work}/out/atoll`
  await writeFile(`${folder}/vmlinux`, vmlinuxToElf(await readFile(`${parts}/vmlinuz`)))
  await copyFile(`${parts}/busybox`, `${folder}/busybox`)
  await copyFile(`${parts}/packages.txt`, `${folder}/packages.txt`)
  for (const kind of ["modules", ...Object.keys(programSources)]) {
    await mkdir(`${folder}/${kind}`)
    for (const name of await readdir(`${parts}/${kind}`))
      await copyFile(`${parts}/${kind}/${name}`, `${folder}/${kind}/${name}`)
  }
  await writeFile(
    `${folder}/manifest.json`,
    `${JSON.stringify({ builtAt: new Date().toISOString(), archiveDate: new Date(epoch * 1000).toISOString(), nodeVersion })}\n`
  )
}

/** Builds the image, or finds it. Two concurrent builders both succeed; the result of the first is kept. */
export const buildBaseImage = async (vmFolder: string, options: { readonly refresh: boolean }): Promise<BaseImage> => {
  const nodeVersion = process.version
  if (process.arch !== "x64") throw new Error("The VM runtime's image is made for x86-64 only.")
  const existing = await findBaseImage(vmFolder, nodeVersion)
  if (existing !== null && !options.refresh) return existing
  await mkdir(imagesFolder(vmFolder), { recursive: true })
  const folder = await mkdtemp(`${imagesFolder(vmFolder)}/build-`)
  const work = await mkdtemp(`${tmpdir()}/atoll-image-`)
  try {
    // Inside a user namespace the builder is another user, who cannot access a private folder.
    await chmod(work, isRoot ? 0o700 : 0o777)
    await buildInto(folder, work, nodeVersion)
    const packages = packagesDigest(await readFile(`${folder}/packages.txt`))
    const id = `${await recipeDigest(nodeVersion)}-${packages}`
    await chmod(folder, 0o755)
    await rename(folder, `${imagesFolder(vmFolder)}/${id}`).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error
    })
    const built = await findBaseImage(vmFolder, nodeVersion)
    if (built === null) throw new Error("The image was built and is not there.")
    return built
  } finally {
    await rm(folder, { recursive: true, force: true })
    await rm(work, { recursive: true, force: true }).catch(() =>
      asGuestRoot('rm -rf "$WORK"/*', { WORK: work }).then(() => rm(work, { recursive: true, force: true }))
    )
  }
}

if (import.meta.main) {
  const { settings } = await import("../../../Config.ts")
  const { Effect } = await import("effect")
  const started = performance.now()
  try {
    const image = await buildBaseImage(await Effect.runPromise(Effect.map(settings.vmDir.config, (path) => path)), {
      refresh: process.argv.includes("--refresh")
    })
    const bytes = (await stat(`${image.folder}/root.ext4`)).blocks * 512
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    console.log(`${image.folder}: root disk of ${Math.round(bytes / 1024 ** 2)} MiB, ${seconds} s`)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
