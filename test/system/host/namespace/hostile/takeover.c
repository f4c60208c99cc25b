/*
 * Takes over a process of the same user through /proc/PID/mem: has it open a pseudo-terminal and put that over its own descriptor.
 *
 *     takeover PID DESCRIPTOR
 *
 * The process waits in a system call. Code is written where it will go on, and a child that ends wakes it: `takeover` is to be followed by the end of
 * a process that has been left to it. Exit codes: 0 written; 10 its memory cannot be opened; 11 not written; 12 its place is not known.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* open("/dev/ptmx", O_RDWR|O_NOCTTY); unlock; peer = TIOCGPTPEER; dup2(peer, DESCRIPTOR); close the rest; pause for ever. */
static const unsigned char code[] = {
  /* push "/dev/ptmx\0" */
  0x48, 0x31, 0xc0, 0x50,                                      /* xor rax,rax; push rax */
  0x6a, 0x78,                                                  /* push 'x' */
  0x48, 0xb8, '/', 'd', 'e', 'v', '/', 'p', 't', 'm',          /* mov rax,"/dev/ptm" */
  0x50,                                                        /* push rax */
  0x48, 0x89, 0xe7,                                            /* mov rdi,rsp */
  0xbe, 0x02, 0x01, 0x00, 0x00,                                /* mov esi,O_RDWR|O_NOCTTY */
  0x31, 0xd2,                                                  /* xor edx,edx */
  0xb8, 0x02, 0x00, 0x00, 0x00, 0x0f, 0x05,                    /* open */
  0x89, 0xc3,                                                  /* mov ebx,eax */
  0x6a, 0x00, 0x48, 0x89, 0xe2,                                /* push 0; mov rdx,rsp */
  0x89, 0xdf, 0xbe, 0x31, 0x54, 0x04, 0x40,                    /* mov edi,ebx; mov esi,TIOCSPTLCK */
  0xb8, 0x10, 0x00, 0x00, 0x00, 0x0f, 0x05,                    /* ioctl */
  0x89, 0xdf, 0xbe, 0x41, 0x54, 0x00, 0x00,                    /* mov edi,ebx; mov esi,TIOCGPTPEER */
  0xba, 0x02, 0x01, 0x00, 0x00,                                /* mov edx,O_RDWR|O_NOCTTY */
  0xb8, 0x10, 0x00, 0x00, 0x00, 0x0f, 0x05,                    /* ioctl */
  0x89, 0xc7, 0xbe, 0x00, 0x00, 0x00, 0x00,                    /* mov edi,eax; mov esi,DESCRIPTOR (patched) */
  0xb8, 0x21, 0x00, 0x00, 0x00, 0x0f, 0x05,                    /* dup2 */
  0xb8, 0x22, 0x00, 0x00, 0x00, 0x0f, 0x05,                    /* pause */
  0xeb, 0xf7                                                   /* again */
};
static const size_t descriptorAt = sizeof code - 2 - 7 - 7 - 4;

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%s/mem", argv[1]);
  int memory = open(path, O_RDWR);
  if (memory < 0) return 10;
  snprintf(path, sizeof path, "/proc/%s/syscall", argv[1]);
  int where = open(path, O_RDONLY);
  if (where < 0) return 12;
  ssize_t length = read(where, line, sizeof line - 1);
  if (length <= 0) return 12;
  line[length] = 0;
  char *last = strrchr(line, ' ');
  if (last == NULL) return 12;
  unsigned long instruction = strtoul(last, NULL, 16);
  unsigned char written[sizeof code];
  memcpy(written, code, sizeof code);
  int descriptor = atoi(argv[2]);
  memcpy(written + descriptorAt, &descriptor, 4);
  return pwrite(memory, written, sizeof written, (off_t)instruction) == sizeof written ? 0 : 11;
}
