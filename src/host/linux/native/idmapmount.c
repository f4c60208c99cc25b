/*
 * Shows the files of one user on a mounted file system as those of another: replaces the mount by an idmapped copy of it. So the volume of a Sandbox that
 * is a copy of another Sandbox's volume needs no chown of each of its files.
 *
 * mount(8) can do so from util-linux 2.39 on, and Debian 12 has 2.38.
 *
 * Standard input: the mount point, the id of the files' user and group on the disk, and the id that they get, each with a zero byte at its end; then
 * perhaps the first id and the number of further users whose files stay theirs. Root's files stay root's; those of any other user belong to no one. Exits with 0 once the mount is replaced. With 1 to 6 nothing has changed; with 7 nothing is
 * mounted any more.
 *
 * `idmapmount.x64` beside this file is made from it like `spawner.x64`.
 *
 * @source mount_setattr(2), open_tree(2), move_mount(2), user_namespaces(7); Linux 5.12
 */
#include "system.h"

enum { SYS_clone = 56, SYS_kill = 62, SYS_pause = 34, SYS_prctl = 157, SYS_umount2 = 166, SYS_open_tree = 428, SYS_move_mount = 429, SYS_mount_setattr = 442 };
enum { CLONE_NEWUSER = 0x10000000, SIGCHLD = 17, SIGKILL = 9, AT_FDCWD = -100, AT_EMPTY_PATH = 0x1000, PR_SET_PDEATHSIG = 1 };
enum { OPEN_TREE_CLONE = 1, OPEN_TREE_CLOEXEC = O_CLOEXEC, MOVE_MOUNT_F_EMPTY_PATH = 4 };
/* @source Linux include/uapi/linux/mount.h, struct mount_attr */
static struct {
  unsigned long set, clear, propagation, namespace;
} attributes = {.set = 0x100000};

static char given[8192];
static char path[] = "/proc/\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
static char map[128];

static u32 append(char *to, u32 at, const char *text) {
  while (*text) to[at++] = *text++;
  to[at] = 0;
  return at;
}

/* Opens a file of the process. */
static long opened(long pid, const char *name, long flags) {
  char digits[20];
  u32 count = 0, at = 6;
  do digits[count++] = '0' + pid % 10;
  while (pid /= 10);
  while (count) path[at++] = digits[--count];
  append(path, at, name);
  return call2(open, path, flags | O_CLOEXEC);
}

static int written(long pid, const char *name, u32 bytes) {
  long file = opened(pid, name, O_WRONLY);
  long got = file < 0 ? file : call3(write, file, map, bytes);
  if (file >= 0) call1(close, file);
  return got == bytes;
}

static u32 mapped(u32 at, const char *from, const char *to, const char *count) {
  at = append(map, at, from);
  at = append(map, at, " ");
  at = append(map, at, to);
  at = append(map, at, " ");
  at = append(map, at, count);
  return append(map, at, "\n");
}

/* Descriptor of a user namespace that maps `from` to `to`, root to root, and `count` ids from `first` on, if there is one, to themselves; or negative. */
static long namespace_of(const char *from, const char *to, const char *first, const char *count) {
  u32 bytes = mapped(mapped(0, "0", "0", "1"), from, to, "1");
  if (first) bytes = mapped(bytes, first, first, count);
  long child = call4(clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0);
  if (child == 0) {
    call2(prctl, PR_SET_PDEATHSIG, SIGKILL);
    for (;;) call1(pause, 0);
  }
  if (child < 0) return child;
  long found = written(child, "/uid_map", bytes) && written(child, "/gid_map", bytes) ? opened(child, "/ns/user", O_RDONLY) : -1;
  call2(kill, child, SIGKILL);
  call4(wait4, child, 0, 0, 0);
  return found;
}

static int is_id(const char *text) {
  u32 length = 0;
  for (; text[length]; length++)
    if (text[length] < '0' || text[length] > '9') return 0;
  return length > 0 && length <= 10;
}

static int run(void) {
  long held = 0, got, ends = 0, starts[5] = {0, 0, 0, 0, 0};
  while ((got = call3(read, 0, given + held, sizeof given - held)) > 0) held += got;
  for (long n = 0; n < held; n++)
    if (given[n] == 0 && ++ends < 5) starts[ends] = n + 1;
  if (got < 0 || (ends != 3 && ends != 5) || given[held - 1] != 0) return 1;
  const char *folder = given, *from = given + starts[1], *to = given + starts[2];
  const char *first = ends == 5 ? given + starts[3] : 0, *count = given + starts[4];
  if (!is_id(from) || !is_id(to) || (first && (!is_id(first) || !is_id(count)))) return 1;
  long namespace = namespace_of(from, to, first, count);
  if (namespace < 0) return 2;
  long tree = call3(open_tree, AT_FDCWD, folder, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (tree < 0) return 3;
  attributes.namespace = namespace;
  if (call5(mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0) return 4;
  if (call2(umount2, folder, 0) < 0) return 5;
  return call5(move_mount, tree, "", AT_FDCWD, folder, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? 7 : 0;
}
