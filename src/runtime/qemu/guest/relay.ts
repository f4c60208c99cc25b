/**
 * Copies standard input to standard output for ever, the guest's end of a virtio-serial port. Such a port reads as ended for as long as the host
 * has hung up; then it is asked again after 20 ms. (Two shells that did so by starting programs took a quarter of a processor in
 * every guest whose host was away, and a woken guest had them to do first.) Ends when nobody reads what it writes.
 */
import { staticProgram } from "./staticProgram.ts"

export const relayProgram = (): Buffer =>
  staticProgram([
    "4881ec00100000", //       sub  rsp, 4096
    "31c0", //          again: xor  eax, eax          read
    "31ff", //                 xor  edi, edi          standard input
    "4889e6", //               mov  rsi, rsp
    "ba00100000", //           mov  edx, 4096         a port gives no more at once
    "0f05", //                 syscall
    "85c0", //                 test eax, eax
    "7e24", //                 jle  pause
    "89c3", //                 mov  ebx, eax
    "4889e5", //               mov  rbp, rsp
    "b801000000", //     more: mov  eax, 1            write
    "bf01000000", //           mov  edi, 1            standard output
    "4889ee", //               mov  rsi, rbp
    "89da", //                 mov  edx, ebx
    "0f05", //                 syscall
    "4885c0", //               test rax, rax
    "7e20", //                 jle  exit
    "4801c5", //               add  rbp, rax
    "29c3", //                 sub  ebx, eax
    "75e3", //                 jnz  more
    "ebca", //                 jmp  again
    "68002d3101", //    pause: push 20000000          nanoseconds
    "6a00", //                 push 0                 seconds
    "4889e7", //               mov  rdi, rsp
    "31f6", //                 xor  esi, esi
    "b823000000", //           mov  eax, 35           nanosleep
    "0f05", //                 syscall
    "58", //                   pop  rax
    "58", //                   pop  rax
    "ebb3", //                 jmp  again
    "bf01000000", //     exit: mov  edi, 1
    "b83c000000", //           mov  eax, 60           exit
    "0f05" //                  syscall
  ])
