/*
 * Starts the agent's commands, reads their output and reports their exit.
 *
 * Why not Node: it reports a death by a real-time signal as exit 0. It also forks: it copies its page tables for each child, and takes a fault for
 * every page that it touches afterwards. This program lends its few pages to the child until the child executes its program (vfork). Under TCG, the
 * fork and Node's work for each pipe both cost more than the command itself.
 *
 * The build of the VM image makes `spawner.x64` beside this file from it (`npm run vm:image`; in the image it is `programs/spawner`). A test checks
 * that the two are equal.
 *
 * The first line of standard input is the path of this program's own `cgroup.threads`, empty if there is none. Requests follow. Each is a size (of
 * the rest), a kind and an id, then its fields; all are 32-bit numbers:
 *   1 start     uid, gid (-1: the agent's own), credit of each stream, 1 if the agent does not wait for `started`, number of arguments, number of environment
 *               entries; then strings that each end with a zero byte, filled up to a multiple of four: the command's `cgroup.threads` (empty: none;
 *               a daemon's is the folder of its cgroup),
 *               a file to read its input from (empty: none), working directory, arguments, environment
 *   2 credit    stream (0: output, 1: errors), bytes: this program may send that many more bytes of the stream
 *   3 forget    closes the pipes; no more events follow
 *   4 inherit   the pid of this program's parent, then pairs of descriptors: one of the parent's (-1: the command's own output), and its number in the
 *               command. The next start with this id is a daemon that gets these. A daemon is killed no sooner than this program when memory runs out,
 *               and its output is sent as it comes
 * Standard output is events of four 32-bit numbers each:
 *   1 started   id, pid, 0              the command runs its program
 *   2 failed    id, error, stage        the command could not start, and is forgotten; stage 1: because of its working directory
 *   3 output    id, stream, length      that many bytes follow
 *   4 exited    id, status, 0           the status of waitpid(2)
 *   5 drained   id, closed, alone       all of the command's own output was sent; output of other processes that hold its pipes is read and dropped.
 *                                       closed: no process holds the pipes, and the command is forgotten. alone: its cgroup is empty
 * This program ends when its standard input ends.
 */
#include "system.h"

enum { REQUEST_MAX = 4 << 20, STRINGS_MAX = 1 << 19, PATH_MAX = 4096, COMMANDS_MAX = 4096, READ_MAX = 65536, EVENTS_MAX = 4096 };
enum { START = 1, CREDIT = 2, FORGET = 3, INHERIT = 4 };
enum { STARTED = 1, FAILED = 2, OUTPUT = 3, EXITED = 4, DRAINED = 5 };
/* A pipe holds at most this much without privileges. What is read beyond it after the command's exit was written by another process. */
enum { PIPE_MAX = 1 << 20, SIGCHLD_MASK = 1 << 16, EVENT_BYTES = 16, CGROUP_MAX = 512 };
/* Most commands have ended after this time: their output is then read in one go and all events go out in one write. */
enum { SHORT_MS = 20 };
/* @source clone3(2), Linux 5.7 */
enum { CLONE_VM = 0x100, CLONE_VFORK = 0x4000, SIGCHLD = 17 };
#define CLONE_INTO_CGROUP 0x200000000UL
/* The parent's pidfd is above each number that a command may be given. */
enum { INHERITED_MAX = 64, INHERITED_BELOW = 256, OWN_OUTPUT = -1 };
/* Stages of a failure. */
enum { ELSEWHERE = 0, AT_FOLDER = 1 };

struct head {
  u32 size, kind, id;
};

struct start {
  int uid, gid;
  u32 credit, unwaited, arguments, entries;
};

struct inherited {
  u32 id; /* 0: none is asked for */
  int parent;
  u32 count;
  struct { int from, to; } pairs[INHERITED_MAX];
};

struct stream {
  int fd; /* -1: closed */
  u32 credit, after_exit;
  int drained;
};

struct command {
  u32 id; /* 0: this slot is free */
  int pid, exited, drained, is_new;
  struct stream streams[2];
  char events_file[CGROUP_MAX]; /* of its cgroup; empty: unknown */
};

struct pollfd {
  int fd;
  short events, revents;
};

struct clone {
  unsigned long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

static u8 request[REQUEST_MAX];
static u32 held;
static char *strings[STRINGS_MAX + 4];
static char own_cgroup[PATH_MAX];
static char candidate[PATH_MAX];
static struct command commands[COMMANDS_MAX];
static u32 places; /* slots in use end here */
static struct pollfd watched[2 + 2 * COMMANDS_MAX];
static struct { struct command *command; u32 stream; } watched_for[2 + 2 * COMMANDS_MAX];
static u8 told[EVENTS_MAX + READ_MAX];
static u32 told_bytes;
static struct inherited inherited;
static int urgent;
/* When commands that are still new stop counting as short. */
static long short_until;

/* --- events ------------------------------------------------------------------------------------------------------------------------ */

/* Without the agent there is nothing to do. */
static void flush(void) {
  for (u32 done = 0; done < told_bytes;) {
    long put = call3(write, 1, told + done, told_bytes - done);
    if (put == -EINTR) continue;
    if (put <= 0) call1(exit, 1);
    done += put;
  }
  told_bytes = 0;
  urgent = 0;
}

static void tell(int kind, u32 id, int first, int second) {
  if (told_bytes + EVENT_BYTES > EVENTS_MAX) flush();
  int *event = (int *)(told + told_bytes);
  event[0] = kind, event[1] = id, event[2] = first, event[3] = second;
  told_bytes += EVENT_BYTES;
  if (kind != STARTED) urgent = 1;
}

/* --- strings ----------------------------------------------------------------------------------------------------------------------- */

static u32 length(const char *text) {
  u32 n = 0;
  while (text[n]) n++;
  return n;
}

static int contains_slash(const char *text) {
  for (; *text; text++)
    if (*text == '/') return 1;
  return 0;
}

static char *append(char *to, const char *text) {
  while (*text) *to++ = *text++;
  return to;
}

/* --- one command ------------------------------------------------------------------------------------------------------------------- */

static long write_to(const char *path, const char *text) {
  long fd = call2(open, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  long put = call3(write, fd, text, length(text));
  call1(close, fd);
  return put < 0 ? put : 0;
}

static long take_input(const char *path) {
  long fd = call2(open, *path ? path : "/dev/null", O_RDONLY);
  if (fd < 0) return fd;
  long result = call2(dup2, fd, 0);
  call1(close, fd);
  return result < 0 ? result : 0;
}

static long execute(char *path, char **arguments, char **environment) {
  long error = call3(execve, path, arguments, environment);
  if (error != -ENOEXEC) return error;
  /* A script without an interpreter line: do as execvp(3) does. The slot before the arguments is free. */
  char *name = arguments[0];
  arguments[-1] = "/bin/sh";
  arguments[0] = path;
  error = call3(execve, "/bin/sh", arguments - 1, environment);
  arguments[0] = name;
  return error;
}

/* Like execvpe(3) with the PATH of the new environment. Returns only on an error. */
static long execute_found(char **arguments, char **environment) {
  char *file = arguments[0];
  if (contains_slash(file)) return execute(file, arguments, environment);
  if (!*file) return -ENOENT;
  const char *path = "/bin:/usr/bin";
  for (char **entry = environment; *entry; entry++) {
    const char *e = *entry;
    if (e[0] == 'P' && e[1] == 'A' && e[2] == 'T' && e[3] == 'H' && e[4] == '=') path = e + 5;
  }
  u32 name = length(file);
  long denied = 0;
  while (1) {
    u32 folder = 0;
    while (path[folder] && path[folder] != ':') folder++;
    if (folder + name + 2 <= PATH_MAX) {
      char *to = candidate;
      for (u32 i = 0; i < folder; i++) *to++ = path[i];
      if (folder) *to++ = '/';
      *append(to, file) = 0;
      long error = execute(candidate, arguments, environment);
      if (error == -EACCES) denied = error;
      else if (error != -ENOENT && error != -ENOTDIR && error != -ENODEV) return error;
    }
    if (!path[folder]) return denied ? denied : -ENOENT;
    path += folder + 1;
  }
}

/*
 * A pidfd of the parent. Its descriptors are taken by number (pidfd_getfd(2)): a listening socket cannot be opened by a name, and opening a FIFO may
 * wait.
 */
static long open_parent(int pid) {
  long low = call2(pidfd_open, pid, 0);
  if (low < 0) return low;
  long high = call3(fcntl, low, 1030 /* F_DUPFD_CLOEXEC */, INHERITED_BELOW);
  call1(close, low);
  if (high < 0 || call1(getppid, 0) == pid) return high;
  /* The parent has ended, and its pid may be another process's. */
  call1(close, high);
  return -ESRCH;
}

/* Runs in the child. */
static long take_inherited(struct inherited *what, long parent) {
  long error = 0;
  for (u32 n = 0; n < what->count && error >= 0; n++) {
    int from = what->pairs[n].from, to = what->pairs[n].to;
    long fd = from == OWN_OUTPUT ? call3(fcntl, 1, 1030 /* F_DUPFD_CLOEXEC */, 0) : call3(pidfd_getfd, parent, from, 0);
    if (fd < 0) return fd;
    error = fd == to ? call3(fcntl, fd, 2 /* F_SETFD */, 0) : call2(dup2, fd, to);
    if (fd != to) call1(close, fd);
  }
  return error;
}

/* Runs in the child, on the parent's memory. `parent`: negative for a command that inherits nothing. Returns only on an error. */
static long become(struct start *how, int output, int errors, long parent, char *input, char *folder, char **arguments, char **environment,
                   volatile int *stage) {
  long error;
  call4(rt_sigprocmask, 2 /* SIG_SETMASK */, "\0\0\0\0\0\0\0", NULL, 8);
  call1(setsid, 0);
  if ((error = take_input(input)) < 0) return error;
  if ((error = call2(dup2, output, 1)) < 0 || (error = call2(dup2, errors, 2)) < 0) return error;
  if (parent >= 0) {
    if ((error = take_inherited(&inherited, parent)) < 0) return error;
  } else {
    /* In thousandths of all memory: when memory runs out, the kernel kills the command before the agent. */
    write_to("/proc/self/oom_score_adj", "500");
  }
  if (how->gid >= 0 && ((error = call2(setgroups, 0, NULL)) < 0 || (error = call1(setgid, how->gid)) < 0)) return error;
  if (how->uid >= 0 && (error = call1(setuid, how->uid)) < 0) return error;
  *stage = AT_FOLDER;
  if ((error = call1(chdir, folder)) < 0) return error;
  *stage = ELSEWHERE;
  return execute_found(arguments, environment);
}

static void close_stream(struct stream *stream) {
  if (stream->fd >= 0) call1(close, stream->fd);
  stream->fd = -1;
  stream->drained = 1;
}

static void release(struct command *command) {
  for (u32 s = 0; s < 2; s++) close_stream(&command->streams[s]);
  command->id = 0;
  while (places && !commands[places - 1].id) places--;
}

static struct command *find(u32 id) {
  for (u32 n = 0; n < places; n++)
    if (commands[n].id == id) return &commands[n];
  return NULL;
}

static struct command *free_place(void) {
  struct command *place = find(0);
  if (place) return place;
  return places < COMMANDS_MAX ? &commands[places++] : NULL;
}

/* Returns the pipe's end for the command, or an error. */
static long open_stream(struct stream *stream, struct start *how) {
  int ends[2];
  stream->fd = -1;
  stream->credit = how->credit;
  stream->after_exit = 0;
  stream->drained = 0;
  long error = call2(pipe2, ends, O_CLOEXEC);
  if (error < 0) return error;
  stream->fd = ends[0];
  call3(fcntl, ends[0], 4 /* F_SETFL */, O_NONBLOCK);
  /* The command must be able to open /dev/stdout. */
  if (how->uid >= 0) call3(fchown, ends[1], how->uid, how->gid);
  return ends[1];
}

static long spawn(struct command *command, struct start *how, long parent, char *cgroup, char *input, char *folder, char **arguments,
                  char **environment, volatile int *stage) {
  volatile long error = 0;
  volatile long pid;
  /* A daemon starts in its cgroup. To move a whole process there takes the kernel some 10 ms. */
  static struct clone in_cgroup;
  long number = SYS_vfork;
  long daemon_cgroup = -1;
  if (parent >= 0 && *cgroup) {
    daemon_cgroup = call2(open, cgroup, O_DIRECTORY | O_CLOEXEC);
    if (daemon_cgroup < 0) error = daemon_cgroup;
    in_cgroup.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP;
    in_cgroup.exit_signal = SIGCHLD;
    in_cgroup.cgroup = daemon_cgroup;
    number = SYS_clone3;
    cgroup = "";
  }
  long output = open_stream(&command->streams[0], how);
  long errors = open_stream(&command->streams[1], how);
  if (error < 0 || output < 0 || errors < 0) error = error < 0 ? error : output < 0 ? output : errors;
  /* A child starts in its parent's cgroup: it is never visible outside its own. */
  else if (!*cgroup || (error = write_to(cgroup, "0")) >= 0) {
    /* vfork is inlined here because the child must not leave this function's frame: the parent sees what the child writes to it. */
    __asm__ volatile("syscall" : "=a"(pid) : "a"(number), "D"(&in_cgroup), "S"(sizeof in_cgroup) : "rcx", "r11", "memory");
    if (pid == 0) {
      error = become(how, output, errors, parent, input, folder, arguments, environment, stage);
      call1(exit, 127);
    }
    if (*cgroup && *own_cgroup) write_to(own_cgroup, "0");
    if (pid < 0) error = pid;
    else if (error < 0) call4(wait4, pid, NULL, 0, NULL);
  }
  if (daemon_cgroup >= 0) call1(close, daemon_cgroup);
  if (output >= 0) call1(close, output);
  if (errors >= 0) call1(close, errors);
  return error < 0 ? error : pid;
}

static long now_ms(void) {
  long time[2];
  call2(clock_gettime, 1 /* CLOCK_MONOTONIC */, time);
  return time[0] * 1000 + time[1] / 1000000;
}

/* `cgroup.events` is beside `cgroup.threads`. */
static void name_events_file(struct command *command, const char *cgroup) {
  u32 folder = length(cgroup);
  while (folder && cgroup[folder - 1] != '/') folder--;
  command->events_file[0] = 0;
  if (!folder || folder + 16 > CGROUP_MAX) return;
  for (u32 i = 0; i < folder; i++) command->events_file[i] = cgroup[i];
  *append(command->events_file + folder, "cgroup.events") = 0;
}

/* Whether the kernel counts no process in the command's cgroup. */
static int is_alone(struct command *command) {
  static const char nobody[] = "populated 0\n";
  char text[128];
  if (!command->events_file[0]) return 0;
  long fd = call2(open, command->events_file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  long got = call3(read, fd, text, sizeof text);
  call1(close, fd);
  for (long at = 0; at + (long)sizeof nobody - 1 <= got; at++) {
    u32 same = 0;
    while (nobody[same] && nobody[same] == text[at + same]) same++;
    if (!nobody[same]) return 1;
  }
  return 0;
}

static void start(u32 id, struct start *how, char *cgroup, char *input, char *folder, char **arguments, char **environment) {
  int is_daemon = inherited.id == id;
  inherited.id = 0;
  struct command *command = free_place();
  volatile int stage = ELSEWHERE;
  if (!command) return tell(FAILED, id, EAGAIN, 0);
  long parent = is_daemon ? open_parent(inherited.parent) : -1;
  if (is_daemon && parent < 0) return tell(FAILED, id, -parent, 0);
  command->id = id;
  command->exited = command->drained = 0;
  command->is_new = !is_daemon;
  name_events_file(command, is_daemon ? "" : cgroup);
  long pid = spawn(command, how, parent, cgroup, input, folder, arguments, environment, &stage);
  if (parent >= 0) call1(close, parent);
  if (pid < 0) {
    release(command);
    return tell(FAILED, id, -pid, stage);
  }
  command->pid = pid;
  if (!is_daemon) short_until = now_ms() + SHORT_MS;
  tell(STARTED, id, pid, 0);
  if (!how->unwaited) urgent = 1;
}

/* Reads once. Returns the result of read(2), or 0 for a stream that is closed or must wait. */
static long read_stream(struct command *command, u32 number) {
  struct stream *stream = &command->streams[number];
  if (stream->fd < 0) return 0;
  if (stream->drained) {
    static u8 dropped[READ_MAX];
    long got = call3(read, stream->fd, dropped, READ_MAX);
    if (got == 0) close_stream(stream);
    return got;
  }
  if (!stream->credit) return 0;
  if (told_bytes + EVENT_BYTES > EVENTS_MAX) flush();
  u32 at = told_bytes + EVENT_BYTES;
  long got = call3(read, stream->fd, told + at, stream->credit < READ_MAX ? stream->credit : READ_MAX);
  if (got > 0) {
    tell(OUTPUT, command->id, number, got);
    told_bytes += got;
    stream->credit -= got;
    if (command->exited && (stream->after_exit += got) >= PIPE_MAX) stream->drained = 1;
    /* After output of odd length the next event is unaligned; x86-64 permits that. */
  } else if (got == 0) close_stream(stream);
  else if (command->exited && got == -EAGAIN) stream->drained = 1;
  return got;
}

/* Reads what an ended command left in its pipes, as far as credit allows. */
static void drain(struct command *command) {
  if (command->drained) return;
  for (u32 s = 0; s < 2; s++)
    while (!command->streams[s].drained && read_stream(command, s) > 0) {}
  if (!command->streams[0].drained || !command->streams[1].drained) return;
  command->drained = 1;
  int closed = command->streams[0].fd < 0 && command->streams[1].fd < 0;
  tell(DRAINED, command->id, closed, is_alone(command));
  if (closed) release(command);
}

static void reap(void) {
  int status;
  long pid;
  while ((pid = call4(wait4, -1, &status, 1 /* WNOHANG */, NULL)) > 0)
    for (u32 n = 0; n < places; n++) {
      struct command *command = &commands[n];
      if (!command->id || command->pid != pid || command->exited) continue;
      command->exited = 1;
      tell(EXITED, command->id, status, 0);
      drain(command);
      break;
    }
}

/* --- requests ---------------------------------------------------------------------------------------------------------------------- */

/* Splits the request's strings. */
static void serve_start(u32 id, struct start *how, char *end) {
  char *text = (char *)(how + 1);
  u32 count = 3 + how->arguments + how->entries;
  if (how->arguments < 1 || how->arguments > STRINGS_MAX || how->entries > STRINGS_MAX || count > STRINGS_MAX)
    return tell(FAILED, id, E2BIG, 0);
  /* cgroup, input, folder, a free slot, arguments, NULL, entries, NULL */
  u32 at = 0;
  for (u32 n = 0; n < count; n++) {
    if (n == 3) at++;
    if (n == 3 + how->arguments) strings[at++] = NULL;
    strings[at++] = text;
    while (text < end && *text) text++;
    if (text++ == end) return tell(FAILED, id, E2BIG, 0);
  }
  if (how->entries == 0) strings[at++] = NULL;
  strings[at] = NULL;
  start(id, how, strings[0], strings[1], strings[2], strings + 4, strings + 5 + how->arguments);
}

static int note_inherited(u32 id, int *given, u32 bytes) {
  u32 count = bytes / 8;
  if (bytes % 8 != 4 || count > INHERITED_MAX) return 0;
  inherited.id = id;
  inherited.parent = given[0];
  inherited.count = count;
  for (u32 n = 0; n < count; n++) {
    inherited.pairs[n].from = given[1 + 2 * n];
    inherited.pairs[n].to = given[2 + 2 * n];
    if (inherited.pairs[n].to < 0 || inherited.pairs[n].to >= INHERITED_BELOW) return 0;
  }
  return 1;
}

static int serve(struct head *head) {
  char *end = (char *)head + 4 + head->size;
  u32 rest = head->size + 4 - sizeof *head;
  struct command *command = head->kind == CREDIT || head->kind == FORGET ? find(head->id) : NULL;
  if (!head->id) return 0;
  switch (head->kind) {
    case START:
      if (rest < sizeof(struct start)) return 0;
      serve_start(head->id, (struct start *)(head + 1), end);
      return 1;
    case CREDIT: {
      u32 *given = (u32 *)(head + 1);
      if (rest != 8 || given[0] > 1) return 0;
      if (!command) return 1;
      command->streams[given[0]].credit += given[1];
      if (command->exited) drain(command);
      return 1;
    }
    case FORGET:
      if (command) release(command);
      return 1;
    case INHERIT:
      return note_inherited(head->id, (int *)(head + 1), rest);
    default:
      return 0;
  }
}

/* Serves the complete requests in the buffer. False: the input is not from the agent. */
static int serve_all(void) {
  u32 at = 0;
  while (held - at >= sizeof(struct head)) {
    struct head *head = (struct head *)(request + at);
    if (head->size < sizeof *head - 4 || head->size > REQUEST_MAX - 4) return 0;
    if (held - at < head->size + 4) break;
    if (!serve(head)) return 0;
    at += head->size + 4;
  }
  for (u32 i = at; i < held; i++) request[i - at] = request[i];
  held -= at;
  return 1;
}

static int read_own_cgroup(void) {
  for (u32 n = 0; n < PATH_MAX; n++) {
    if (call3(read, 0, own_cgroup + n, 1) != 1) return 0;
    if (own_cgroup[n] == '\n') {
      own_cgroup[n] = 0;
      return 1;
    }
  }
  return 0;
}

static u32 watch(long ended) {
  u32 count = 2;
  if (short_until && now_ms() >= short_until) {
    for (u32 n = 0; n < places; n++) commands[n].is_new = 0;
    short_until = 0;
    /* The agent should learn now that these commands run. */
    if (told_bytes) flush();
  }
  watched[0].fd = 0;
  watched[1].fd = ended;
  for (u32 n = 0; n < places; n++)
    for (u32 s = 0; s < 2; s++) {
      struct stream *stream = &commands[n].streams[s];
      if (!commands[n].id || commands[n].is_new || stream->fd < 0 || !(stream->drained || stream->credit)) continue;
      watched[count].fd = stream->fd;
      watched_for[count].command = &commands[n];
      watched_for[count].stream = s;
      count++;
    }
  for (u32 n = 0; n < count; n++) watched[n].events = 1 /* POLLIN */, watched[n].revents = 0;
  return count;
}

static int run(void) {
  unsigned long mask = SIGCHLD_MASK;
  u8 information[128];
  if (!read_own_cgroup()) return 1;
  call4(rt_sigprocmask, 0 /* SIG_BLOCK */, &mask, NULL, 8);
  long ended = call4(signalfd4, -1, &mask, 8, O_NONBLOCK | O_CLOEXEC);
  if (ended < 0) return 1;
  while (1) {
    u32 count = watch(ended);
    long left = short_until ? short_until - now_ms() : -1;
    if (call3(poll, watched, count, short_until && left < 0 ? 0 : left) < 0) continue;
    /* Output comes first: what a command wrote before its exit is sent before the exit. */
    for (u32 n = 2; n < count; n++)
      if (watched[n].revents) {
        struct command *command = watched_for[n].command;
        read_stream(command, watched_for[n].stream);
        if (command->exited) drain(command);
      }
    if (watched[1].revents) {
      call3(read, ended, information, sizeof information);
      reap();
    }
    if (watched[0].revents) {
      long got = call3(read, 0, request + held, REQUEST_MAX - held);
      if (got <= 0 && got != -EINTR && got != -EAGAIN) return 0;
      if (got > 0) held += got;
      if (!serve_all()) return 1;
    }
    if (urgent) flush();
  }
}
