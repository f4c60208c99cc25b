/*
 * Freezes the file system that is mounted at a folder until standard input ends, so also when the process that started it dies.
 *
 * Its argument is the folder. It flushes the file system first, because a flush during the freeze would keep all writers waiting longer; then it writes
 * the line `freezes`, freezes, and writes `held`. The folder that it has open blocks an unmount. Exits with 0 when the file system is thawed again, and with
 * 3 when nothing is mounted there. With 1 nothing was frozen; with 2 it may still be frozen.
 *
 * `freezevolume.x64` beside this file is made from it like `spawner.x64`.
 *
 * @source ioctl_fsfreeze(2), syncfs(2); System V AMD64 ABI, initial process stack
 */
#include "system.h"

enum { SYS_fstat = 5, SYS_openat = 257, SYS_syncfs = 306 };
enum { STAT_BYTES = 144, SIG_BLOCK = 0 };
/* SIGHUP, SIGINT, SIGQUIT, SIGPIPE and SIGTERM: its starter's group may get them, and the file system must be thawed. */
enum { HELD_BACK = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 12 | 1 << 14 };
#define FIFREEZE 0xC0045877L
#define FITHAW 0xC0045878L

/* The device comes first. */
static union {
  u8 bytes[STAT_BYTES];
  unsigned long device;
} there, above;
static unsigned long signals = HELD_BACK;
static char dropped[512];

static int run(void) {
  /* The frame of _start, which is below the number of arguments. */
  long **frame;
  __asm__ volatile("movq (%%rbp), %0" : "=a"(frame));
  if ((long)frame[1] != 2) return 1;
  const char *path = ((char **)(frame + 2))[1];
  call4(rt_sigprocmask, SIG_BLOCK, &signals, NULL, 8);
  long folder = call2(open, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 3;
  long parent = call4(openat, folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (parent < 0 || call2(fstat, folder, &there) < 0 || call2(fstat, parent, &above) < 0) return 1;
  if (there.device == above.device) return 3;
  call1(close, parent);
  if (call1(syncfs, folder) < 0) return 1;
  call3(write, 1, "freezes\n", 8);
  if (call3(ioctl, folder, FIFREEZE, 0) < 0) return 1;
  call3(write, 1, "held\n", 5);
  long got;
  do got = call3(read, 0, dropped, sizeof dropped);
  while (got > 0 || got == -EINTR);
  return call3(ioctl, folder, FITHAW, 0) < 0 ? 2 : 0;
}
