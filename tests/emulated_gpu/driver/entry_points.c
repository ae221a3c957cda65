// The names of errors, and where the functions of the driver are found.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

#define NAMED(error) {error, #error}
static const struct {
  CUresult error;
  const char *name;
} error_names[] = {
    NAMED(CUDA_SUCCESS),
    NAMED(CUDA_ERROR_INVALID_VALUE),
    NAMED(CUDA_ERROR_OUT_OF_MEMORY),
    NAMED(CUDA_ERROR_NOT_INITIALIZED),
    NAMED(CUDA_ERROR_NOT_READY),
    NAMED(CUDA_ERROR_INVALID_DEVICE),
    NAMED(CUDA_ERROR_INVALID_IMAGE),
    NAMED(CUDA_ERROR_INVALID_CONTEXT),
    NAMED(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED),
    NAMED(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED),
    NAMED(CUDA_ERROR_INVALID_HANDLE),
    NAMED(CUDA_ERROR_ILLEGAL_STATE),
    NAMED(CUDA_ERROR_NOT_FOUND),
    NAMED(CUDA_ERROR_NOT_SUPPORTED),
    NAMED(CUDA_ERROR_ILLEGAL_ADDRESS),
    NAMED(CUDA_ERROR_MISALIGNED_ADDRESS),
    NAMED(CUDA_ERROR_LAUNCH_FAILED),
    NAMED(CUDA_ERROR_CONTEXT_IS_DESTROYED),
    NAMED(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    NAMED(CUDA_ERROR_STREAM_CAPTURE_ISOLATION),
    NAMED(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD),
};

API cuGetErrorName(CUresult error, const char **name) {
  *name = "CUDA_ERROR_UNKNOWN";
  for (size_t i = 0; i < sizeof error_names / sizeof *error_names; i++)
    if (error_names[i].error == error) *name = error_names[i].name;
  return CUDA_SUCCESS;
}

API cuGetErrorString(CUresult error, const char **text) { return cuGetErrorName(error, text); }

// Functions whose newest version is not called NAME_v2: what a name meant before a version of CUDA, and since then.
static const struct {
  const char *name;
  int version;
  const char *before, *since;
} renamed[] = {
    {"cuStreamGetCtx", 12050, "cuStreamGetCtx", "cuStreamGetCtx_v2"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v3"},
    {"cuCtxGetDevice", 13000, "cuCtxGetDevice", "cuCtxGetDevice_v2"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime", "cuEventElapsedTime_v2"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid", "cuDeviceGetUuid_v2"},
    {"cuGraphInstantiate", 11040, "", "cuGraphInstantiateWithFlags"},
};

static void *found(const char *name, int version) {
  char newest[256];
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
    if (!strcmp(name, renamed[i].name))
      return dlsym(RTLD_DEFAULT, version >= renamed[i].version ? renamed[i].since : renamed[i].before);
  snprintf(newest, sizeof newest, "%s_v2", name);
  void *function = dlsym(RTLD_DEFAULT, newest);
  return function ? function : dlsym(RTLD_DEFAULT, name);
}

API cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *result) {
  (void)flags;
  *function = found(name, version);
  if (!*function && getenv("EMULATED_GPU_MISSING")) fprintf(stderr, "emulated GPU: there is no %s\n", name);
  if (result) *result = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, 0);
}
