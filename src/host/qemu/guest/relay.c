/*
 * Copies standard input, the guest's end of a virtio-serial port, to standard output. Such a port reads as ended while the host is disconnected. Then
 * this program retries after 20 ms, and doubles the pause up to 160 ms. (Two shell loops that started programs for this took a quarter of a processor
 * in every guest without a connected host, and delayed a woken guest.)
 *
 * Ends as soon as the reader of its output has ended, even while no input comes from the host: PID 1 restarts the pair only when both have ended.
 */
#include "system.h"

enum { PAUSE_MIN_MS = 20, PAUSE_MAX_MS = 160, BYTES = 4096 /* a port delivers no more in one read */ };
enum { POLLIN = 1, POLLERR = 8 /* of a pipe */, POLLHUP = 16 /* of a socket */, FOREVER = -1 };

struct pollfd {
  int fd;
  short events, revents;
};

/* Waits for the time and, with `input`, for input. False when the output has no reader. */
static int wait(int input, int ms) {
  struct pollfd watched[2] = {{1, 0, 0}, {0, POLLIN, 0}};
  call3(poll, watched, input ? 2 : 1, ms);
  return !(watched[0].revents & (POLLERR | POLLHUP));
}

static int run(void) {
  char bytes[BYTES];
  int pause = PAUSE_MIN_MS;
  while (wait(1, FOREVER)) {
    long got = call3(read, 0, bytes, BYTES);
    if (got > 0) {
      pause = PAUSE_MIN_MS;
      for (long done = 0; done < got;) {
        long put = call3(write, 1, bytes + done, got - done);
        if (put == -EINTR) continue;
        if (put <= 0) return 1;
        done += put;
      }
    } else {
      if (!wait(0, pause)) return 1;
      if (pause < PAUSE_MAX_MS) pause *= 2;
    }
  }
  return 1;
}
