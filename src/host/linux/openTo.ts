import { chmod, chown } from "node:fs/promises"

/** Lets one Sandbox's user pass through a folder of the service, without reading or changing it; other users get no access. Null: the service's user. */
export const openTo = async (folder: string, uid: number | null): Promise<void> => {
  if (uid !== null) await chown(folder, 0, uid)
  await chmod(folder, uid === null ? 0o700 : 0o710)
}
