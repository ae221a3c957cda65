// What the files of the emulated driver share: its objects, and the rules that each call is held to.

#pragma once
#include <pthread.h>

#include "machine.h"

// ---- objects --------------------------------------------------------------------------------------------------------

// The first member of an object says what it is. None is ever freed, so that a use after its end is noticed.
enum { CONTEXT = 0xC0DE0001, STREAM, EVENT, MODULE, FUNCTION, GRAPH, EXECUTABLE };

// A place in a stream, which an event or a wait refers to.
typedef struct Record {
  CUstream stream;
  int done, holders;
} Record;

typedef enum { LAUNCH, COPY, SET, RECORD, WAIT, RUN_GRAPH, CALL } Kind;

// What a stream, or a graph, was asked to do.
typedef struct Operation {
  Kind kind;
  CUfunction function;
  Launch launch;
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

struct CUctx_st {
  u32 kind;
  int device, retained;
  int reaches[MOST_DEVICES];
  CUresult broken;  // what ended a kernel: every later call says so again
};
struct CUmod_st {
  u32 kind;
  int dead;
  void *library;
  CUfunction functions;
  int count;
};
struct CUfunc_st {
  u32 kind;
  CUmodule module;
  const Kernel *kernel;
  int parameters_size;
};
struct CUevent_st {
  u32 kind;
  int dead;
  CUcontext context;
  unsigned flags;
  Record *record;
};
struct CUgraph_st {
  u32 kind;
  int dead, count, holders;
  Operation *first, **last;
  CUuserObject *objects;
  int object_count;
};
struct CUgraphExec_st {
  u32 kind;
  int dead;
  CUgraph graph;
};
struct CUuserObject_st {
  CUhostFn destroy;
  void *data;
  int holders;
};
struct CUstream_st {
  u32 kind;
  CUcontext context;
  unsigned flags;
  int priority, busy, dead;
  CUgraph capture;
  CUstreamCaptureMode mode;
  long capturer;  // the thread that began
  u64 id;
  Operation *first, **last;
  struct CUstream_st *next;
};

// ---- the state of the driver ----------------------------------------------------------------------------------------

// What tests read.
enum { VIOLATIONS, LAUNCHES, COST, LIVE, GRAPHS, MADE, COUNTERS };
extern u64 emulated[COUNTERS];

// What a GPU is like, from the environment.
extern struct Settings {
  int order, device_count, peers;
  int capability[2];
  u64 memory;
  unsigned random_state;
} settings;

extern pthread_mutex_t mutex;
extern int initialised;
extern struct CUctx_st contexts[MOST_DEVICES];
extern CUstream streams;

CUcontext current(void);

// ---- the rules ------------------------------------------------------------------------------------------------------

#define API __attribute__((visibility("default"))) CUresult

// Tells what is wrong with a call, and returns the error.
CUresult refused(CUresult error, const char *function, const char *why);

// What must hold for a call: a context that is current, no capture that it would disturb, a stream that can be used.
CUresult usable_context(const char *function);
CUresult no_capture(const char *function);
CUresult usable_stream(CUstream stream, const char *function);
CUresult usable_stream_here(CUstream stream, const char *function);
CUresult usable_device(CUdevice device, const char *function);

static inline void unlock(pthread_mutex_t **locked) { pthread_mutex_unlock(*locked); }

// Macros, since they return from the function that they are in, or end with it.
#define LOCKED \
  __attribute__((cleanup(unlock))) pthread_mutex_t *locked = &mutex; \
  pthread_mutex_lock(locked)
#define CHECK(expression) \
  do { \
    CUresult error = (expression); \
    if (error) return error; \
  } while (0)
#define NEEDS(condition, error, why) \
  do { \
    if (!(condition)) return refused(error, __func__, why); \
  } while (0)

// ---- what is asked of streams ---------------------------------------------------------------------------------------

Operation *operation(Kind kind);

// Lets a stream do something when it comes to it, or puts it in the graph that the stream captures.
CUresult asked(CUstream stream, Operation *o);

void let_go(Record *record);
void drop_graph(CUgraph graph);
void free_operation(Operation *o);

// Does what a stream has waited longest with.
void run_one(CUstream stream);
void drain(CUstream stream);
void drain_all(void);

// ---- memory ---------------------------------------------------------------------------------------------------------

// The host's address of bytes of the GPU or of the host; null where an allocation ends before.
char *bytes_at(u64 address, size_t size, const char *what);
