import { statfs } from "node:fs/promises"
import { ArchiveUnusable } from "./ArchiveUnusable.ts"

/** Fails when the folder's disk has less free space than `bytes`. */
export const requireRoom = async (folder: string, bytes: number): Promise<void> => {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize >= bytes) return
  const mebibytes = (number: number) => `${Math.ceil(number / 1024 ** 2)} MiB`
  throw new ArchiveUnusable({
    message: `There is not enough room: ${mebibytes(bytes)} are needed in ${folder}, and ${mebibytes(bavail * bsize)} are free.`
  })
}
