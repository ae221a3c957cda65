// Streams and events.

#include <stdlib.h>

#include "driver.h"

static u64 stream_count;

// ---- streams --------------------------------------------------------------------------------------------------------

API cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(no_capture(__func__));
  CUstream s = calloc(1, sizeof *s);
  *s = (struct CUstream_st){.kind = STREAM,
                            .context = current(),
                            .flags = flags,
                            .priority = priority,
                            .id = ++stream_count,
                            .last = &s->first,
                            .next = streams};
  streams = s;
  *stream = s;
  return CUDA_SUCCESS;
}

API cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

API cuStreamDestroy_v2(CUstream stream) {
  LOCKED;
  NEEDS((uintptr_t)stream > 2 && stream->kind == STREAM && !stream->dead, CUDA_ERROR_INVALID_HANDLE,
        "the stream was destroyed");
  drain(stream);
  stream->dead = 1;
  return CUDA_SUCCESS;
}

API cuStreamSynchronize(CUstream stream) {
  LOCKED;
  CHECK(usable_stream(stream, __func__));
  NEEDS(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream captures");
  drain(stream);
  return stream->context->broken;
}

// Who asks again and again finds the work done one day.
API cuStreamQuery(CUstream stream) {
  LOCKED;
  CHECK(usable_stream(stream, __func__));
  NEEDS(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream captures");
  if (!stream->first) return CUDA_SUCCESS;
  run_one(stream);
  return stream->context->broken ? stream->context->broken : CUDA_ERROR_NOT_READY;
}

API cuCtxSynchronize(void) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(no_capture(__func__));
  for (CUstream s = streams; s; s = s->next)
    if (s->context == current()) drain(s);
  return current()->broken;
}

API cuStreamGetCtx(CUstream stream, CUcontext *context) {
  CHECK(usable_stream(stream, __func__));
  *context = stream->context;
  return CUDA_SUCCESS;
}

API cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green) {
  if (green) *green = 0;
  return cuStreamGetCtx(stream, context);
}

API cuStreamGetDevice(CUstream stream, CUdevice *device) {
  CHECK(usable_stream(stream, __func__));
  *device = stream->context->device;
  return CUDA_SUCCESS;
}

API cuStreamGetFlags(CUstream stream, unsigned *flags) {
  CHECK(usable_stream(stream, __func__));
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

API cuStreamGetPriority(CUstream stream, int *priority) {
  CHECK(usable_stream(stream, __func__));
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

API cuStreamGetId(CUstream stream, unsigned long long *id) {
  CHECK(usable_stream(stream, __func__));
  *id = stream->id;
  return CUDA_SUCCESS;
}

// ---- events ---------------------------------------------------------------------------------------------------------

static CUresult usable_event(CUevent event, const char *function) {
  if (event && event->kind == EVENT && !event->dead) return CUDA_SUCCESS;
  return refused(CUDA_ERROR_INVALID_HANDLE, function, "the event was destroyed");
}

API cuEventCreate(CUevent *event, unsigned flags) {
  LOCKED;
  CHECK(usable_context(__func__));
  CUevent e = calloc(1, sizeof *e);
  *e = (struct CUevent_st){.kind = EVENT, .context = current(), .flags = flags};
  *event = e;
  return CUDA_SUCCESS;
}

API cuEventDestroy_v2(CUevent event) {
  LOCKED;
  CHECK(usable_event(event, __func__));
  let_go(event->record);
  event->dead = 1;
  return CUDA_SUCCESS;
}

API cuEventRecord(CUevent event, CUstream stream) {
  LOCKED;
  CHECK(usable_stream(stream, __func__));
  CHECK(usable_event(event, __func__));
  NEEDS(event->context == stream->context, CUDA_ERROR_INVALID_HANDLE, "event and stream are of different devices");
  NEEDS(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "an event is recorded in a graph");
  let_go(event->record);
  event->record = calloc(1, sizeof *event->record);
  *event->record = (Record){.stream = stream, .holders = 2};
  Operation *o = operation(RECORD);
  o->record = event->record;
  return asked(stream, o);
}

API cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  (void)flags;
  return cuEventRecord(event, stream);
}

API cuEventSynchronize(CUevent event) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(usable_event(event, __func__));
  CHECK(no_capture(__func__));
  while (event->record && !event->record->done) run_one(event->record->stream);
  return event->context->broken;
}

API cuEventQuery(CUevent event) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(usable_event(event, __func__));
  CHECK(no_capture(__func__));
  if (!event->record || event->record->done) return event->context->broken;
  run_one(event->record->stream);
  return event->context->broken ? event->context->broken : CUDA_ERROR_NOT_READY;
}

API cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(usable_event(from, __func__));
  CHECK(usable_event(to, __func__));
  NEEDS(!((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING), CUDA_ERROR_INVALID_HANDLE, "the event has no time");
  *milliseconds = 1;
  return CUDA_SUCCESS;
}

API cuEventElapsedTime_v2(float *milliseconds, CUevent from, CUevent to) {
  return cuEventElapsedTime(milliseconds, from, to);
}

API cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  LOCKED;
  CHECK(usable_stream(stream, __func__));
  CHECK(usable_event(event, __func__));
  NEEDS(!flags, CUDA_ERROR_INVALID_VALUE, "the flags");
  NEEDS(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "a graph waits for an event");
  if (!event->record || event->record->done) return CUDA_SUCCESS;
  Operation *o = operation(WAIT);
  o->record = event->record;
  o->record->holders++;
  return asked(stream, o);
}
