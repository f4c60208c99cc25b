/*
 * Turns a clone of a template into one particular machine. The host writes a line; this program acts on it and answers with a line.
 *
 *   identity TOKEN TIME HOSTNAME MACHINE_ID SEED NAMESERVER|- [mounted]
 *                                                               clock, names, entropy, network, volume; with `mounted` that one is there
 *   name TOKEN TIME HOSTNAME                                    clock and host name, for a machine that got its identity before its owner
 *   clock TOKEN TIME                                            after a sleep
 *   flush TOKEN                                                 writes everything to the volume
 *   freeze TOKEN                                                the same, and writers wait: until `thaw`, or the host is gone or silent for 5 s
 *   still TOKEN                                                 the agent and all commands stop: until `thaw`, `clock`, `name`, `identity`, or for 10 s
 *   thaw TOKEN                                                  writers, agent and commands go on
 *   grow TOKEN BYTES                                            the volume's file system becomes as large as its disk, once that has this size
 *
 * The answer is `TOKEN ready` or `TOKEN failed WHY`. TIME is a struct timespec as printf escapes. Every other line goes to boot.sh.
 *
 * Why not a shell: in a guest that was just restored under TCG, all code is translated as it runs for the first time. A process costs some 30 ms there,
 * and a shell needs one for the clock, one for the volume and three for the network. This program needs none.
 */
#include "system.h"

enum { BOOT_sethostname = 170, BOOT_sync = 162, BOOT_socket = 41, BOOT_statfs = 137, BOOT_lseek = 8, BOOT_ftruncate = 77 };
enum { LINE_MAX = 4096, WORDS_MAX = 8, PAUSE_MIN_MS = 20, PAUSE_MAX_MS = 160, TIME_BYTES = 16, POLLIN = 1, FOREVER = -1 };
enum { O_CREATE = 01 | 0100 /* write only, create */ };
enum { SEEK_SET = 0, SEEK_END = 2 };
enum { NOSUID = 2, NODEV = 4, NOATIME = 1024, SILENT = 32768 };
enum { FIFREEZE = 0xc0045877, FITHAW = 0xc0045878, EXT4_RESIZE = 0x40086610, BLKGETSIZE64 = 0x80081272, FROZEN_MAX_MS = 5000, GROW_TRIES = 400 };
enum { STILL_MAX_MS = 10000, STILL_TRIES = 500, STILL_PAUSE_MS = 2, WRITE_ONLY = 1, RNDRESEEDCRNG = 0x5207 };
enum { INVALID = 22 };
enum { AF_INET = 2, SOCK_DGRAM = 2, SIOCADDRT = 0x890b, SIOCSIFFLAGS = 0x8914, SIOCSIFADDR = 0x8916, SIOCSIFNETMASK = 0x891c };
enum { INTERFACE_UP = 1, ROUTE_UP = 1, ROUTE_GATEWAY = 2 };

#define ADDRESS(a, b, c, d) ((u32)(a) | (u32)(b) << 8 | (u32)(c) << 16 | (u32)(d) << 24)

struct pollfd {
  int fd;
  short events, revents;
};

/* struct sockaddr_in */
struct address {
  unsigned short family, port;
  u32 ip;
  u8 rest[8];
};

/* struct ifreq */
struct interface {
  char name[16];
  union {
    struct address address;
    short flags;
    u8 rest[24];
  } of;
};

/* struct rtentry */
struct route {
  unsigned long pad1;
  struct address destination, gateway, mask;
  unsigned short flags;
  short pad2;
  unsigned long pad3;
  void *pad4;
  short metric;
  char *device;
  unsigned long mtu, window;
  unsigned short rtt;
};

static const char port_path[] = "/dev/virtio-ports/atoll.boot";
static long port;
static char line[LINE_MAX];
static u32 held;
static char *words[WORDS_MAX + 1];
static char text[LINE_MAX];
static int is_frozen;
static int is_still;
static u32 still_ms;

#define boot3(n, a, b, c) system_call(BOOT_##n, (long)(a), (long)(b), (long)(c), 0, 0)

/* --- text -------------------------------------------------------------------------------------------------------------------------- */

static u32 length(const char *of) {
  u32 n = 0;
  while (of[n]) n++;
  return n;
}

static int same(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

/* Joins texts, none of which is longer than a line, up to the first NULL. */
static void join(const char *first, const char *second, const char *third, const char *fourth) {
  const char *parts[4];
  u32 at = 0;
  parts[0] = first, parts[1] = second, parts[2] = third, parts[3] = fourth;
  for (u32 n = 0; n < 4 && parts[n]; n++)
    for (const char *from = parts[n]; *from && at < LINE_MAX - 1; from++) text[at++] = *from;
  text[at] = 0;
}

/* Its file is emptied only where it has another length: to give a page back and take it again is a tenth of the code that a new identity has translated. */
static long put(const char *path, int flags) {
  long fd = call3(open, path, flags, 0644);
  if (fd < 0) return fd;
  if (flags == O_CREATE) {
    if (boot3(lseek, fd, 0, SEEK_END) != length(text)) boot3(ftruncate, fd, 0, 0);
    boot3(lseek, fd, 0, SEEK_SET);
  }
  long result = call3(write, fd, text, length(text));
  call1(close, fd);
  return result < 0 ? result : 0;
}

static void answer(const char *said, const char *why) {
  join(words[1], " ", said, why);
  u32 size = length(text);
  text[size++] = '\n';
  for (u32 done = 0; done < size;) {
    long sent = call3(write, port, text + done, size - done);
    if (sent == -EINTR) continue;
    if (sent <= 0) return;
    done += sent;
  }
}

static void failed(const char *what, long error) {
  static char why[64] = " ";
  char digits[8];
  u32 at = 1, count = 0;
  while (*what && at < 40) why[at++] = *what++;
  for (long rest = -error; rest > 0 && count < 8; rest /= 10) digits[count++] = '0' + rest % 10;
  while (count) why[at++] = digits[--count];
  why[at] = 0;
  answer("failed", why);
}

/* --- what the host asks for -------------------------------------------------------------------------------------------------------- */

static long set_clock(const char *escapes) {
  u8 bytes[TIME_BYTES];
  for (u32 n = 0; n < TIME_BYTES; n++, escapes += 4) {
    if (escapes[0] != '\\') return -INVALID;
    u32 value = 0;
    for (u32 digit = 1; digit <= 3; digit++) {
      if (escapes[digit] < '0' || escapes[digit] > '7') return -INVALID;
      value = value * 8 + (escapes[digit] - '0');
    }
    bytes[n] = value;
  }
  return call2(clock_settime, 0, bytes);
}

static void set_name(const char *name) {
  boot3(sethostname, name, length(name), 0);
  join(name, "\n", NULL, NULL);
  put("/run/atoll/hostname", O_CREATE);
  join("127.0.0.1 localhost ", name, "\n::1 localhost ", name);
  u32 end = length(text);
  if (end < LINE_MAX - 1) text[end] = '\n', text[end + 1] = 0;
  put("/run/atoll/hosts", O_CREATE);
}

static long connect_network(void) {
  static struct interface eth0 = {"eth0"};
  static struct route way;
  long fd = boot3(socket, AF_INET, SOCK_DGRAM, 0), error;
  if (fd < 0) return fd;
  eth0.of.address.family = AF_INET;
  eth0.of.address.ip = ADDRESS(10, 0, 3, 15);
  if ((error = call3(ioctl, fd, SIOCSIFADDR, &eth0)) < 0) goto end;
  eth0.of.address.ip = ADDRESS(255, 255, 255, 0);
  if ((error = call3(ioctl, fd, SIOCSIFNETMASK, &eth0)) < 0) goto end;
  for (u32 n = 0; n < sizeof eth0.of; n++) eth0.of.rest[n] = 0;
  eth0.of.flags = INTERFACE_UP;
  if ((error = call3(ioctl, fd, SIOCSIFFLAGS, &eth0)) < 0) goto end;
  way.destination.family = way.gateway.family = way.mask.family = AF_INET;
  way.gateway.ip = ADDRESS(10, 0, 3, 2);
  way.flags = ROUTE_UP | ROUTE_GATEWAY;
  error = call3(ioctl, fd, SIOCADDRT, &way);
end:
  call1(close, fd);
  return error;
}

static long ioctl_at(const char *path, long request, void *value) {
  long fd = call3(open, path, 0, 0);
  if (fd < 0) return fd;
  long error = call3(ioctl, fd, request, value);
  call1(close, fd);
  return error;
}

/* The agent's cgroup has all commands below it. */
static long set_still(int wanted) {
  text[0] = '0' + wanted;
  text[1] = 0;
  is_still = wanted;
  still_ms = 0;
  return put("/sys/fs/cgroup/sandbox/cgroup.freeze", WRITE_ONLY);
}

/* 1 once none of them runs. */
static long all_still(void) {
  static char events[128];
  long fd = call3(open, "/sys/fs/cgroup/sandbox/cgroup.events", 0, 0), got;
  if (fd < 0) return fd;
  got = call3(read, fd, events, sizeof events - 1);
  call1(close, fd);
  if (got < 0) return got;
  events[got] = 0;
  for (char *at = events; *at; at++)
    if (at[0] == 'z' && at[1] == 'e' && at[2] == 'n' && at[3] == ' ' && at[4] == '1') return 1;
  return 0;
}

static void move(void) {
  if (is_still) set_still(0);
}

/* What a machine's memory is saved with must do nothing in a copy of it before the copy has its own names, clock and random numbers. */
static void still(void) {
  long error = set_still(1);
  for (u32 tries = 0; error >= 0 && tries < STILL_TRIES; tries++) {
    if (tries) call3(poll, NULL, 0, STILL_PAUSE_MS);
    if ((error = all_still()) == 1) return answer("ready", NULL);
  }
  set_still(0);
  failed("the commands do not stop: error ", error);
}

static void identity(void) {
  char *name = words[3], *machine_id = words[4], *seed = words[5], *nameserver = words[6];
  long error;
  if (!nameserver) return failed("the line is not complete ", 0);
  if ((error = set_clock(words[2])) < 0) return failed("the clock cannot be set: error ", error);
  set_name(name);
  join(machine_id, "\n", NULL, NULL);
  put("/run/atoll/machine-id", O_CREATE);
  join(seed, "\n", NULL, NULL);
  /* A seed that is written waits in the pool; the second call has the next random bytes depend on it. */
  if ((error = put("/dev/urandom", WRITE_ONLY)) < 0 || (error = ioctl_at("/dev/urandom", RNDRESEEDCRNG, NULL)) < 0)
    return failed("the kernel takes no random bytes: error ", error);
  if (!same(nameserver, "-")) {
    join("nameserver ", nameserver, "\n", NULL);
    put("/run/atoll/resolv.conf", O_CREATE);
    if ((error = connect_network()) < 0) return failed("no network: error ", error);
  }
  move();
  if (words[7] && same(words[7], "mounted")) return answer("ready", NULL);
  error = call5(mount, "/dev/vdb", "/workspace", "ext4", NOSUID | NODEV | NOATIME | SILENT, "noinit_itable,discard");
  if (error < 0) return failed("the volume cannot be mounted: error ", error);
  answer("ready", NULL);
}

static void clock(int named) {
  if (!words[2] || (named && !words[3])) return failed("the line is not complete ", 0);
  long error = set_clock(words[2]);
  if (error < 0) return failed("the clock cannot be set: error ", error);
  if (named) set_name(words[3]);
  move();
  answer("ready", NULL);
}

static void grow(void) {
  /* struct statfs: its second word is the size of a block. */
  static unsigned long about[32];
  unsigned long size = 0, wanted = 0;
  long error = 0;
  for (const char *digit = words[2] ? words[2] : ""; *digit >= '0' && *digit <= '9'; digit++) wanted = wanted * 10 + (*digit - '0');
  /* The kernel hears of the new size after the host has it. */
  for (u32 tries = 0; tries < GROW_TRIES && error >= 0 && size < wanted; tries++) {
    if (tries) call3(poll, NULL, 0, PAUSE_MIN_MS);
    error = ioctl_at("/dev/vdb", BLKGETSIZE64, &size);
  }
  if (error >= 0 && (size == 0 || size < wanted)) error = -INVALID;
  if (error >= 0) error = boot3(statfs, "/workspace", about, 0);
  if (error >= 0 && about[1] == 0) error = -INVALID;
  if (error >= 0) {
    size /= about[1];
    error = ioctl_at("/workspace", EXT4_RESIZE, &size);
  }
  if (error < 0) return failed("the volume cannot grow: error ", error);
  answer("ready", NULL);
}

/* What is half written when a machine is paused may be zeros in a copy of its volume: ext4 writes a file's new length without waiting for its data. */
static void freeze(void) {
  long error = ioctl_at("/workspace", FIFREEZE, NULL);
  if (error < 0) return failed("the volume cannot be frozen: error ", error);
  is_frozen = 1;
  answer("ready", NULL);
}

static void thaw(void) {
  if (is_frozen) ioctl_at("/workspace", FITHAW, NULL);
  is_frozen = 0;
}

static void go_on(void) {
  thaw();
  move();
}

/* Has boot.sh act on the words, and waits for its end. It answers on descriptor 3. */
static void by_shell(void) {
  static char *arguments[3 + WORDS_MAX + 1] = {"/run/atoll/busybox", "sh", "/run/atoll/boot.sh"};
  static char *environment[] = {NULL};
  volatile long pid;
  for (u32 n = 0; n <= WORDS_MAX; n++) arguments[3 + n] = words[n];
  __asm__ volatile("syscall" : "=a"(pid) : "a"((long)SYS_vfork) : "rcx", "r11", "memory");
  if (pid == 0) {
    if (port != 3) call2(dup2, port, 3);
    call3(execve, arguments[0], arguments, environment);
    call1(exit, 127);
  }
  if (pid > 0)
    while (call4(wait4, pid, NULL, 0, NULL) == -EINTR) {}
}

/* --- lines ------------------------------------------------------------------------------------------------------------------------- */

static void serve(char *from) {
  u32 count = 0;
  while (*from && count < WORDS_MAX) {
    while (*from == ' ') from++;
    if (!*from) break;
    words[count++] = from;
    while (*from && *from != ' ') from++;
    if (*from) *from++ = 0;
  }
  for (u32 n = count; n <= WORDS_MAX; n++) words[n] = NULL;
  if (count < 2) return;
  if (same(words[0], "identity")) identity();
  else if (same(words[0], "name")) clock(1);
  else if (same(words[0], "clock")) clock(0);
  else if (same(words[0], "flush")) system_call(BOOT_sync, 0, 0, 0, 0, 0), answer("ready", NULL);
  else if (same(words[0], "freeze")) freeze();
  else if (same(words[0], "still")) still();
  else if (same(words[0], "thaw")) go_on(), answer("ready", NULL);
  else if (same(words[0], "grow")) grow();
  else by_shell();
}

/* Serves the complete lines. A line that does not fit is dropped. */
static void serve_all(void) {
  u32 begin = 0;
  for (u32 at = 0; at < held; at++) {
    if (line[at] != '\n') continue;
    line[at] = 0;
    serve(line + begin);
    begin = at + 1;
  }
  for (u32 at = begin; at < held; at++) line[at - begin] = line[at];
  held -= begin;
  if (held == LINE_MAX) held = 0;
}

static int run(void) {
  int pause = PAUSE_MIN_MS;
  struct pollfd input = {0, POLLIN, 0};
  port = call2(open, port_path, O_RDWR);
  if (port < 0) {
    call3(poll, NULL, 0, 1000);
    return 1;
  }
  input.fd = port;
  while (1) {
    if (call3(poll, &input, 1, is_frozen ? FROZEN_MAX_MS : is_still ? STILL_MAX_MS : FOREVER) == 0) go_on();
    long got = call3(read, port, line + held, LINE_MAX - held);
    if (got > 0) {
      pause = PAUSE_MIN_MS;
      held += got;
      serve_all();
    } else if (got != -EINTR) {
      /* The port reads as ended while the host is disconnected. */
      thaw();
      call3(poll, NULL, 0, pause);
      if (is_still && (still_ms += pause) >= STILL_MAX_MS) move();
      if (pause < PAUSE_MAX_MS) pause *= 2;
    }
  }
}
