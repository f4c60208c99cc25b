/*
 * Copies the image of a mounted volume while the processes of its Sandbox stand still. The copy shares all blocks.
 *
 * Its arguments are the folder of the mount, the folder of the cgroup v2, the image, and the copy, which does not exist. It flushes the file system
 * first, because the processes wait for the second flush. Then it stops the processes, flushes what they had written until then, clones the image, and lets
 * them continue. So the copy is what a power cut after a flush leaves: whole but for a journal to replay. The clone itself is atomic: the file system
 * lets no write of the loop device in between.
 *
 * Why not FIFREEZE: the kernel waits for three grace periods of RCU in it, 40 ms on an idle machine.
 *
 * It needs nothing of its starter after its start: where that dies, it goes on to its end. Exits with 0 once the copy is made, and writes how long the
 * processes stood still, in microseconds. With 3 nothing is mounted there. With 4 there is no copy, and the processes run: they did not stand still in
 * time, or blocks cannot be shared, or something else failed. With 2 they may still stand still.
 *
 * `clonevolume.x64` beside this file is made from it like `spawner.x64`.
 *
 * @source Linux Documentation/admin-guide/cgroup-v2.rst "cgroup.freeze"; ioctl_ficlone(2), syncfs(2)
 */
#include "system.h"

enum { SYS_fstat = 5, SYS_lseek = 8, SYS_unlink = 87, SYS_openat = 257, SYS_syncfs = 306 };
enum { STAT_BYTES = 144, SIG_BLOCK = 0, O_CREAT = 0100, O_EXCL = 0200, CLOCK_MONOTONIC = 1 };
/* SIGHUP, SIGINT, SIGQUIT, SIGPIPE and SIGTERM: its starter's group may get them, and the processes must continue. */
enum { HELD_BACK = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 12 | 1 << 14 };
#define FICLONE 0x40049409L

/* A process that the kernel keeps, in a disk's wait or a debugger's hold, stops no sooner than that ends. */
enum { STOP_WITHIN_MS = 50, MS_PER_S = 1000, NS_PER_MS = 1000000, NS_PER_US = 1000 };

/* The device comes first. */
static union {
  u8 bytes[STAT_BYTES];
  unsigned long device;
} there, above;
static unsigned long signals = HELD_BACK;
static char state[256];
static char number[24];

static struct {
  long seconds, nanoseconds;
} now;

static const struct {
  long seconds, nanoseconds;
} look_again = {0, 50 * NS_PER_US};

static long clock_ns(void) {
  call2(clock_gettime, CLOCK_MONOTONIC, &now);
  return now.seconds * MS_PER_S * NS_PER_MS + now.nanoseconds;
}

/* The kernel writes `frozen 1` once no process of the cgroup runs any more. */
static int stands_still(long events) {
  static const char wanted[] = "frozen 1";
  call3(lseek, events, 0, 0);
  long got = call3(read, events, state, sizeof state);
  for (long at = 0; at + 8 <= got; at++) {
    long same = 0;
    while (same < 8 && state[at + same] == wanted[same]) same++;
    if (same == 8) return 1;
  }
  return 0;
}

/* The kernel may tell of a change in cgroup.events 10 ms late (CGROUP_FILE_NOTIFY_MIN_INTV), so it is read again and again. */
static int stood_still_in_time(long events) {
  long until = clock_ns() + (long)STOP_WITHIN_MS * NS_PER_MS;
  while (!stands_still(events)) {
    if (clock_ns() >= until) return 0;
    call2(nanosleep, &look_again, NULL);
  }
  return 1;
}

static void tell(long value) {
  u32 at = sizeof number;
  number[--at] = '\n';
  do number[--at] = '0' + value % 10;
  while (value /= 10);
  call3(write, 1, number + at, sizeof number - at);
}

static int run(void) {
  /* The frame of _start, which is below the number of arguments. */
  long **frame;
  __asm__ volatile("movq (%%rbp), %0" : "=a"(frame));
  if ((long)frame[1] != 5) return 4;
  char **given = (char **)(frame + 2) + 1;
  call4(rt_sigprocmask, SIG_BLOCK, &signals, NULL, 8);
  long folder = call2(open, given[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 3;
  long parent = call4(openat, folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (parent < 0 || call2(fstat, folder, &there) < 0 || call2(fstat, parent, &above) < 0) return 4;
  if (there.device == above.device) return 3;
  call1(close, parent);
  long group = call2(open, given[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  long freeze = call4(openat, group, "cgroup.freeze", O_WRONLY | O_CLOEXEC, 0);
  long events = call4(openat, group, "cgroup.events", O_RDONLY | O_CLOEXEC, 0);
  long image = call2(open, given[2], O_RDONLY | O_CLOEXEC);
  if (group < 0 || freeze < 0 || events < 0 || image < 0 || call1(syncfs, folder) < 0) return 4;
  long copy = call3(open, given[3], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (copy < 0) return 4;
  long began = clock_ns();
  int is_made = call3(write, freeze, "1", 1) == 1 && stood_still_in_time(events) && call1(syncfs, folder) >= 0 &&
                call3(ioctl, copy, FICLONE, image) >= 0 && stands_still(events);
  int continues = call3(write, freeze, "0", 1) == 1;
  if (is_made && continues) tell((clock_ns() - began) / NS_PER_US);
  else call1(unlink, given[3]);
  return !continues ? 2 : is_made ? 0 : 4;
}
