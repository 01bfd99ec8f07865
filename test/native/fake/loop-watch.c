/*
 * A watcher of Node's event loop, as an addon of its own, so that what is measured is not asked of the addon
 * that is measured. It tells what the loop's own thread does in each of its turns, apart from what the rest
 * of the machine does to it. Loaded with `require`:
 *
 *   start()  watches from here on. The loop goes round without ever sleeping: a turn in which its
 *            thread gives up the processor of its own accord has waited for something.
 *   mark()   this turn does the work in question.
 *   stop()   { turns, marked, waits, longestWait, longestDriverWait, median, longest }: how many turns there
 *            were, how many of them are marked, and in how many of those the thread waited; in milliseconds the
 *            longest wait of any turn, for anything and for the driver, and what the marked ones cost.
 *
 * The wait of a turn is its time by the clock, less the processor time that the thread had in it and the time
 * for which it was ready and others had the processor; 0 when it never gave up the processor of its own
 * accord (RUSAGE_THREAD). A turn costs its processor time and its wait. Whoever waits for a call of the driver,
 * be it for a lock that is held meanwhile, waits until the call ends: a wait may be one for the driver if a call
 * of the fake driver ended in its turn.
 *
 * Two controls must be caught. Both call the NVIDIA library that the loader finds:
 *
 *   callDriver()   on the loop's own thread.
 *   awaitDriver()  on another one, while the loop's thread waits for a lock that it holds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <node_api.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* What is needed of libuv, which node exports; its header is not among those of node-api-headers. */
typedef struct uv_handle uv_handle;
enum { HANDLE_IDLE = 6, HANDLE_PREPARE = 9 };
size_t uv_handle_size(int type);
int uv_idle_init(struct uv_loop_s* loop, uv_handle* handle);
int uv_idle_start(uv_handle* handle, void (*turn)(uv_handle*));
int uv_idle_stop(uv_handle* handle);
int uv_prepare_init(struct uv_loop_s* loop, uv_handle* handle);
int uv_prepare_start(uv_handle* handle, void (*turn)(uv_handle*));
int uv_prepare_stop(uv_handle* handle);

/* Of this thread, in nanoseconds; `ready` is how long it was ready to run while others had the processor. */
struct account {
  long long processor, clock, ready;
  long switches;
};

enum { MAX_MARKED = 4096 };
static uv_handle *idle, *prepare;
static int schedule = -1; /* /proc/thread-self/schedstat, kept open */
static struct account before;
static int is_marked;
static double turns, waits, longest_wait, longest_driver_wait;
static atomic_llong *last_ends[2]; /* `fake_last_end` of both libraries of the fake driver */
static double costs[MAX_MARKED]; /* of marked turns */
static int marked;

static long long nanoseconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

static long long ready_nanoseconds(void) {
  char text[96] = "";
  long long run = 0, ready = 0;
  if (pread(schedule, text, sizeof(text) - 1, 0) <= 0) return 0;
  return sscanf(text, "%lld %lld", &run, &ready) == 2 ? ready : 0;
}

static struct account account(void) {
  return (struct account){nanoseconds(CLOCK_THREAD_CPUTIME_ID), nanoseconds(CLOCK_MONOTONIC),
                          ready_nanoseconds(), switches()};
}

static int driver_ended_since(long long moment) { return *last_ends[0] >= moment || *last_ends[1] >= moment; }

static void do_nothing(uv_handle* handle) { (void)handle; }

static void end_turn(uv_handle* handle) {
  (void)handle;
  const struct account now = account();
  const long long processor = now.processor - before.processor;
  long long wait = 0;
  if (now.switches != before.switches) wait = now.clock - before.clock - processor - (now.ready - before.ready);
  if (wait < 0) wait = 0; /* the clocks are read one after the other */
  if ((double)wait / 1e6 > longest_wait) longest_wait = (double)wait / 1e6;
  if (wait > 0 && driver_ended_since(before.clock) && (double)wait / 1e6 > longest_driver_wait)
    longest_driver_wait = (double)wait / 1e6;
  turns += 1;
  if (is_marked) waits += wait > 0;
  if (is_marked && marked < MAX_MARKED) costs[marked++] = (double)(processor + wait) / 1e6;
  is_marked = 0;
  before = account();
}

static atomic_llong *last_end_of(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  atomic_llong *last_end = library == NULL ? NULL : dlsym(library, "fake_last_end");
  if (last_end != NULL) return last_end;
  fprintf(stderr, "%s is not that of the fake driver\n", name);
  abort();
}

static napi_value start(napi_env env, napi_callback_info info) {
  (void)info;
  struct uv_loop_s* loop = NULL;
  napi_get_uv_event_loop(env, &loop);
  if (idle == NULL) {
    schedule = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    last_ends[0] = last_end_of("libnvidia-ml.so.1");
    last_ends[1] = last_end_of("libcuda.so.1");
    idle = calloc(1, uv_handle_size(HANDLE_IDLE));
    prepare = calloc(1, uv_handle_size(HANDLE_PREPARE));
    uv_idle_init(loop, idle);
    uv_prepare_init(loop, prepare);
  }
  turns = waits = longest_wait = longest_driver_wait = 0;
  is_marked = marked = 0;
  uv_idle_start(idle, do_nothing);
  uv_prepare_start(prepare, end_turn);
  before = account();
  return NULL;
}

static napi_value mark(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  is_marked = 1;
  return NULL;
}

static int ascending(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

static void set(napi_env env, napi_value object, const char* name, double number) {
  napi_value value;
  napi_create_double(env, number, &value);
  napi_set_named_property(env, object, name, value);
}

static napi_value stop(napi_env env, napi_callback_info info) {
  (void)info;
  uv_idle_stop(idle);
  uv_prepare_stop(prepare);
  qsort(costs, (size_t)marked, sizeof(costs[0]), ascending);
  napi_value result;
  napi_create_object(env, &result);
  set(env, result, "turns", turns);
  set(env, result, "marked", marked);
  set(env, result, "waits", waits);
  set(env, result, "longestWait", longest_wait);
  set(env, result, "longestDriverWait", longest_driver_wait);
  set(env, result, "median", marked > 0 ? costs[marked / 2] : 0);
  set(env, result, "longest", marked > 0 ? costs[marked - 1] : 0);
  return result;
}

static void ask_driver(void) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) abort();
  int (*init)(void) = NULL;
  *(void**)&init = dlsym(library, "nvmlInit_v2");
  if (init == NULL) abort();
  init();
}

static napi_value call_driver(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  ask_driver();
  return NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_locked;

static void* hold_lock(void* unused) {
  pthread_mutex_lock(&lock);
  sem_post(&is_locked);
  ask_driver();
  pthread_mutex_unlock(&lock);
  return unused;
}

static napi_value await_driver(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  pthread_t thread;
  sem_init(&is_locked, 0, 0);
  if (pthread_create(&thread, NULL, hold_lock, NULL) != 0) abort();
  sem_wait(&is_locked);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  return NULL;
}

static void add(napi_env env, napi_value exports, const char* name, napi_callback function) {
  napi_value value;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, function, NULL, &value);
  napi_set_named_property(env, exports, name, value);
}

NAPI_MODULE_INIT() {
  add(env, exports, "start", start);
  add(env, exports, "mark", mark);
  add(env, exports, "stop", stop);
  add(env, exports, "callDriver", call_driver);
  add(env, exports, "awaitDriver", await_driver);
  return exports;
}
