/**
 * Copies standard input to standard output for ever, the guest's end of a virtio-serial port. Such a port reads as ended for as long as the host
 * has hung up; then it is asked again after 20 ms, and after twice as long each time up to 160 ms. (Two shells that did so by starting programs took
 * a quarter of a processor in every guest whose host was away, and a woken guest had them to do first.) Ends when nobody reads what it writes.
 */
import { staticProgram } from "./staticProgram.ts"

export const relayProgram = (): Buffer =>
  staticProgram([
    "4881ec00100000", //          sub     rsp, 4096
    "41bc002d3101", //     reset: mov     r12d, 20000000   nanoseconds
    "31c0", //             again: xor     eax, eax   read
    "31ff", //                    xor     edi, edi   standard input
    "4889e6", //                  mov     rsi, rsp
    "ba00100000", //              mov     edx, 4096   a port gives no more at once
    "0f05", //                    syscall
    "85c0", //                    test    eax, eax
    "7e24", //                    jle     pause
    "89c3", //                    mov     ebx, eax
    "4889e5", //                  mov     rbp, rsp
    "b801000000", //        more: mov     eax, 1   write
    "bf01000000", //              mov     edi, 1
    "4889ee", //                  mov     rsi, rbp
    "89da", //                    mov     edx, ebx
    "0f05", //                    syscall
    "4885c0", //                  test    rax, rax
    "7e29", //                    jle     exit
    "4801c5", //                  add     rbp, rax
    "29c3", //                    sub     ebx, eax
    "75e3", //                    jne     more
    "ebc4", //                    jmp     reset
    "4154", //             pause: push    r12
    "6a00", //                    push    0   seconds
    "4889e7", //                  mov     rdi, rsp
    "31f6", //                    xor     esi, esi
    "b823000000", //              mov     eax, 35   nanosleep
    "0f05", //                    syscall
    "58", //                      pop     rax
    "58", //                      pop     rax
    "4181fc00688909", //          cmp     r12d, 160000000   no longer than that
    "73af", //                    jae     again
    "4d01e4", //                  add     r12, r12
    "ebaa", //                    jmp     again
    "bf01000000", //        exit: mov     edi, 1
    "b83c000000", //              mov     eax, 60   exit
    "0f05" //                     syscall
  ])
