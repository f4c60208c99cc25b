/** The files of one user, shown or given to another. */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, lstatSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { chown, lchown } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { giveFiles } from "../../../../src/host/linux/idmapMount.ts"
import { mountOptionsOf } from "../../../../src/host/linux/mountTable.ts"
import { closeVolume, openVolume } from "../../../../src/host/namespace/volume.ts"
import { canMountImages } from "../../../../src/host/namespace/volumeTrial.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"
import { isRoot, skipped } from "../../../support/host/namespace/TestHost.ts"

const [before, after, other] = [2_060_001, 2_060_002, 2_060_003]

let canMount = false
if (isRoot && process.arch === "x64")
  await inFolder(async (folder) => {
    canMount = await canMountImages(folder)
  })

/** A mounted volume with a file, a link out and a folder of user `before`, and a file of root. */
const onVolume = (body: (folder: string, remount: () => Promise<void>) => Promise<void>) =>
  inFolder(async (root) => {
    const place = { image: join(root, "image"), folder: join(root, "mounted") }
    const open = () => openVolume(place, 16 * 1024 ** 2, null).then(() => {})
    await open()
    try {
      const { folder } = place
      chmodSync(folder, 0o755)
      mkdirSync(join(folder, "inner"))
      for (const name of ["file", "inner/file", "roots"]) writeFileSync(join(folder, name), name)
      symlinkSync(join(root, "image"), join(folder, "link"))
      for (const name of ["file", "inner", "inner/file"]) await chown(join(folder, name), before, before)
      await lchown(join(folder, "link"), before, before)
      await body(folder, async () => {
        await closeVolume(place)
        await open()
      })
      expect(statSync(place.image).uid).toBe(0)
    } finally {
      await closeVolume(place)
    }
  })

const ownersOf = (folder: string) =>
  ["file", "inner", "inner/file", "link", "roots"].map((name) => {
    const { uid, gid } = lstatSync(join(folder, name))
    expect(gid).toBe(uid)
    return uid
  })

describe.skipIf(skipped(canMount ? null : "it needs root, x86-64 and loop devices"))("giving a volume's files", () => {
  it("shows them as the other user's, and leaves them on the disk as they are", () =>
    onVolume(async (folder, remount) => {
      const options = mountOptionsOf(folder)
      expect(await giveFiles(folder, before, after)).toBe(before)
      expect(ownersOf(folder)).toEqual([after, after, after, after, 0])
      expect(mountOptionsOf(folder)).toEqual([...options!, "idmapped"])
      writeFileSync(join(folder, "new"), "new")
      execFileSync(
        "setpriv",
        [`--reuid=${after}`, `--regid=${after}`, "--clear-groups", "sh", "-c", "echo more >> file"],
        {
          cwd: folder
        }
      )
      // A repeated call changes nothing.
      expect(await giveFiles(folder, before, after)).toBe(before)
      await chown(join(folder, "new"), after, after)
      await remount()
      expect(ownersOf(folder)).toEqual([before, before, before, before, 0])
      expect(statSync(join(folder, "new")).uid).toBe(before)
      // And so for a third one.
      expect(await giveFiles(folder, before, other)).toBe(before)
      expect(ownersOf(folder)).toEqual([other, other, other, other, 0])
    }))

  it("gives each file on the disk where the mount cannot be replaced, and follows no link", () =>
    onVolume(async (folder, remount) => {
      const user = spawn("sh", ["-c", "echo here; exec sleep 60"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] })
      try {
        await once(user.stdout, "data")
        expect(await giveFiles(folder, before, after)).toBe(after)
      } finally {
        user.kill("SIGKILL")
        await once(user, "exit")
      }
      expect(mountOptionsOf(folder)).not.toContain("idmapped")
      expect(ownersOf(folder)).toEqual([after, after, after, after, 0])
      await remount()
      expect(ownersOf(folder)).toEqual([after, after, after, after, 0])
    }))
})
