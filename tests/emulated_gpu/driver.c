// A stand-in for NVIDIA's driver, libcuda.so.1: its rules, and GPUs that machine.c emulates.
//
// What is asked of a stream is done as late as it may be (EMULATED_GPU=late), at once (early), or by chance (a number,
// the seed), so that a program that does not wait for what it needs is found out. A call that the driver would refuse,
// or answer with undefined behaviour, is told on standard error and counted. Functions that are not here do not exist.

#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define API __attribute__((visibility("default"))) CUresult
enum { MOST_DEVICES = 4, MOST_DEPTH = 64 };
enum { CONTEXT = 0xC0DE0001, STREAM, EVENT, MODULE, FUNCTION, GRAPH, EXECUTABLE };

typedef struct Record {  // a place in a stream, which an event or a wait refers to
  CUstream stream;
  int done, holders;
} Record;

typedef enum { LAUNCH, COPY, SET, RECORD, WAIT, RUN_GRAPH, CALL } Kind;

typedef struct Operation {
  Kind kind;
  CUfunction function;
  u32 grid[3], block[3], dynamic;
  char *parameters;
  u64 target, source;
  char *kept;  // what was to be copied from memory that is not pinned
  size_t size;
  int value;
  Record *record;
  CUgraph graph;
  CUhostFn call;
  void *data;
  struct Operation *next;
} Operation;

struct CUctx_st { u32 kind; int device, retained, reaches[MOST_DEVICES]; };
struct CUmod_st { u32 kind; int dead; void *library; CUfunction functions; int count; };
struct CUfunc_st { u32 kind; CUmodule module; const Kernel *kernel; int parameters_size; };
struct CUevent_st { u32 kind; CUcontext context; unsigned flags; Record *record; CUstream captured; };
struct CUgraph_st { u32 kind; int dead, count, holders; Operation *first, **last; CUuserObject *objects; int object_count; };
struct CUgraphExec_st { u32 kind; int dead; CUgraph graph; CUcontext context; };
struct CUuserObject_st { CUhostFn destroy; void *data; int holders; };
struct CUstream_st {
  u32 kind;
  CUcontext context;
  unsigned flags;
  int priority, busy, dead;
  CUgraph capture;
  CUstreamCaptureMode mode;
  long capturer;
  u64 id;
  Operation *first, **last;
  struct CUstream_st *next;
};

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct CUctx_st contexts[MOST_DEVICES];
static Allocation *allocations, *pinned;
static CUstream streams;
static u64 stream_count, memory_size = 4ull << 30, used[MOST_DEVICES], allocation_count, refused_from = -1, refused_to = -1;
static int device_count = 1, initialised, order, peers = 1;
static CUresult broken;
static unsigned random_state;
static __thread CUcontext stack[MOST_DEPTH];
static __thread int depth;
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

// Counters that tests read: violations, launches, cost of the kernels, live allocations, graph launches, allocations.
__attribute__((visibility("default"))) u64 emulated[6];
enum { VIOLATIONS, LAUNCHES, COST, LIVE, GRAPHS, MADE };

__attribute__((constructor)) static void begin(void) {
  const char *given = getenv("EMULATED_GPU"), *count = getenv("EMULATED_GPUS"), *bytes = getenv("EMULATED_GPU_MEMORY");
  order = !given || !strcmp(given, "late") ? 0 : !strcmp(given, "early") ? 1 : atoi(given) + 2;
  if (count) device_count = atoi(count);
  if (bytes) memory_size = strtoull(bytes, 0, 0);
  peers = !getenv("EMULATED_GPU_NO_PEERS");
  for (int i = 0; i < MOST_DEVICES; i++) contexts[i] = (struct CUctx_st){.kind = CONTEXT, .device = i};
}

void violation(const char *format, ...) {
  va_list values;
  emulated[VIOLATIONS]++;
  fputs("emulated GPU: ", stderr);
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\n', stderr);
}

static CUresult refused(CUresult error, const char *function, const char *why) {
  violation("%s: %s", function, why);
  return error;
}

// Allocations number `from` to `to` from now on find no memory.
__attribute__((visibility("default"))) void emulated_refuse(u64 from, u64 to) {
  refused_from = allocation_count + from, refused_to = allocation_count + to;
}

static void unlocked(int *unused) { (void)unused, pthread_mutex_unlock(&mutex); }
#define LOCKED \
  pthread_mutex_lock(&mutex); \
  __attribute__((cleanup(unlocked), unused)) int locked = 0
#define NEEDS(condition, error, why) \
  if (!(condition)) return refused(error, __func__, why)
#define INITIALISED \
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED
#define DEVICE(device) \
  INITIALISED; \
  NEEDS(device >= 0 && device < device_count, CUDA_ERROR_INVALID_DEVICE, "there is no such device")
#define CURRENT \
  LOCKED; \
  INITIALISED; \
  if (broken) return broken; \
  NEEDS(current(), CUDA_ERROR_INVALID_CONTEXT, "no context is current"); \
  NEEDS(current()->retained, CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context is not retained")
#define SAFE \
  do { \
    CUresult error = unsafe(__func__); \
    if (error) return error; \
  } while (0)

static CUcontext current(void) { return depth ? stack[depth - 1] : 0; }

// What may not be done while a stream captures.
static CUresult unsafe(const char *function) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return 0;
  for (CUstream s = streams; s; s = s->next)
    if (s->capture && ((s->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL) ||
                       (s->capturer == syscall(SYS_gettid) && s->mode != CU_STREAM_CAPTURE_MODE_RELAXED)))
      return refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, function, "a stream captures");
  return 0;
}

// ---- devices and contexts -------------------------------------------------------------------------------------------

API cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : (initialised = 1, CUDA_SUCCESS); }
API cuDriverGetVersion(int *version) { return *version = 13000, CUDA_SUCCESS; }
API cuDeviceGetCount(int *count) { INITIALISED; return *count = device_count, CUDA_SUCCESS; }
API cuDeviceGet(CUdevice *device, int number) { DEVICE(number); return *device = number, CUDA_SUCCESS; }
API cuDeviceGetName(char *name, int size, CUdevice device) { DEVICE(device); snprintf(name, size, "Emulated GPU"); return 0; }
API cuDeviceTotalMem_v2(size_t *size, CUdevice device) { DEVICE(device); return *size = memory_size, CUDA_SUCCESS; }
API cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { DEVICE(device); memset(uuid, 0x40 + device, sizeof *uuid); return 0; }
API cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid(uuid, device); }
API cuDeviceGetPCIBusId(char *id, int size, CUdevice device) {
  DEVICE(device);
  snprintf(id, size, "0000:%02x:00.0", device + 1);
  return 0;
}
API cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) {
  DEVICE(a);
  DEVICE(b);
  return *can = peers && a != b, CUDA_SUCCESS;
}
API cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
  DEVICE(device);
  switch (which) {  // those of an H100; 0 for all others
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = INT32_MAX; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 48 << 10; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: *value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = device + 1; break;
    default: *value = 0;
  }
  return 0;
}
API cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  LOCKED;
  DEVICE(device);
  contexts[device].retained++;
  return *context = &contexts[device], CUDA_SUCCESS;
}
API cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  LOCKED;
  DEVICE(device);
  NEEDS(contexts[device].retained-- > 0, CUDA_ERROR_INVALID_CONTEXT, "the context is not retained");
  return 0;
}
API cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  DEVICE(device);
  *flags = 0, *active = contexts[device].retained > 0;
  return 0;
}
API cuCtxGetCurrent(CUcontext *context) { INITIALISED; return *context = current(), CUDA_SUCCESS; }
API cuCtxPushCurrent_v2(CUcontext context) {
  INITIALISED;
  NEEDS(context && context->kind == CONTEXT, CUDA_ERROR_INVALID_CONTEXT, "that is no context");
  NEEDS(depth < MOST_DEPTH, CUDA_ERROR_INVALID_VALUE, "contexts are pushed and never popped");
  stack[depth++] = context;
  return 0;
}
API cuCtxPopCurrent_v2(CUcontext *context) {
  INITIALISED;
  NEEDS(depth, CUDA_ERROR_INVALID_CONTEXT, "no context is current");
  depth--;
  if (context) *context = stack[depth];
  return 0;
}
API cuCtxSetCurrent(CUcontext context) {
  INITIALISED;
  if (depth) depth--;
  return context ? cuCtxPushCurrent_v2(context) : CUDA_SUCCESS;
}
API cuCtxGetDevice(CUdevice *device) { CURRENT; return *device = current()->device, CUDA_SUCCESS; }
API cuCtxGetDevice_v2(CUdevice *device, CUcontext context) {
  INITIALISED;
  if (!context) context = current();
  return context ? (*device = context->device, CUDA_SUCCESS) : CUDA_ERROR_INVALID_CONTEXT;
}
API cuCtxGetId(CUcontext context, unsigned long long *id) {
  INITIALISED;
  if (!context) context = current();
  return context ? (*id = context->device + 1, CUDA_SUCCESS) : CUDA_ERROR_INVALID_CONTEXT;
}
API cuCtxGetFlags(unsigned *flags) { CURRENT; return *flags = 0, CUDA_SUCCESS; }
API cuCtxGetStreamPriorityRange(int *least, int *greatest) { CURRENT; return *least = 0, *greatest = -5, CUDA_SUCCESS; }
API cuCtxEnablePeerAccess(CUcontext context, unsigned flags) {
  CURRENT;
  NEEDS(context && context->kind == CONTEXT && context != current() && !flags, CUDA_ERROR_INVALID_VALUE, "the context or flags");
  if (!peers) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if (current()->reaches[context->device]) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  current()->reaches[context->device] = 1;
  return 0;
}
API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  CUstreamCaptureMode before = thread_mode;
  thread_mode = *mode, *mode = before;
  return 0;
}

// ---- streams: operations that wait ----------------------------------------------------------------------------------

static void let_go(Record *record) {
  if (record && --record->holders == 0) free(record);
}

static int in(const Allocation *a, u64 address, size_t size) {
  return address >= a->address && address + size <= a->address + a->size;
}

Allocation *allocation_of(u64 address) {
  static Allocation *last;
  static u64 made;
  if (last && made == emulated[MADE] && in(last, address, 1)) return last;
  for (Allocation *a = allocations; a; a = a->next)
    if (in(a, address, 1)) return made = emulated[MADE], last = a;
  return 0;
}

static Allocation *pinned_at(u64 address, size_t size) {
  for (Allocation *a = pinned; a; a = a->next)
    if (in(a, address, size)) return a;
  return 0;
}

static void forget(Operation *o) {
  free(o->parameters);
  free(o->kept);
  let_go(o->record);
  free(o);
}

static void drop_graph(CUgraph graph) {
  if (--graph->holders) return;
  for (Operation *o = graph->first, *next; o; o = next) next = o->next, forget(o);
  for (int i = 0; i < graph->object_count; i++) cuUserObjectRelease(graph->objects[i], 1);
  free(graph->objects);
  graph->dead = 2;
}

// The bytes behind an address, of the GPU or of the host.
static char *bytes_at(u64 address, size_t size, const char *what) {
  Allocation *a = allocation_of(address);
  if (!a) return (char *)(uintptr_t)address;
  if (in(a, address, size)) return a->bytes + (address - a->address);
  violation("a copy %s %zu bytes at 0x%llx, where %llu are left", what, size, (unsigned long long)address,
            (unsigned long long)(a->address + a->size - address));
  broken = CUDA_ERROR_ILLEGAL_ADDRESS;
  return 0;
}

static void run_one(CUstream stream);

static void carry_out(CUstream stream, Operation *o) {
  if (broken && o->kind != RECORD) return;
  switch (o->kind) {
    case LAUNCH:
      emulated[LAUNCHES]++;
      if (o->function->module->dead) {
        violation("%s was unloaded before it ran", o->function->kernel->name);
        broken = CUDA_ERROR_ILLEGAL_ADDRESS;
        return;
      }
      broken = run_kernel(o->function->kernel, o->grid, o->block, o->dynamic, o->parameters, order, &emulated[COST]);
      return;
    case COPY: {
      char *from = o->kept ? o->kept : bytes_at(o->source, o->size, "reads"), *to = bytes_at(o->target, o->size, "writes");
      if (from && to) memmove(to, from, o->size);
      return;
    }
    case SET: {
      char *to = bytes_at(o->target, o->size, "writes");
      if (to) memset(to, o->value, o->size);
      return;
    }
    case RECORD: o->record->done = 1; return;
    case WAIT:
      while (!o->record->done) run_one(o->record->stream);
      return;
    case RUN_GRAPH:
      for (Operation *node = o->graph->first; node; node = node->next) carry_out(stream, node);
      drop_graph(o->graph);
      return;
    case CALL: o->call(o->data); return;
  }
}

// Does what a stream has waited longest with.
static void run_one(CUstream stream) {
  Operation *o = stream->first;
  if (!o || stream->busy) abort();
  stream->busy = 1;
  carry_out(stream, o);
  stream->busy = 0;
  if (!(stream->first = o->next)) stream->last = &stream->first;
  forget(o);
}

static void drain(CUstream stream) {
  while (stream->first) run_one(stream);
}

static void drain_all(void) {
  for (CUstream s = streams; s; s = s->next) drain(s);
}

static Operation *operation(Kind kind) {
  Operation *o = calloc(1, sizeof *o);
  o->kind = kind;
  return o;
}

static CUresult asked(CUstream stream, Operation *o) {
  if (stream->capture) {
    CUgraph g = stream->capture;
    *g->last = o, g->last = &o->next, g->count++;
    return 0;
  }
  *stream->last = o, stream->last = &o->next;
  if (order == 1) drain(stream);
  if (order > 1)
    for (CUstream s = streams; s; s = s->next)
      while (s->first && !s->busy && rand_r(&random_state) % 4 == 0) run_one(s);
  return broken;
}

#define ON(stream) \
  CURRENT; \
  NEEDS((uintptr_t)stream > 2, CUDA_ERROR_INVALID_HANDLE, "the default stream, in which all others wait"); \
  NEEDS(stream->kind == STREAM && !stream->dead, CUDA_ERROR_INVALID_HANDLE, "the stream was destroyed")
#define ON_ITS_DEVICE(stream) \
  ON(stream); \
  NEEDS(stream->context == current(), CUDA_ERROR_INVALID_HANDLE, "the stream is of another device")

API cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  CURRENT;
  SAFE;
  CUstream s = calloc(1, sizeof *s);
  *s = (struct CUstream_st){.kind = STREAM, .context = current(), .flags = flags, .priority = priority, .id = ++stream_count,
                            .last = &s->first, .next = streams};
  return *stream = streams = s, CUDA_SUCCESS;
}
API cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
API cuStreamDestroy_v2(CUstream stream) {
  LOCKED;
  NEEDS((uintptr_t)stream > 2 && stream->kind == STREAM && !stream->dead, CUDA_ERROR_INVALID_HANDLE, "the stream was destroyed");
  drain(stream);
  stream->dead = 1;
  return 0;
}
API cuStreamSynchronize(CUstream stream) {
  ON(stream);
  NEEDS(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream captures");
  drain(stream);
  return broken;
}
API cuStreamQuery(CUstream stream) { return cuStreamSynchronize(stream); }
API cuCtxSynchronize(void) {
  CURRENT;
  SAFE;
  drain_all();
  return broken;
}
API cuStreamGetCtx(CUstream stream, CUcontext *context) { ON(stream); return *context = stream->context, CUDA_SUCCESS; }
API cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green) {
  if (green) *green = 0;
  return cuStreamGetCtx(stream, context);
}
API cuStreamGetDevice(CUstream stream, CUdevice *device) { ON(stream); return *device = stream->context->device, CUDA_SUCCESS; }
API cuStreamGetFlags(CUstream stream, unsigned *flags) { ON(stream); return *flags = stream->flags, CUDA_SUCCESS; }
API cuStreamGetPriority(CUstream stream, int *priority) { ON(stream); return *priority = stream->priority, CUDA_SUCCESS; }
API cuStreamGetId(CUstream stream, unsigned long long *id) { ON(stream); return *id = stream->id, CUDA_SUCCESS; }
API cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  ON(stream);
  return *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}

// ---- events ---------------------------------------------------------------------------------------------------------

API cuEventCreate(CUevent *event, unsigned flags) {
  CURRENT;
  CUevent e = calloc(1, sizeof *e);
  *e = (struct CUevent_st){.kind = EVENT, .context = current(), .flags = flags};
  return *event = e, CUDA_SUCCESS;
}
#define IS_EVENT(event) NEEDS(event && event->kind == EVENT, CUDA_ERROR_INVALID_HANDLE, "the event was destroyed")
API cuEventDestroy_v2(CUevent event) {
  LOCKED;
  IS_EVENT(event);
  let_go(event->record);
  event->kind = 0;  // and never freed, so that a later use is noticed
  return 0;
}
API cuEventRecord(CUevent event, CUstream stream) {
  ON(stream);
  IS_EVENT(event);
  NEEDS(event->context == stream->context, CUDA_ERROR_INVALID_HANDLE, "event and stream are of different devices");
  NEEDS(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "an event is recorded in a graph");
  Operation *o = operation(RECORD);
  let_go(event->record);
  o->record = event->record = calloc(1, sizeof *o->record);
  *o->record = (Record){.stream = stream, .holders = 2};
  return asked(stream, o);
}
API cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) { return (void)flags, cuEventRecord(event, stream); }
API cuEventSynchronize(CUevent event) {
  CURRENT;
  IS_EVENT(event);
  SAFE;
  while (event->record && !event->record->done) run_one(event->record->stream);
  return broken;
}
API cuEventQuery(CUevent event) { return cuEventSynchronize(event); }
API cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  CURRENT;
  IS_EVENT(from);
  IS_EVENT(to);
  NEEDS(!((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING), CUDA_ERROR_INVALID_HANDLE, "the event has no time");
  return *milliseconds = 1, CUDA_SUCCESS;
}
API cuEventElapsedTime_v2(float *milliseconds, CUevent from, CUevent to) { return cuEventElapsedTime(milliseconds, from, to); }
API cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  ON(stream);
  IS_EVENT(event);
  NEEDS(!stream->capture && !flags, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "a graph waits for an event");
  if (!event->record || event->record->done) return 0;
  Operation *o = operation(WAIT);
  o->record = event->record, o->record->holders++;
  return asked(stream, o);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

static size_t pages(size_t size) { return (size + 4095) & ~(size_t)4095; }
static void *mapped(size_t size, int access) {
  return mmap(0, pages(size), access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

API cuMemAlloc_v2(CUdeviceptr *pointer, size_t size) {
  CURRENT;
  SAFE;
  NEEDS(size, CUDA_ERROR_INVALID_VALUE, "no bytes");
  int device = current()->device;
  u64 number = allocation_count++;
  if (used[device] + size > memory_size || (number >= refused_from && number < refused_to)) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation *a = calloc(1, sizeof *a);
  *a = (Allocation){.address = (u64)(uintptr_t)mapped(size, PROT_NONE), .size = size, .device = device, .next = allocations,
                    .bytes = mapped(size, PROT_READ | PROT_WRITE)};
  memset(a->bytes, 0xff, size);  // NaN, where nothing has been written
  allocations = a, used[device] += size, emulated[LIVE]++, emulated[MADE]++;
  return *pointer = a->address, CUDA_SUCCESS;
}
static Allocation *taken(Allocation **list, u64 address) {
  for (; *list; list = &(*list)->next)
    if ((*list)->address == address) {
      Allocation *a = *list;
      *list = a->next;
      return a;
    }
  return 0;
}
API cuMemFree_v2(CUdeviceptr pointer) {
  CURRENT;
  SAFE;
  drain_all();
  Allocation *a = taken(&allocations, pointer);
  NEEDS(a, CUDA_ERROR_INVALID_VALUE, "no allocation begins there");
  used[a->device] -= a->size, emulated[LIVE]--, emulated[MADE]++;
  munmap((void *)(uintptr_t)a->address, pages(a->size));
  munmap(a->bytes, pages(a->size));
  if (a->touched) munmap(a->touched, a->touched_size);
  free(a);
  return broken;
}
API cuMemGetInfo_v2(size_t *left, size_t *all) {
  CURRENT;
  return *all = memory_size, *left = memory_size - used[current()->device], CUDA_SUCCESS;
}
API cuMemHostAlloc(void **pointer, size_t size, unsigned flags) {
  (void)flags;
  CURRENT;
  SAFE;
  NEEDS(size, CUDA_ERROR_INVALID_VALUE, "no bytes");
  Allocation *a = calloc(1, sizeof *a);
  *a = (Allocation){.bytes = mapped(size, PROT_READ | PROT_WRITE), .size = size, .next = pinned};
  a->address = (u64)(uintptr_t)a->bytes;
  memset(a->bytes, 0xff, size);
  pinned = a;
  return *pointer = a->bytes, CUDA_SUCCESS;
}
API cuMemAllocHost_v2(void **pointer, size_t size) { return cuMemHostAlloc(pointer, size, 0); }
API cuMemFreeHost(void *pointer) {
  CURRENT;
  SAFE;
  drain_all();
  Allocation *a = taken(&pinned, (u64)(uintptr_t)pointer);
  NEEDS(a, CUDA_ERROR_INVALID_VALUE, "that memory is not pinned");
  munmap(pointer, pages(a->size));
  free(a);
  return broken;
}
API cuMemGetAddressRange_v2(CUdeviceptr *start, size_t *size, CUdeviceptr pointer) {
  CURRENT;
  Allocation *a = allocation_of(pointer);
  NEEDS(a, CUDA_ERROR_NOT_FOUND, "no memory is there");
  if (start) *start = a->address;
  if (size) *size = a->size;
  return 0;
}
API cuPointerGetAttribute(void *value, CUpointer_attribute which, CUdeviceptr pointer) {
  CURRENT;
  Allocation *a = allocation_of(pointer);
  if (!a && !pinned_at(pointer, 1)) return CUDA_ERROR_INVALID_VALUE;
  switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)value = a ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST; return 0;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = a ? a->device : 0; return 0;
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)value = &contexts[a ? a->device : 0]; return 0;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)value = pointer; return 0;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(int *)value = 0; return 0;
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

static CUresult copied(u64 target, u64 source, size_t size, CUstream stream) {
  Operation *o = operation(COPY);
  o->target = target, o->source = source, o->size = size;
  int from_host = !allocation_of(source), to_host = !allocation_of(target);
  int paged = (from_host && !pinned_at(source, size)) || (to_host && !pinned_at(target, size));
  if (stream->capture && paged) return refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, __func__, "memory that is not pinned");
  if (from_host && paged) {  // The driver takes it at once.
    o->kept = malloc(size);
    memcpy(o->kept, (void *)(uintptr_t)source, size);
  }
  CUresult error = asked(stream, o);
  if (to_host && paged) drain(stream);  // The driver waits until it is there.
  return error;
}
#define IS_DEVICE(pointer) NEEDS(allocation_of(pointer), CUDA_ERROR_INVALID_VALUE, "that is no memory of a GPU")
#define IS_HOST(pointer) \
  NEEDS(!allocation_of((u64)(uintptr_t)pointer), CUDA_ERROR_INVALID_VALUE, "that is memory of a GPU")
API cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t size, CUstream stream) {
  ON_ITS_DEVICE(stream);
  IS_DEVICE(target);
  IS_HOST(source);
  return copied(target, (u64)(uintptr_t)source, size, stream);
}
API cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t size, CUstream stream) {
  ON_ITS_DEVICE(stream);
  IS_DEVICE(source);
  IS_HOST(target);
  return copied((u64)(uintptr_t)target, source, size, stream);
}
API cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t size, CUstream stream) {
  ON_ITS_DEVICE(stream);
  IS_DEVICE(target);
  IS_DEVICE(source);
  return copied(target, source, size, stream);
}
API cuMemcpyPeerAsync(CUdeviceptr target, CUcontext there, CUdeviceptr source, CUcontext here, size_t size, CUstream stream) {
  ON(stream);
  IS_DEVICE(target);
  IS_DEVICE(source);
  NEEDS(allocation_of(target)->device == there->device && allocation_of(source)->device == here->device,
        CUDA_ERROR_INVALID_VALUE, "the memory is of another device than the context");
  return copied(target, source, size, stream);
}
// A copy without a stream waits for all of them.
static CUresult copied_now(u64 target, u64 source, size_t size) {
  drain_all();
  char *from = bytes_at(source, size, "reads"), *to = bytes_at(target, size, "writes");
  if (from && to) memmove(to, from, size);
  return broken;
}
API cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t size) {
  CURRENT;
  SAFE;
  IS_DEVICE(target);
  return copied_now(target, (u64)(uintptr_t)source, size);
}
API cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t size) {
  CURRENT;
  SAFE;
  IS_DEVICE(source);
  return copied_now((u64)(uintptr_t)target, source, size);
}
API cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t size, CUstream stream) {
  ON_ITS_DEVICE(stream);
  IS_DEVICE(target);
  Operation *o = operation(SET);
  o->target = target, o->value = value, o->size = size;
  return asked(stream, o);
}

// ---- kernels --------------------------------------------------------------------------------------------------------

// The image of a module is the path of a library, which emulation.py made of its PTX.
API cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  (void)count, (void)options, (void)values;
  CURRENT;
  SAFE;
  CUmodule m = calloc(1, sizeof *m);
  m->kind = MODULE, m->library = dlopen(image, RTLD_NOW | RTLD_LOCAL);
  if (!m->library) return refused(CUDA_ERROR_INVALID_IMAGE, __func__, dlerror());
  const Kernel *kernels = dlsym(m->library, "emulated_kernels");
  while (kernels[m->count].name) m->count++;
  m->functions = calloc(m->count, sizeof *m->functions);
  for (int i = 0; i < m->count; i++) {
    const Kernel *k = &kernels[i];
    const Parameter *last = &k->parameters[k->count - 1];
    m->functions[i] = (struct CUfunc_st){FUNCTION, m, k, k->count ? last->offset + last->size : 0};
  }
  return *module = m, CUDA_SUCCESS;
}
API cuModuleLoadData(CUmodule *module, const void *image) { return cuModuleLoadDataEx(module, image, 0, 0, 0); }
API cuModuleUnload(CUmodule module) {
  LOCKED;
  NEEDS(module->kind == MODULE && !module->dead, CUDA_ERROR_INVALID_HANDLE, "the module was unloaded");
  module->dead = 1;
  return 0;
}
API cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  CURRENT;
  for (int i = 0; i < module->count; i++)
    if (!strcmp(module->functions[i].kernel->name, name)) return *function = &module->functions[i], CUDA_SUCCESS;
  return CUDA_ERROR_NOT_FOUND;
}
API cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *a, void **b, unsigned c, CUlibraryOption *d,
                      void **e, unsigned f) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
  return cuModuleLoadDataEx((CUmodule *)library, image, 0, 0, 0);
}
API cuLibraryUnload(CUlibrary library) { return cuModuleUnload((CUmodule)library); }
API cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  return cuModuleGetFunction((CUfunction *)kernel, (CUmodule)library, name);
}
API cuLibraryGetModule(CUmodule *module, CUlibrary library) { return *module = (CUmodule)library, CUDA_SUCCESS; }
API cuKernelGetFunction(CUfunction *function, CUkernel kernel) { return *function = (CUfunction)kernel, CUDA_SUCCESS; }
API cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
  return *library = (CUlibrary)((CUfunction)kernel)->module, CUDA_SUCCESS;
}
API cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction function) {
  *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
           : which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES   ? function->kernel->shared
           : which == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 32
                                                            : 0;
  return 0;
}
API cuKernelGetAttribute(int *value, CUfunction_attribute which, CUkernel kernel, CUdevice device) {
  return (void)device, cuFuncGetAttribute(value, which, (CUfunction)kernel);
}
API cuKernelGetParamInfo(CUkernel kernel, size_t number, size_t *offset, size_t *size) {
  const Kernel *k = ((CUfunction)kernel)->kernel;
  if (number >= (size_t)k->count) return CUDA_ERROR_INVALID_VALUE;
  *offset = k->parameters[number].offset;
  if (size) *size = k->parameters[number].size;
  return 0;
}
API cuFuncGetParamInfo(CUfunction function, size_t number, size_t *offset, size_t *size) {
  return cuKernelGetParamInfo((CUkernel)function, number, offset, size);
}
API cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned dynamic, CUstream stream, void **parameters, void **extra) {
  ON_ITS_DEVICE(stream);
  NEEDS(function && function->kind == FUNCTION, CUDA_ERROR_INVALID_HANDLE, "that is no kernel");
  NEEDS(gx && gy && gz && gx <= INT32_MAX && gy <= 65535 && gz <= 65535, CUDA_ERROR_INVALID_VALUE, "the blocks of the grid");
  NEEDS(bx && by && bz && bx * by * bz <= 1024 && bz <= 64, CUDA_ERROR_INVALID_VALUE, "the threads of a block");
  NEEDS(function->kernel->shared + dynamic <= 48 << 10, CUDA_ERROR_INVALID_VALUE, "too much shared memory");
  NEEDS(!extra, CUDA_ERROR_NOT_SUPPORTED, "extra parameters");
  Operation *o = operation(LAUNCH);
  o->function = function, o->dynamic = dynamic;
  memcpy(o->grid, (u32[]){gx, gy, gz}, sizeof o->grid);
  memcpy(o->block, (u32[]){bx, by, bz}, sizeof o->block);
  o->parameters = malloc(function->parameters_size + 1);
  for (int i = 0; i < function->kernel->count; i++) {
    Parameter p = function->kernel->parameters[i];
    memcpy(o->parameters + p.offset, parameters[i], p.size);
  }
  return asked(stream, o);
}
API cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction function, void **parameters, void **extra) {
  return cuLaunchKernel(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                        c->sharedMemBytes, c->hStream, parameters, extra);
}
API cuLaunchHostFunc(CUstream stream, CUhostFn call, void *data) {
  ON_ITS_DEVICE(stream);
  Operation *o = operation(CALL);
  o->call = call, o->data = data;
  return asked(stream, o);
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

API cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  ON_ITS_DEVICE(stream);
  NEEDS(!stream->capture, CUDA_ERROR_ILLEGAL_STATE, "the stream captures already");
  CUgraph g = calloc(1, sizeof *g);
  *g = (struct CUgraph_st){.kind = GRAPH, .last = &g->first, .holders = 1};
  stream->capture = g, stream->mode = mode, stream->capturer = syscall(SYS_gettid);
  return 0;
}
API cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  ON(stream);
  NEEDS(stream->capture, CUDA_ERROR_ILLEGAL_STATE, "the stream does not capture");
  *graph = stream->capture, stream->capture = 0;
  return 0;
}
API cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                              const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count) {
  ON(stream);
  *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  if (id) *id = 1;
  if (graph) *graph = stream->capture;
  if (nodes) *nodes = 0;
  if (edges) *edges = 0;
  if (count) *count = 0;
  return 0;
}
API cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                              const CUgraphNode **nodes, size_t *count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, 0, count);
}
API cuGraphCreate(CUgraph *graph, unsigned flags) {
  LOCKED;
  (void)flags;
  CUgraph g = calloc(1, sizeof *g);
  *g = (struct CUgraph_st){.kind = GRAPH, .last = &g->first, .holders = 1};
  return *graph = g, CUDA_SUCCESS;
}
#define IS_GRAPH(graph) NEEDS(graph && graph->kind == GRAPH && !graph->dead, CUDA_ERROR_INVALID_VALUE, "the graph was destroyed")
API cuGraphDestroy(CUgraph graph) {
  LOCKED;
  IS_GRAPH(graph);
  graph->dead = 1;
  drop_graph(graph);
  return 0;
}
API cuUserObjectCreate(CUuserObject *object, void *data, CUhostFn destroy, unsigned count, unsigned flags) {
  (void)flags;
  CUuserObject o = calloc(1, sizeof *o);
  *o = (struct CUuserObject_st){.destroy = destroy, .data = data, .holders = (int)count};
  return *object = o, CUDA_SUCCESS;
}
API cuUserObjectRetain(CUuserObject object, unsigned count) { LOCKED; return object->holders += count, CUDA_SUCCESS; }
API cuUserObjectRelease(CUuserObject object, unsigned count) {
  LOCKED;
  if ((object->holders -= count) == 0) object->destroy(object->data), free(object);
  return 0;
}
API cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags) {
  LOCKED;
  IS_GRAPH(graph);
  graph->objects = realloc(graph->objects, (graph->object_count + count) * sizeof *graph->objects);
  for (unsigned i = 0; i < count; i++) graph->objects[graph->object_count++] = object;
  if (!(flags & CU_GRAPH_USER_OBJECT_MOVE)) object->holders += count;
  return 0;
}
API cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count) {
  LOCKED;
  IS_GRAPH(graph);
  for (int i = 0; i < graph->object_count && count; i++)
    if (graph->objects[i] == object) {
      graph->objects[i--] = graph->objects[--graph->object_count];
      count--;
      if (--object->holders == 0) object->destroy(object->data), free(object);
    }
  return count ? refused(CUDA_ERROR_INVALID_VALUE, __func__, "the graph does not hold that object") : CUDA_SUCCESS;
}
static CUresult instantiated(CUgraphExec *executable, CUgraph graph, const char *function) {
  if (!graph || graph->kind != GRAPH || graph->dead) return refused(CUDA_ERROR_INVALID_VALUE, function, "the graph was destroyed");
  CUgraphExec x = calloc(1, sizeof *x);
  *x = (struct CUgraphExec_st){.kind = EXECUTABLE, .graph = graph, .context = current()};
  graph->holders++;
  return *executable = x, CUDA_SUCCESS;
}
API cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long flags) {
  CURRENT;
  (void)flags;
  return instantiated(executable, graph, __func__);
}
API cuGraphInstantiateWithParams(CUgraphExec *executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
  CURRENT;
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return instantiated(executable, graph, __func__);
}
#define IS_EXECUTABLE(x) NEEDS(x && x->kind == EXECUTABLE && !x->dead, CUDA_ERROR_INVALID_VALUE, "the graph was destroyed")
API cuGraphExecDestroy(CUgraphExec executable) {
  LOCKED;
  IS_EXECUTABLE(executable);
  executable->dead = 1;
  drop_graph(executable->graph);
  return 0;
}
API cuGraphUpload(CUgraphExec executable, CUstream stream) {
  ON(stream);
  IS_EXECUTABLE(executable);
  return 0;
}
API cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  ON_ITS_DEVICE(stream);
  IS_EXECUTABLE(executable);
  emulated[GRAPHS]++;
  Operation *o = operation(RUN_GRAPH);
  o->graph = executable->graph, o->graph->holders++;
  return asked(stream, o);
}
API cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  LOCKED;
  IS_GRAPH(graph);
  return nodes ? CUDA_ERROR_NOT_SUPPORTED : (*count = graph->count, CUDA_SUCCESS);
}

// ---- errors, and where functions are --------------------------------------------------------------------------------

API cuGetErrorName(CUresult error, const char **name) {
  static const struct { CUresult error; const char *name; } names[] = {
#define NAMED(error) {error, #error}
      NAMED(CUDA_ERROR_INVALID_VALUE), NAMED(CUDA_ERROR_OUT_OF_MEMORY), NAMED(CUDA_ERROR_NOT_INITIALIZED),
      NAMED(CUDA_ERROR_INVALID_DEVICE), NAMED(CUDA_ERROR_INVALID_IMAGE), NAMED(CUDA_ERROR_INVALID_CONTEXT),
      NAMED(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED), NAMED(CUDA_ERROR_INVALID_HANDLE), NAMED(CUDA_ERROR_ILLEGAL_STATE),
      NAMED(CUDA_ERROR_NOT_FOUND), NAMED(CUDA_ERROR_ILLEGAL_ADDRESS), NAMED(CUDA_ERROR_LAUNCH_FAILED),
      NAMED(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED), NAMED(CUDA_ERROR_CONTEXT_IS_DESTROYED), NAMED(CUDA_ERROR_NOT_SUPPORTED),
      NAMED(CUDA_ERROR_MISALIGNED_ADDRESS), NAMED(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
      NAMED(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].error == error) return *name = names[i].name, CUDA_SUCCESS;
  return *name = "CUDA_ERROR_UNKNOWN", CUDA_SUCCESS;
}
API cuGetErrorString(CUresult error, const char **text) { return cuGetErrorName(error, text); }

API cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *found) {
  (void)flags;
  // A version of CUDA, and what a name means since then where that is not the newest that is here.
  static const struct { const char *name; int since; const char *before, *from; } renamed[] = {
      {"cuStreamGetCtx", 12050, "cuStreamGetCtx", "cuStreamGetCtx_v2"},
      {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v3"},
      {"cuCtxGetDevice", 13000, "cuCtxGetDevice", "cuCtxGetDevice_v2"},
      {"cuEventElapsedTime", 12080, "cuEventElapsedTime", "cuEventElapsedTime_v2"},
      {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid", "cuDeviceGetUuid_v2"},
      {"cuGraphInstantiate", 11040, "", "cuGraphInstantiateWithFlags"}};
  char second[256];
  snprintf(second, sizeof second, "%s_v2", name);
  *function = dlsym(RTLD_DEFAULT, second);
  if (!*function) *function = dlsym(RTLD_DEFAULT, name);
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
    if (!strcmp(name, renamed[i].name))
      *function = dlsym(RTLD_DEFAULT, version >= renamed[i].since ? renamed[i].from : renamed[i].before);
  if (!*function && getenv("EMULATED_GPU_MISSING")) fprintf(stderr, "emulated GPU: there is no %s\n", name);
  if (found) *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
API cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, 0);
}
