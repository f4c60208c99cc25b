/*
 * Puts folders of a mounted volume at /workspace and /tmp of a Sandbox that runs, in place of what is mounted there.
 *
 * Standard input: a mount namespace (a path that opens it), the folder for /workspace and the folder for /tmp, each with a zero byte at its end. Exits with
 * 0 once both are there. With 1 to 3 nothing has changed; with another code the Sandbox lacks one of them, and must end.
 *
 * This program enters the mount namespace of the Sandbox and opens nothing there: a name in it could be a link.
 *
 * `givevolume.x64` beside this file is made from it like `spawner.x64`.
 *
 * @source open_tree(2), move_mount(2), setns(2), umount2(2); Linux 5.2
 */
#include "system.h"

enum { SYS_umount2 = 166, SYS_setns = 308, SYS_open_tree = 428, SYS_move_mount = 429 };
enum { AT_FDCWD = -100, CLONE_NEWNS = 0x20000, OPEN_TREE_CLONE = 1, MOVE_MOUNT_F_EMPTY_PATH = 4 };
enum { MNT_DETACH = 2, UMOUNT_NOFOLLOW = 8, MS_PRIVATE = 1 << 18 };

static char given[8192];
static const char *places[] = {"/workspace", "/tmp"};

static int run(void) {
  long held = 0, got, ends = 0, starts[3] = {0, 0, 0}, trees[2];
  while ((got = call3(read, 0, given + held, sizeof given - held)) > 0) held += got;
  for (long n = 0; n < held; n++)
    if (given[n] == 0 && ++ends < 3) starts[ends] = n + 1;
  if (got < 0 || ends != 3 || given[held - 1] != 0) return 1;
  long namespace = call2(open, given, O_RDONLY | O_CLOEXEC);
  if (namespace < 0) return 2;
  for (u32 n = 0; n < 2; n++) {
    trees[n] = call3(open_tree, AT_FDCWD, given + starts[n + 1], OPEN_TREE_CLONE | O_CLOEXEC);
    if (trees[n] < 0) return 2;
  }
  if (call2(setns, namespace, CLONE_NEWNS) < 0) return 3;
  for (u32 n = 0; n < 2; n++) {
    if (call2(umount2, places[n], MNT_DETACH | UMOUNT_NOFOLLOW) < 0) return 4;
    if (call5(move_mount, trees[n], "", AT_FDCWD, places[n], MOVE_MOUNT_F_EMPTY_PATH) < 0) return 5;
    /* A mount of the host may be shared: what is mounted on one copy would be on all. */
    if (call5(mount, 0, places[n], 0, MS_PRIVATE, 0) < 0) return 6;
  }
  return 0;
}
