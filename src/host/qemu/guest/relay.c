/*
 * Copies standard input to standard output for ever, the guest's end of a virtio-serial port. Such a port reads as ended for as long as the host
 * has hung up; then it is asked again after 20 ms, and after twice as long each time up to 160 ms. (Two shells that did so by starting programs
 * took a quarter of a processor in every guest whose host was away, and a woken guest had them to do first.) Ends when nobody reads what it
 * writes.
 */
#include "system.h"

enum { PAUSE_MIN_NS = 20000000, PAUSE_MAX_NS = 160000000, BYTES = 4096 /* a port gives no more at once */ };

static int run(void) {
  char bytes[BYTES];
  long pause = PAUSE_MIN_NS;
  while (1) {
    long got = call3(read, 0, bytes, BYTES);
    if (got > 0) {
      pause = PAUSE_MIN_NS;
      for (long done = 0; done < got;) {
        long put = call3(write, 1, bytes + done, got - done);
        if (put == -EINTR) continue;
        if (put <= 0) return 1;
        done += put;
      }
    } else {
      long time[2] = {0, pause};
      call2(nanosleep, time, NULL);
      if (pause < PAUSE_MAX_NS) pause *= 2;
    }
  }
}
