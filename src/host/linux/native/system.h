/*
 * A minimal replacement for the C library in the small programs inside Sandboxes: x86-64 Linux system calls and an entry point.
 *
 * The programs are static and tiny. In a guest that was just restored under TCG, a dynamically linked program takes a hundred times as long to start,
 * and each fork pays for every page of the parent.
 */
typedef unsigned char u8;
typedef unsigned int u32;

enum {
  SYS_read = 0, SYS_write = 1, SYS_open = 2, SYS_close = 3, SYS_poll = 7, SYS_rt_sigprocmask = 14, SYS_ioctl = 16, SYS_dup2 = 33,
  SYS_nanosleep = 35, SYS_vfork = 58, SYS_execve = 59, SYS_exit = 60, SYS_wait4 = 61, SYS_fcntl = 72, SYS_flock = 73, SYS_chdir = 80, SYS_fchown = 93,
  SYS_setuid = 105, SYS_setgid = 106, SYS_getppid = 110, SYS_setsid = 112, SYS_setgroups = 116, SYS_mount = 165, SYS_clock_settime = 227,
  SYS_clock_gettime = 228, SYS_signalfd4 = 289, SYS_pipe2 = 293, SYS_pidfd_open = 434, SYS_clone3 = 435, SYS_pidfd_getfd = 438
};

enum { O_RDONLY = 0, O_WRONLY = 1, O_RDWR = 2, O_NONBLOCK = 04000, O_DIRECTORY = 0200000, O_CLOEXEC = 02000000 };
enum { ENOENT = 2, ESRCH = 3, EINTR = 4, E2BIG = 7, ENOEXEC = 8, EAGAIN = 11, EACCES = 13, EBUSY = 16, ENODEV = 19, ENOTDIR = 20 };

#define NULL ((void *)0)

static long system_call(long number, long a, long b, long c, long d, long e) {
  long result;
  __asm__ volatile("movq %5, %%r10; movq %6, %%r8; syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "m"(d), "m"(e)
                   : "rcx", "r8", "r10", "r11", "memory");
  return result;
}

#define call5(n, a, b, c, d, e) system_call(SYS_##n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define call4(n, a, b, c, d) call5(n, a, b, c, d, 0)
#define call3(n, a, b, c) call4(n, a, b, c, 0)
#define call2(n, a, b) call4(n, a, b, 0, 0)
#define call1(n, a) call4(n, a, 0, 0, 0)

static int run(void);

void _start(void) {
  call1(exit, run());
}
