/**
 * A static x86-64 ELF program around a few bytes of machine code, for what nothing small in the guest's image does. Started by the hundredth
 * part of what a dynamically linked program costs in a guest that was just restored under TCG, where every instruction is translated when it
 * first runs.
 *
 * @source elf(5)
 */
const BASE = 0x400000
const HEADERS_BYTES = 64 + 56

/** `code`: hex digits, entered at the first byte; position-independent. */
export const staticProgram = (code: ReadonlyArray<string>): Buffer => {
  const bytes = Buffer.from(code.join(""), "hex")
  const size = HEADERS_BYTES + bytes.length
  const header = Buffer.alloc(HEADERS_BYTES)
  header.write("\x7fELF\x02\x01\x01", 0, "latin1")
  header.writeUInt16LE(2, 16) // executable
  header.writeUInt16LE(62, 18) // x86-64
  header.writeUInt32LE(1, 20)
  header.writeBigUInt64LE(BigInt(BASE + HEADERS_BYTES), 24) // entry
  header.writeBigUInt64LE(64n, 32) // program headers follow
  header.writeUInt16LE(64, 52)
  header.writeUInt16LE(56, 54)
  header.writeUInt16LE(1, 56)
  header.writeUInt32LE(1, 64) // PT_LOAD
  header.writeUInt32LE(5, 68) // readable, executable
  header.writeBigUInt64LE(BigInt(BASE), 80)
  header.writeBigUInt64LE(BigInt(BASE), 88)
  header.writeBigUInt64LE(BigInt(size), 96)
  header.writeBigUInt64LE(BigInt(size), 104)
  header.writeBigUInt64LE(4096n, 112)
  return Buffer.concat([header, bytes])
}
