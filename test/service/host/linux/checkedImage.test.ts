/** Images of volumes that a stranger made. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, openSync, rmSync, statSync, truncateSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { checkImage, ImageUnusable } from "../../../../src/host/linux/checkedImage.ts"
import { ensureVolumeImage } from "../../../../src/host/linux/volumeImage.ts"
import { isRoot, skipped } from "../../../support/host/namespace/TestHost.ts"

const folder = mkdtempSync(join(tmpdir(), "atoll-image-"))
afterAll(() => rmSync(folder, { recursive: true }))
let number = 0

/** A new volume's image, changed by debugfs. */
const imageWith = async (...commands: ReadonlyArray<string>): Promise<string> => {
  const path = join(folder, `${number++}.img`)
  await ensureVolumeImage({ path, bytes: 32 * 1024 ** 2, owner: null, extended: [], isEmpty: false })
  for (const command of ["mkdir workspace", ...commands])
    execFileSync("debugfs", ["-w", "-R", command, path], { stdio: "ignore" })
  return path
}

const faultOf = (path: string, isMountedHere = true): Promise<string | null> =>
  checkImage(path, isMountedHere).then(
    () => null,
    (cause: unknown) => {
      if (cause instanceof ImageUnusable) return cause.message
      throw cause
    }
  )

const tuned = async (...options: ReadonlyArray<string>): Promise<string> => {
  const path = await imageWith()
  execFileSync("tune2fs", [...options, path])
  return path
}

describe.skipIf(skipped(isRoot ? null : "images are checked as another user"))("the image of a stranger", () => {
  it("is accepted as a driver makes it, and stays its owner's", async () => {
    const path = await imageWith("mkdir tmp", "mkdir stale", "mkdir workspace/a")
    assert.isNull(await faultOf(path))
    assert.strictEqual(statSync(path).uid, 0)
  })

  it("is corrected where its file system is damaged, and is whole afterwards", async () => {
    const path = await imageWith("mkdir workspace/a", "set_inode_field workspace links_count 77")
    assert.isNull(await faultOf(path))
    execFileSync("e2fsck", ["-f", "-n", path], { stdio: "ignore" })
  })

  for (const [what, make] of [
    ["a link in place of /workspace", () => imageWith("rmdir workspace", "symlink workspace /etc")],
    ["a link beside it", () => imageWith("symlink stale /etc")],
    ["a console that is a link", () => imageWith("symlink console-1 /etc/passwd")],
    ["a device", () => imageWith("mknod tmp b 8 0")],
    ["another name", () => imageWith("mkdir other")],
    ["the order to panic", () => tuned("-e", "panic")],
    ["mount options", () => tuned("-o", "journal_data")],
    ["more mount options", () => tuned("-E", "mount_opts=errors=panic")],
    ["a feature that no volume has", () => tuned("-O", "project")]
  ] as const)
    it(`is refused for ${what}`, async () => assert.isNotNull(await faultOf(await make())))

  it("is refused where it is no file system, or is shorter than it says", async () => {
    const noise = join(folder, "noise.img")
    writeSync(openSync(noise, "w"), Buffer.alloc(1024 ** 2, "noise"))
    assert.isNotNull(await faultOf(noise))
    const short = await imageWith()
    truncateSync(short, 8 * 1024 ** 2)
    assert.isNotNull(await faultOf(short))
    assert.isNotNull(await faultOf(noise, false))
  })
})
