/**
 * A static x86-64 ELF program of 180 bytes: sets the guest's clock from the `struct timespec` on its standard input.
 *
 * Made here because nothing small in the image sets a fraction of a second (busybox' `date` takes whole ones), and the
 * dynamically linked `date` costs 300 ms in a guest that was just restored under TCG.
 */
import { staticProgram } from "./staticProgram.ts"

/** `read(0, rsp, 16) == 16 ? clock_settime(CLOCK_REALTIME, rsp) : 1`, exits with 0 or an error number. */
export const settimeProgram = (): Buffer =>
  staticProgram([
    "4883ec20", // sub  rsp, 32
    "31c0", //     xor  eax, eax          read
    "31ff", //     xor  edi, edi          standard input
    "4889e6", //   mov  rsi, rsp
    "ba10000000", // mov edx, 16
    "0f05", //     syscall
    "83f810", //   cmp  eax, 16
    "bf01000000", // mov edi, 1
    "7510", //     jne  exit
    "b8e3000000", // mov eax, 227         clock_settime
    "31ff", //     xor  edi, edi          CLOCK_REALTIME
    "4889e6", //   mov  rsi, rsp
    "0f05", //     syscall
    "89c7", //     mov  edi, eax
    "f7df", //     neg  edi
    "b83c000000", // exit: mov eax, 60
    "0f05" //      syscall
  ])

/** Sixteen bytes as `printf` escapes: seconds and nanoseconds, little endian. */
export const timespecEscapes = (epochMs: number): string => {
  const bytes = Buffer.alloc(16)
  bytes.writeBigInt64LE(BigInt(Math.floor(epochMs / 1000)), 0)
  bytes.writeBigInt64LE(BigInt(Math.floor((epochMs % 1000) * 1e6)), 8)
  return [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")
}
