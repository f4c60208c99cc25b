/**
 * Which Sandboxes' volumes were made in this data folder: an empty file each, beside the Sandboxes' folders, so that it outlives one that was
 * removed by mistake. A volume is made once: a later boot that does not find it is refused, rather than given an empty one.
 */
import { existsSync } from "node:fs"
import { mkdir, open, rm } from "node:fs/promises"
import { join } from "node:path"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../runtime/Runtime.ts"

/** A volume was made and is not there any more. */
export class VolumeMissing extends Error {}

export const volumeMissing = (): RuntimeRefused =>
  new RuntimeRefused({
    code: "VOLUME_MISSING",
    message: publicText`The Sandbox's volume is not on its host any more, so it does not start: it would be empty. Ask the operator to restore it, or delete the Sandbox.`
  })

export class VolumeRegister {
  private readonly folder: string

  /** @param root The driver's folder of Sandboxes. */
  constructor(root: string) {
    this.folder = join(root, ".volumes")
  }

  /**
   * Makes a volume that was never made here.
   *
   * @param isThere Whether it exists.
   * @throws VolumeMissing
   */
  async ensure(sandboxId: string, isThere: () => boolean, make: () => Promise<void>): Promise<void> {
    if (this.isMissing(sandboxId, isThere)) throw new VolumeMissing(`the volume of ${sandboxId} is missing`)
    await make()
    await this.note(sandboxId)
  }

  /** It was made here, and is not there any more. */
  isMissing(sandboxId: string, isThere: () => boolean): boolean {
    return !isThere() && this.wasMade(sandboxId)
  }

  private wasMade(sandboxId: string): boolean {
    return existsSync(join(this.folder, sandboxId))
  }

  /** After it was made: a crash in between leaves a volume that is there, which is noted at its next boot. */
  async note(sandboxId: string): Promise<void> {
    if (this.wasMade(sandboxId)) return
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const file = await open(join(this.folder, sandboxId), "w", 0o600)
    await file.close()
  }

  /** With the Sandbox. */
  async forget(sandboxId: string): Promise<void> {
    await rm(join(this.folder, sandboxId), { force: true })
  }
}
