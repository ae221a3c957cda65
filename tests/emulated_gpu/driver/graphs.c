// Capture: what a stream is asked for becomes a graph, which is launched again and again.

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver.h"

static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

// ---- capture --------------------------------------------------------------------------------------------------------

static long this_thread(void) { return syscall(SYS_gettid); }

// Whether a call that waits or allocates would end the capture of a stream, as the thread and the stream want it.
static int disturbs(CUstream stream) {
  if (!stream->capture || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return 0;
  if (stream->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL) return 1;
  return stream->mode != CU_STREAM_CAPTURE_MODE_RELAXED && stream->capturer == this_thread();
}

CUresult no_capture(const char *function) {
  for (CUstream s = streams; s; s = s->next)
    if (disturbs(s)) return refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, function, "a stream captures");
  return CUDA_SUCCESS;
}

API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  CUstreamCaptureMode before = thread_mode;
  thread_mode = *mode;
  *mode = before;
  return CUDA_SUCCESS;
}

static CUgraph new_graph(void) {
  CUgraph graph = calloc(1, sizeof *graph);
  *graph = (struct CUgraph_st){.kind = GRAPH, .last = &graph->first, .holders = 1};
  return graph;
}

API cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  LOCKED;
  CHECK(usable_stream_here(stream, __func__));
  NEEDS(!stream->capture, CUDA_ERROR_ILLEGAL_STATE, "the stream captures already");
  stream->capture = new_graph();
  stream->mode = mode;
  stream->capturer = this_thread();
  return CUDA_SUCCESS;
}

API cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  LOCKED;
  CHECK(usable_stream(stream, __func__));
  NEEDS(stream->capture, CUDA_ERROR_ILLEGAL_STATE, "the stream does not capture");
  NEEDS(stream->mode == CU_STREAM_CAPTURE_MODE_RELAXED || stream->capturer == this_thread(),
        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "another thread began the capture");
  *graph = stream->capture;
  stream->capture = 0;
  return CUDA_SUCCESS;
}

API cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  LOCKED;
  CHECK(usable_stream(stream, __func__));
  *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

API cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                              const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count) {
  CHECK(cuStreamIsCapturing(stream, status));
  if (id) *id = 1;
  if (graph) *graph = stream->capture;
  if (nodes) *nodes = 0;
  if (edges) *edges = 0;
  if (count) *count = 0;
  return CUDA_SUCCESS;
}

API cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                              const CUgraphNode **nodes, size_t *count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, 0, count);
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

static CUresult usable_graph(CUgraph graph, const char *function) {
  if (graph && graph->kind == GRAPH && !graph->dead) return CUDA_SUCCESS;
  return refused(CUDA_ERROR_INVALID_VALUE, function, "the graph was destroyed");
}

// A graph is held by the program, by what was made of it, and by launches that have not come.
void drop_graph(CUgraph graph) {
  if (--graph->holders) return;
  for (Operation *o = graph->first, *next; o; o = next) {
    next = o->next;
    free_operation(o);
  }
  graph->first = 0;
  for (int i = 0; i < graph->object_count; i++) cuUserObjectRelease(graph->objects[i], 1);
  free(graph->objects);
  graph->object_count = 0;
}

API cuGraphCreate(CUgraph *graph, unsigned flags) {
  (void)flags;
  *graph = new_graph();
  return CUDA_SUCCESS;
}

API cuGraphDestroy(CUgraph graph) {
  LOCKED;
  CHECK(usable_graph(graph, __func__));
  graph->dead = 1;
  drop_graph(graph);
  return CUDA_SUCCESS;
}

API cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  LOCKED;
  CHECK(usable_graph(graph, __func__));
  if (nodes) return CUDA_ERROR_NOT_SUPPORTED;
  *count = graph->count;
  return CUDA_SUCCESS;
}

// ---- what can be launched -------------------------------------------------------------------------------------------

static CUresult usable_executable(CUgraphExec executable, const char *function) {
  if (executable && executable->kind == EXECUTABLE && !executable->dead) return CUDA_SUCCESS;
  return refused(CUDA_ERROR_INVALID_VALUE, function, "the graph was destroyed");
}

API cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long flags) {
  (void)flags;
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(usable_graph(graph, __func__));
  CUgraphExec made = calloc(1, sizeof *made);
  *made = (struct CUgraphExec_st){.kind = EXECUTABLE, .graph = graph};
  graph->holders++;
  *executable = made;
  return CUDA_SUCCESS;
}

API cuGraphInstantiateWithParams(CUgraphExec *executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return cuGraphInstantiateWithFlags(executable, graph, 0);
}

API cuGraphExecDestroy(CUgraphExec executable) {
  LOCKED;
  CHECK(usable_executable(executable, __func__));
  executable->dead = 1;
  drop_graph(executable->graph);
  return CUDA_SUCCESS;
}

API cuGraphUpload(CUgraphExec executable, CUstream stream) {
  LOCKED;
  CHECK(usable_stream(stream, __func__));
  return usable_executable(executable, __func__);
}

API cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  LOCKED;
  CHECK(usable_stream_here(stream, __func__));
  CHECK(usable_executable(executable, __func__));
  emulated[GRAPHS]++;
  Operation *o = operation(RUN_GRAPH);
  o->graph = executable->graph;
  o->graph->holders++;
  return asked(stream, o);
}

// ---- objects that graphs keep ---------------------------------------------------------------------------------------

API cuUserObjectCreate(CUuserObject *object, void *data, CUhostFn destroy, unsigned count, unsigned flags) {
  (void)flags;
  CUuserObject made = calloc(1, sizeof *made);
  *made = (struct CUuserObject_st){.destroy = destroy, .data = data, .holders = (int)count};
  *object = made;
  return CUDA_SUCCESS;
}

API cuUserObjectRetain(CUuserObject object, unsigned count) {
  LOCKED;
  object->holders += (int)count;
  return CUDA_SUCCESS;
}

API cuUserObjectRelease(CUuserObject object, unsigned count) {
  LOCKED;
  object->holders -= (int)count;
  if (object->holders) return CUDA_SUCCESS;
  object->destroy(object->data);
  free(object);
  return CUDA_SUCCESS;
}

API cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags) {
  LOCKED;
  CHECK(usable_graph(graph, __func__));
  graph->objects = realloc(graph->objects, (graph->object_count + count) * sizeof *graph->objects);
  for (unsigned i = 0; i < count; i++) graph->objects[graph->object_count++] = object;
  if (!(flags & CU_GRAPH_USER_OBJECT_MOVE)) object->holders += (int)count;
  return CUDA_SUCCESS;
}

API cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count) {
  LOCKED;
  CHECK(usable_graph(graph, __func__));
  for (int i = 0; i < graph->object_count && count; i++) {
    if (graph->objects[i] != object) continue;
    graph->objects[i--] = graph->objects[--graph->object_count];
    count--;
    CHECK(cuUserObjectRelease(object, 1));
  }
  NEEDS(!count, CUDA_ERROR_INVALID_VALUE, "the graph does not hold that object so often");
  return CUDA_SUCCESS;
}
