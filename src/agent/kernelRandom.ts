/**
 * Random bytes from the kernel. Node buffers random numbers in memory, which machines made from one template share. The kernel of such a machine
 * gets a new seed before any program runs (boot.c).
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
