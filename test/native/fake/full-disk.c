/*
 * Preloaded into a process, it makes the disk full for files whose name ends in `.partial` after
 * FAKE_DISK_BYTES bytes, as a real one would: write(2) and its kin fail with ENOSPC.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static long long written = 0;

static int is_full(int descriptor, size_t bytes) {
  char link[64], path[4096];
  const char *limit = getenv("FAKE_DISK_BYTES");
  if (limit == NULL || descriptor < 3) return 0;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length < 8) return 0;
  path[length] = 0;
  if (strcmp(path + length - 8, ".partial") != 0) return 0;
  if (written + (long long)bytes > atoll(limit)) return 1;
  written += (long long)bytes;
  return 0;
}

ssize_t write(int descriptor, const void *data, size_t bytes) {
  static ssize_t (*real)(int, const void *, size_t) = NULL;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "write");
  if (is_full(descriptor, bytes)) {
    errno = ENOSPC;
    return -1;
  }
  return real(descriptor, data, bytes);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  static ssize_t (*real)(int, const struct iovec *, int) = NULL;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "writev");
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  if (is_full(descriptor, bytes)) {
    errno = ENOSPC;
    return -1;
  }
  return real(descriptor, parts, count);
}

ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off64_t offset) {
  static ssize_t (*real)(int, const void *, size_t, off64_t) = NULL;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
  if (is_full(descriptor, bytes)) {
    errno = ENOSPC;
    return -1;
  }
  return real(descriptor, data, bytes, offset);
}
