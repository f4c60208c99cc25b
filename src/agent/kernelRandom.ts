/**
 * Random bytes from the kernel itself. Node keeps random numbers of its own in memory, which machines that were made from one template share; the
 * kernel of such a machine learns that it is another (vmgenid) and begins anew.
 */
import { closeSync, openSync, readSync } from "node:fs"

export const kernelRandom = (bytes: number): Buffer => {
  const random = Buffer.alloc(bytes)
  const file = openSync("/dev/urandom", "r")
  try {
    for (let read = 0; read < bytes; ) read += readSync(file, random, read, bytes - read, null)
    return random
  } finally {
    closeSync(file)
  }
}
