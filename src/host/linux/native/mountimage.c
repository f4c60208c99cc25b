/*
 * Mounts an ext4 image over a free loop device.
 *
 * Why not mount(8): it first asks every loop device of the host whether it has this image. Beside 200 mounted volumes that is 11 of its 13 ms of CPU time,
 * and it grows with their number.
 *
 * Two loop devices with one image would destroy its file system. So this program locks the image (flock); the loop device keeps the lock with the open
 * file for as long as it has the image, also after an unmount while processes still hold the volume. Where the lock is taken, mount(8) finds that device.
 *
 * Standard input: the image and the folder, each with a zero byte at its end. Exits with 0 once it is mounted. Otherwise nothing is left of the try: the
 * loop device frees itself when this program ends, and after a mount when that is undone.
 *
 * `mountimage.x64` beside this file is made from it like `spawner.x64`.
 *
 * @source loop(4), mount(2), flock(2)
 */
#include "system.h"

enum { LOOP_CONFIGURE = 0x4C0A, LOOP_CTL_GET_FREE = 0x4C82, LO_FLAGS_AUTOCLEAR = 4 };
enum { MS_NOSUID = 2, MS_NODEV = 4, MS_NOATIME = 1024 };
/* Others may take the free device first. */
enum { TRIES = 100 };
enum { LOCK_EX = 2, LOCK_NB = 4 };
/* @source Linux include/uapi/linux/loop.h, struct loop_config: fd, block_size, then struct loop_info64, and reserved fields */
enum { CONFIG_BYTES = 304, AT_FLAGS = 8 + 52 };

static char given[8192];
static char device[] = "/dev/loop\0\0\0\0\0\0\0\0\0\0\0";
static u8 config[CONFIG_BYTES];

static long mounted(const char *source, const char *folder) {
  long flags = MS_NOSUID | MS_NODEV | MS_NOATIME;
  long data = (long)"discard";
  long result;
  __asm__ volatile("movq %5, %%r10; movq %6, %%r8; syscall"
                   : "=a"(result)
                   : "a"((long)SYS_mount), "D"((long)source), "S"((long)folder), "d"((long)"ext4"), "m"(flags), "m"(data)
                   : "rcx", "r8", "r10", "r11", "memory");
  return result;
}

static void name_device(long number) {
  char digits[20];
  u32 count = 0, at = 9;
  do digits[count++] = '0' + number % 10;
  while (number /= 10);
  while (count) device[at++] = digits[--count];
  device[at] = 0;
}

/* Descriptor of a loop device with this image, or negative. */
static long loop_of(long image) {
  long control = call2(open, "/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) return control;
  *(u32 *)config = image;
  *(u32 *)(config + AT_FLAGS) = LO_FLAGS_AUTOCLEAR;
  for (u32 n = 0; n < TRIES; n++) {
    long number = call2(ioctl, control, LOOP_CTL_GET_FREE);
    if (number < 0) return number;
    name_device(number);
    long loop = call2(open, device, O_RDWR | O_CLOEXEC);
    if (loop < 0) return loop;
    long configured = call3(ioctl, loop, LOOP_CONFIGURE, config);
    if (configured == 0) return loop;
    call1(close, loop);
    if (configured != -EBUSY) return configured;
  }
  return -EBUSY;
}

static int run(void) {
  long held = 0, got, ends = 0, folder = 0;
  while ((got = call3(read, 0, given + held, sizeof given - held)) > 0) held += got;
  for (long n = 0; n < held; n++)
    if (given[n] == 0 && ++ends == 1) folder = n + 1;
  if (got < 0 || ends != 2 || given[held - 1] != 0) return 1;
  long image = call2(open, given, O_RDWR | O_CLOEXEC);
  if (image < 0 || call2(flock, image, LOCK_EX | LOCK_NB) < 0 || loop_of(image) < 0) return 2;
  return mounted(device, given + folder) == 0 ? 0 : 3;
}
