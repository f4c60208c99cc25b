/*
 * Copies standard input to standard output, the guest's end of a virtio-serial port. Such a port reads as ended for as long as the host
 * has hung up; then it is asked again after 20 ms, and after twice as long each time up to 160 ms. (Two shells that did so by starting programs
 * took a quarter of a processor in every guest whose host was away, and a woken guest had them to do first.)
 *
 * Ends as soon as the reader of its output has ended, also while nothing comes from the host: PID 1 starts the pair again only when both are gone.
 */
#include "system.h"

enum { PAUSE_MIN_MS = 20, PAUSE_MAX_MS = 160, BYTES = 4096 /* a port gives no more at once */ };
enum { POLLIN = 1, POLLERR = 8 /* of a pipe */, POLLHUP = 16 /* of a socket */, FOREVER = -1 };

struct pollfd {
  int fd;
  short events, revents;
};

/* Waits for the time, or for input when it is asked for. False when the output has no reader. */
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
