/*
 * Many WebSockets that only receive:  listen PORT PATH COUNT
 *
 * Prints `ready` when all are open. For every line on stdin it prints `SUM LEAST MOST`: the number of text frames
 * received on all sockets, on the socket with the fewest and on the socket with the most, since the last line `begin`.
 * It is written in C so that the client is never the bottleneck.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD 4096

struct listener {
  unsigned char head[HEAD];
  size_t filled;      /* of the handshake response, or of a frame header */
  int open;           /* the handshake is complete */
  unsigned long skip; /* payload bytes of the current frame still to be received */
  long frames;
};

static void fail(const char *what) {
  fprintf(stderr, "listen: %s\n", what);
  exit(1);
}

/* Parses bytes as they arrive: the handshake response up to its blank line, then frame headers and payloads. */
static void take(struct listener *l, const unsigned char *bytes, size_t count) {
  while (count > 0) {
    if (l->skip > 0) {
      const size_t some = count < l->skip ? count : l->skip;
      l->skip -= some, bytes += some, count -= some;
      continue;
    }
    if (l->filled == HEAD) fail("an answer is too long");
    l->head[l->filled++] = *bytes++;
    count--;
    if (!l->open) {
      if (l->filled < 4 || memcmp(l->head + l->filled - 4, "\r\n\r\n", 4) != 0) continue;
      if (memcmp(l->head, "HTTP/1.1 101", 12) != 0) fail("a handshake was refused");
      l->open = 1, l->filled = 0;
      continue;
    }
    if (l->filled < 2) continue;
    const unsigned length = l->head[1] & 127, extra = length == 126 ? 2 : length == 127 ? 8 : 0;
    if (l->filled < 2 + extra) continue;
    l->skip = extra == 0 ? length : 0;
    for (unsigned i = 0; i < extra; i++) l->skip = l->skip << 8 | l->head[2 + i];
    if ((l->head[0] & 15) == 1) l->frames++;
    l->filled = 0;
  }
}

int main(int argc, char **argv) {
  if (argc != 4) fail("usage: listen PORT PATH COUNT");
  const int count = atoi(argv[3]);
  struct listener *listeners = calloc((size_t)count, sizeof *listeners);
  struct pollfd *polled = calloc((size_t)count + 1, sizeof *polled);
  if (!listeners || !polled) fail("out of memory");
  char request[512];
  const int length = snprintf(request, sizeof request,
                              "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
                              argv[2], argv[1]);
  for (int i = 0; i < count; i++) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) fail(strerror(errno));
    if (write(fd, request, (size_t)length) != length) fail("cannot write");
    polled[i] = (struct pollfd){.fd = fd, .events = POLLIN};
  }
  polled[count] = (struct pollfd){.fd = 0, .events = POLLIN};
  static unsigned char bytes[1 << 16];
  int opened = 0;
  while (poll(polled, (nfds_t)count + 1, -1) > 0) {
    for (int i = 0; i < count; i++) {
      if (polled[i].revents == 0) continue;
      const ssize_t got = read(polled[i].fd, bytes, sizeof bytes);
      if (got <= 0) fail("the server closed a socket");
      const int before = listeners[i].open;
      take(&listeners[i], bytes, (size_t)got);
      opened += listeners[i].open - before;
      if (opened == count && !before) puts("ready"), fflush(stdout);
    }
    if (polled[count].revents == 0) continue;
    const ssize_t asked = read(0, bytes, sizeof bytes);
    if (asked <= 0) return 0;
    long sum = 0, least = -1, most = 0;
    for (int i = 0; i < count; i++) {
      if (bytes[0] == 'b') listeners[i].frames = 0;
      const long frames = listeners[i].frames;
      sum += frames;
      if (least < 0 || frames < least) least = frames;
      if (frames > most) most = frames;
    }
    printf("%ld %ld %ld\n", sum, least, most), fflush(stdout);
  }
  return 1;
}
