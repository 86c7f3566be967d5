/*
 * Makes the nth write, sync, truncation, rename or link below a folder fail, for tests. Loaded with LD_PRELOAD.
 * A program talks to it through access(): "fault:arm:KIND:N:FOLDER" begins to count, "fault:fired" succeeds when the nth
 * operation came, "fault:off" ends it. Kinds: EIO fails one operation; ENOSPC fails it and all later writes; SHORT writes
 * half of it and fails the rest with ENOSPC.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[4096];
static enum { EIO_ONCE, FULL, SHORT } kind;
static atomic_int armed, left, fired;

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int is_ours(const char *path) { return strncmp(path, folder, strlen(folder)) == 0; }

static int is_our_fd(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return is_ours(path);
}

/* Whether the operation of which this is asked fails: 0 no, 1 yes, 2 half of it is done. */
static int fails(int is_write) {
  int now = atomic_fetch_sub(&left, 1);
  if (now > 1) return 0;
  if (now == 1) {
    atomic_store(&fired, 1);
    errno = kind == EIO_ONCE ? EIO : ENOSPC;
    return kind == SHORT && is_write ? 2 : 1;
  }
  if (kind == EIO_ONCE || !is_write) return 0;
  errno = ENOSPC;
  return 1;
}

int access(const char *path, int mode) {
  REAL(int, "access", const char *, int);
  if (strncmp(path, "fault:", 6) != 0) return real(path, mode);
  if (strcmp(path, "fault:off") == 0) return atomic_store(&armed, 0), 0;
  if (strcmp(path, "fault:fired") == 0) return atomic_load(&fired) ? 0 : (errno = ENOENT, -1);
  char name[16];
  int n;
  if (sscanf(path, "fault:arm:%15[A-Z]:%d:%4095[^\n]", name, &n, folder) != 3) return errno = EINVAL, -1;
  kind = strcmp(name, "EIO") == 0 ? EIO_ONCE : strcmp(name, "SHORT") == 0 ? SHORT : FULL;
  atomic_store(&left, n);
  atomic_store(&fired, 0);
  atomic_store(&armed, 1);
  return 0;
}

#define AT_FD(is_write) int f = atomic_load(&armed) && is_our_fd(fd) ? fails(is_write) : 0; if (f == 1) return -1
#define HALF(size) (f == 2 ? ((size) + 1) / 2 : (size))

ssize_t write(int fd, const void *data, size_t size) {
  REAL(ssize_t, "write", int, const void *, size_t);
  AT_FD(1);
  return real(fd, data, HALF(size));
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
  AT_FD(1);
  return real(fd, data, HALF(size), at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  AT_FD(1);
  return real(fd, data, HALF(size), at);
}
int fsync(int fd) {
  REAL(int, "fsync", int);
  AT_FD(0);
  return real(fd);
}
int fdatasync(int fd) {
  REAL(int, "fdatasync", int);
  AT_FD(0);
  return real(fd);
}
int ftruncate(int fd, off_t size) {
  REAL(int, "ftruncate", int, off_t);
  AT_FD(0);
  return real(fd, size);
}
int ftruncate64(int fd, off64_t size) {
  REAL(int, "ftruncate64", int, off64_t);
  AT_FD(0);
  return real(fd, size);
}

static int path_fails(const char *path) {
  if (!atomic_load(&armed)) return 0;
  if (strncmp(path, "/proc/self/fd/", 14) != 0) return is_ours(path) && fails(0);
  return is_our_fd(atoi(path + 14)) && fails(0);
}
int rename(const char *from, const char *to) {
  REAL(int, "rename", const char *, const char *);
  return path_fails(to) ? -1 : real(from, to);
}
int link(const char *from, const char *to) {
  REAL(int, "link", const char *, const char *);
  return path_fails(to) ? -1 : real(from, to);
}
