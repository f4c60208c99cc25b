import { chmod, chown } from "node:fs/promises"

/** A folder of ours that one Sandbox's user may pass through, nobody else, and change in no way. Null: our own user. */
export const openTo = async (folder: string, uid: number | null): Promise<void> => {
  if (uid !== null) await chown(folder, 0, uid)
  await chmod(folder, uid === null ? 0o700 : 0o710)
}
