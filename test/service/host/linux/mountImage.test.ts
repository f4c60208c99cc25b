/** The program that mounts volumes, beside mount(8). */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { mountedByProgram } from "../../../../src/host/linux/mountImage.ts"
import { closeVolume, openVolume } from "../../../../src/host/namespace/volume.ts"
import { canMountImages } from "../../../../src/host/namespace/volumeTrial.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"
import { isRoot, skipped } from "../../../support/host/namespace/TestHost.ts"
import { untilSeen } from "../../../support/until.ts"

const bytes = 8 * 1024 ** 2

const loopsOf = (image: string) =>
  execFileSync("losetup", ["--associated", image], { encoding: "utf8" }).split("\n").length - 1

/** A Sandbox that another test starts at this moment has a copy of the mount until it has left the host's root. */
const noLoopOf = (image: string) =>
  untilSeen(
    () => loopsOf(image),
    (loops) => loops === 0,
    { withinMs: 10_000 }
  )

/** Options and source of a mount, without the numbers of device and mount. */
const mountOf = (folder: string) =>
  readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.split(" ")[4] === folder)
    .map((line) =>
      line
        .split(" ")
        .slice(5)
        .join(" ")
        .replace(/loop\d+/, "loop")
    )

const onImage = (body: (image: string, folder: string) => Promise<void>) =>
  inFolder(async (root) => {
    const [image, folder] = [join(root, "image"), join(root, "mounted")]
    mkdirSync(folder)
    execFileSync("truncate", ["--size", String(bytes), image])
    execFileSync("mke2fs", ["-q", "-F", "-t", "ext4", image])
    try {
      await body(image, folder)
    } finally {
      while (mountOf(folder).length > 0) execFileSync("umount", [folder])
    }
  })

let canMount = false
if (isRoot && process.arch === "x64")
  await inFolder(async (folder) => {
    canMount = await canMountImages(folder)
  })
const obstacle = canMount ? null : "it needs root, x86-64 and loop devices"

describe.skipIf(skipped(obstacle))("the program that mounts an image", () => {
  it("mounts with the options of mount(8), and leaves no loop device after the unmount", () =>
    onImage(async (image, folder) => {
      execFileSync("mount", ["-t", "ext4", "-o", "loop,nosuid,nodev,noatime,discard", image, folder])
      const expected = mountOf(folder)
      execFileSync("umount", [folder])
      await noLoopOf(image)
      expect(await mountedByProgram(image, folder)).toBe(true)
      expect(mountOf(folder)).toEqual(expected)
      writeFileSync(join(folder, "file"), "kept")
      execFileSync("umount", [folder])
      await noLoopOf(image)
      expect(await mountedByProgram(image, folder)).toBe(true)
      expect(readFileSync(join(folder, "file"), "utf8")).toBe("kept")
      execFileSync("umount", [folder])
    }))

  it("never gives one image two loop devices, also not while processes hold an unmounted volume", () =>
    onImage(async (image, folder) => {
      const place = { image, folder }
      await openVolume(place, bytes, null)
      expect(await mountedByProgram(image, folder)).toBe(false)
      const holder = spawn("sh", ["-c", "echo held; exec sleep 60"], {
        cwd: folder,
        stdio: ["ignore", "pipe", "ignore"]
      })
      try {
        await once(holder.stdout, "data")
        await closeVolume(place)
        expect(mountOf(folder)).toEqual([])
        expect(await mountedByProgram(image, folder)).toBe(false)
        // mount(8) takes the device that still has the image.
        await openVolume(place, bytes, null)
        expect(loopsOf(image)).toBe(1)
      } finally {
        holder.kill("SIGKILL")
        await once(holder, "exit")
        await closeVolume(place)
      }
      await noLoopOf(image)
    }))

  it("leaves nothing of a try that fails", () =>
    onImage(async (image, folder) => {
      expect(await mountedByProgram(image, join(folder, "missing"))).toBe(false)
      expect(await mountedByProgram(join(folder, "missing"), folder)).toBe(false)
      expect(await mountedByProgram(image, "x".repeat(9_000))).toBe(false)
      expect(loopsOf(image)).toBe(0)
      expect(mountOf(folder)).toEqual([])
    }))

  it("mounts many images at the same moment, each on its own device", () =>
    inFolder(async (root) => {
      const places = Array.from({ length: 12 }, (_, index) => ({
        image: join(root, `image${index}`),
        folder: join(root, `mounted${index}`)
      }))
      for (const { image, folder } of places) {
        mkdirSync(folder)
        execFileSync("truncate", ["--size", String(bytes), image])
        execFileSync("mke2fs", ["-q", "-F", "-t", "ext4", image])
      }
      try {
        expect(await Promise.all(places.map(({ image, folder }) => mountedByProgram(image, folder)))).toEqual(
          places.map(() => true)
        )
        for (const { image, folder } of places) writeFileSync(join(folder, "own"), image)
        for (const { image, folder } of places) expect(readFileSync(join(folder, "own"), "utf8")).toBe(image)
      } finally {
        for (const { folder } of places) if (mountOf(folder).length > 0) execFileSync("umount", [folder])
      }
    }))
})
