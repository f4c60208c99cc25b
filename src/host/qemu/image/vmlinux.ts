/**
 * Extracts the ELF kernel from a bzImage, so that QEMU enters it by PVH and the guest runs no decompressor.
 *
 * @source Linux Documentation/arch/x86/boot.rst: setup_sects 0x1f1, "HdrS" 0x202, payload_offset 0x248, payload_length 0x24c
 */
import { zstdDecompressSync } from "node:zlib"

const ZSTD_MAGIC = 0xfd2fb528
const ELF_MAGIC = 0x464c457f

/** The bytes of `vmlinux`. Throws an Error that says what is wrong with this kernel. */
export const vmlinuxToElf = (bzImage: Buffer): Buffer => {
  if (bzImage.toString("latin1", 0x202, 0x206) !== "HdrS") throw new Error("The kernel is not a bzImage.")
  const setupBytes = ((bzImage.readUInt8(0x1f1) || 4) + 1) * 512
  const start = setupBytes + bzImage.readUInt32LE(0x248)
  const length = bzImage.readUInt32LE(0x24c)
  const payload = bzImage.subarray(start, start + length)
  if (payload.length < 8 || payload.readUInt32LE(0) !== ZSTD_MAGIC)
    throw new Error("The kernel's payload is not compressed with zstd.")
  // The last four bytes are the uncompressed size, appended by the kernel's own build.
  const elf = zstdDecompressSync(payload.subarray(0, payload.length - 4))
  if (elf.readUInt32LE(0) !== ELF_MAGIC) throw new Error("The kernel's payload is not an ELF file.")
  return elf
}
