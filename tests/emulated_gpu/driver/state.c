// A stand-in for NVIDIA's driver, libcuda.so.1: its rules, and GPUs that the machine emulates.
//
// What is asked of a stream is done as late as it may be (EMULATED_GPU=late), at once (early), or by chance (a number,
// the seed), so that a program that does not wait for what it needs is found out. A call that the driver would refuse,
// or answer with undefined behaviour, is told on standard error and counted. Functions that are not here do not exist.

#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver.h"

__attribute__((visibility("default"))) u64 emulated[COUNTERS];

struct Settings settings;
pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
struct CUctx_st contexts[MOST_DEVICES];
CUstream streams;

static const char *setting(const char *name, const char *otherwise) {
  const char *given = getenv(name);
  return given ? given : otherwise;
}

static void reject(const char *what) {
  fprintf(stderr, "emulated GPU: %s\n", what);
  exit(2);
}

static int order_of(const char *name) {
  if (!strcmp(name, "late")) return LATE;
  if (!strcmp(name, "early")) return EARLY;
  char *end;
  int seed = (int)strtol(name, &end, 10);
  if (*end || end == name || seed < 0) reject("EMULATED_GPU is late, early or a number, the seed");
  return SHUFFLED + seed;
}

// Reads the settings, and makes GPUs that no one has used. For tests, which begin anew.
__attribute__((visibility("default"), constructor)) void emulated_begin(void) {
  settings.order = order_of(setting("EMULATED_GPU", "late"));
  settings.random_state = (unsigned)settings.order;
  settings.device_count = atoi(setting("EMULATED_GPUS", "1"));
  settings.memory = strtoull(setting("EMULATED_GPU_MEMORY", "4294967296"), 0, 0);
  settings.peers = !getenv("EMULATED_GPU_NO_PEERS");
  const char *capability = setting("EMULATED_GPU_CAPABILITY", "9.0");
  if (sscanf(capability, "%d.%d", &settings.capability[0], &settings.capability[1]) != 2)
    reject("EMULATED_GPU_CAPABILITY is a number such as 8.0");
  if (settings.device_count < 0 || settings.device_count > MOST_DEVICES) reject("EMULATED_GPUS is 4 at most");
  for (int i = 0; i < MOST_DEVICES; i++)
    contexts[i] = (struct CUctx_st){.kind = CONTEXT, .device = i, .retained = contexts[i].retained};
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

CUresult refused(CUresult error, const char *function, const char *why) {
  violation("%s: %s", function, why);
  return error;
}

CUresult usable_context(const char *function) {
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (!current()) return refused(CUDA_ERROR_INVALID_CONTEXT, function, "no context is current");
  if (!current()->retained) return refused(CUDA_ERROR_CONTEXT_IS_DESTROYED, function, "the context is not retained");
  return current()->broken;
}

CUresult usable_device(CUdevice device, const char *function) {
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (device >= 0 && device < settings.device_count) return CUDA_SUCCESS;
  return refused(CUDA_ERROR_INVALID_DEVICE, function, "there is no such device");
}

CUresult usable_stream(CUstream stream, const char *function) {
  CHECK(usable_context(function));
  if ((uintptr_t)stream <= 2)
    return refused(CUDA_ERROR_INVALID_HANDLE, function, "the default stream, in which all others wait");
  if (stream->kind != STREAM || stream->dead)
    return refused(CUDA_ERROR_INVALID_HANDLE, function, "the stream was destroyed");
  return CUDA_SUCCESS;
}

CUresult usable_stream_here(CUstream stream, const char *function) {
  CHECK(usable_stream(stream, function));
  if (stream->context == current()) return CUDA_SUCCESS;
  return refused(CUDA_ERROR_INVALID_HANDLE, function, "the stream is of another device");
}
