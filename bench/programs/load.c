/*
 * A client that sends HTTP/1.1 requests as fast as the server answers:  load PORT CONNECTIONS SECONDS PATH
 *
 * Every connection has one request in flight; every response must have status 200 and the same body. Prints one line
 * `REQUESTS SECONDS P50_US P99_US` and then the body. It is written in C so that the client is never the bottleneck.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROOM 65536

struct connection {
  char buffer[ROOM];
  size_t filled;
  double asked_at;
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char *what) {
  fprintf(stderr, "load: %s\n", what);
  exit(1);
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  if (argc != 5) fail("usage: load PORT CONNECTIONS SECONDS PATH");
  const int port = atoi(argv[1]), count = atoi(argv[2]);
  const double lasting = atof(argv[3]);
  char request[1024];
  const int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", argv[4], port);

  struct connection *connections = calloc((size_t)count, sizeof *connections);
  struct pollfd *polled = calloc((size_t)count, sizeof *polled);
  size_t room = 1024, asked = 0, answered = 0;
  double *waits = malloc(room * sizeof *waits);
  if (!connections || !polled || !waits) fail("out of memory");
  char body[ROOM];
  size_t body_length = 0;

  for (int i = 0; i < count; i++) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) fail(strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    polled[i] = (struct pollfd){.fd = fd, .events = POLLIN};
  }
  const double begun = now();
  for (int i = 0; i < count; i++, asked++) {
    connections[i].asked_at = now();
    if (write(polled[i].fd, request, (size_t)length) != length) fail("cannot write");
  }
  while (answered < asked) {
    if (poll(polled, (nfds_t)count, 30000) <= 0) fail("the server does not answer");
    for (int i = 0; i < count; i++) {
      if (polled[i].revents == 0) continue;
      struct connection *c = &connections[i];
      const ssize_t got = read(polled[i].fd, c->buffer + c->filled, ROOM - 1 - c->filled);
      if (got <= 0) fail("the server closed a connection");
      c->filled += (size_t)got;
      c->buffer[c->filled] = 0;
      const char *head = strstr(c->buffer, "\r\n\r\n");
      if (head == NULL) continue;
      if (strncmp(c->buffer, "HTTP/1.1 200", 12) != 0) fail(c->buffer);
      const char *announced = strcasestr(c->buffer, "\r\ncontent-length:");
      if (announced == NULL || announced > head) fail("an answer has no content-length");
      const size_t size = (size_t)atol(announced + 17), head_length = (size_t)(head + 4 - c->buffer);
      if (head_length + size >= ROOM) fail("an answer is too long");
      if (c->filled < head_length + size) continue;
      if (answered == 0) memcpy(body, head + 4, body_length = size);
      if (size != body_length || memcmp(body, head + 4, size) != 0) fail("two answers differ");
      const double at = now();
      if (answered == room && !(waits = realloc(waits, (room *= 2) * sizeof *waits))) fail("out of memory");
      waits[answered++] = at - c->asked_at;
      c->filled = 0;
      if (at - begun >= lasting) continue;
      asked++;
      c->asked_at = at;
      if (write(polled[i].fd, request, (size_t)length) != length) fail("cannot write");
    }
  }
  const double seconds = now() - begun;
  qsort(waits, answered, sizeof *waits, by_size);
  printf("%zu %.6f %.1f %.1f\n%.*s", answered, seconds, waits[answered / 2] * 1e6,
         waits[answered * 99 / 100] * 1e6, (int)body_length, body);
  return 0;
}
