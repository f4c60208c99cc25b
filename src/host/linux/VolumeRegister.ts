/**
 * Records which Sandboxes have had a volume in this data folder: one empty file each, outside the Sandbox folders, so that it survives the removal of
 * a folder by mistake. A volume is created once. A later boot that does not find it is refused, instead of getting an empty one.
 */
import { existsSync } from "node:fs"
import { mkdir, open, rm } from "node:fs/promises"
import { join } from "node:path"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../runtime/Runtime.ts"

/** The volume was created earlier and is missing now. */
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
   * Creates a volume, unless it was created here before.
   *
   * @param isThere Whether the volume exists.
   * @throws VolumeMissing
   */
  async ensure(sandboxId: string, isThere: () => boolean, make: () => Promise<void>): Promise<void> {
    if (this.isMissing(sandboxId, isThere)) throw new VolumeMissing(`the volume of ${sandboxId} is missing`)
    await make()
    await this.note(sandboxId)
  }

  /** Whether the volume was created here and is missing now. */
  isMissing(sandboxId: string, isThere: () => boolean): boolean {
    return !isThere() && this.wasMade(sandboxId)
  }

  private wasMade(sandboxId: string): boolean {
    return existsSync(join(this.folder, sandboxId))
  }

  /** Records that the volume exists. Called after its creation: a crash in between leaves a volume without a record, and the next boot records it. */
  async note(sandboxId: string): Promise<void> {
    if (this.wasMade(sandboxId)) return
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const file = await open(join(this.folder, sandboxId), "w", 0o600)
    await file.close()
  }

  /** Called when the Sandbox is deleted. */
  async forget(sandboxId: string): Promise<void> {
    await rm(join(this.folder, sandboxId), { force: true })
  }
}
