// What streams were asked for and have not done yet.

#include <stdlib.h>

#include "driver.h"

Operation *operation(Kind kind) {
  Operation *o = calloc(1, sizeof *o);
  o->kind = kind;
  return o;
}

void let_go(Record *record) {
  if (record && --record->holders == 0) free(record);
}

void free_operation(Operation *o) {
  free(o->parameters);
  free(o->kept);
  let_go(o->record);
  if (o->kind == RUN_GRAPH) drop_graph(o->graph);
  free(o);
}

static CUresult run_launch(const Operation *o) {
  emulated[LAUNCHES]++;
  if (!o->function->module->dead) return run_kernel(&o->launch, &emulated[COST]);
  violation("%s was unloaded before it ran", o->function->kernel->text);
  return CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult carry_out(const Operation *o) {
  switch (o->kind) {
    case LAUNCH:
      return run_launch(o);
    case COPY: {
      const char *from = o->kept ? o->kept : bytes_at(o->source, o->size, "reads");
      char *to = bytes_at(o->target, o->size, "writes");
      if (!from || !to) return CUDA_ERROR_ILLEGAL_ADDRESS;
      memmove(to, from, o->size);
      return CUDA_SUCCESS;
    }
    case SET: {
      char *to = bytes_at(o->target, o->size, "writes");
      if (!to) return CUDA_ERROR_ILLEGAL_ADDRESS;
      memset(to, o->value, o->size);
      return CUDA_SUCCESS;
    }
    case RECORD:
      o->record->done = 1;
      return CUDA_SUCCESS;
    case WAIT:
      while (!o->record->done) run_one(o->record->stream);
      return CUDA_SUCCESS;
    case RUN_GRAPH:
      for (const Operation *node = o->graph->first; node; node = node->next) CHECK(carry_out(node));
      return CUDA_SUCCESS;
    case CALL:
      o->call(o->data);
      return CUDA_SUCCESS;
  }
  abort();
}

void run_one(CUstream stream) {
  Operation *o = stream->first;
  if (!o || stream->busy) abort();  // It waits for itself, which no order of calls can ask for.
  stream->busy = 1;
  // After an error a device does nothing more, but whoever waits for it must not wait for ever.
  if (!stream->context->broken || o->kind == RECORD) stream->context->broken |= carry_out(o);
  stream->busy = 0;
  stream->first = o->next;
  if (!stream->first) stream->last = &stream->first;
  free_operation(o);
}

void drain(CUstream stream) {
  while (stream->first) run_one(stream);
}

void drain_all(void) {
  for (CUstream s = streams; s; s = s->next) drain(s);
}

static void run_some_by_chance(void) {
  for (CUstream s = streams; s; s = s->next)
    while (s->first && !s->busy && rand_r(&settings.random_state) % 4 == 0) run_one(s);
}

CUresult asked(CUstream stream, Operation *o) {
  if (stream->capture) {
    CUgraph graph = stream->capture;
    *graph->last = o;
    graph->last = &o->next;
    graph->count++;
    return CUDA_SUCCESS;
  }
  *stream->last = o;
  stream->last = &o->next;
  if (settings.order == EARLY) drain(stream);
  if (settings.order >= SHUFFLED) run_some_by_chance();
  return stream->context->broken;
}
