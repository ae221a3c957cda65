// Devices and contexts.

#include <stdio.h>

#include "driver.h"

enum { MOST_DEPTH = 64 };

int initialised;
static __thread CUcontext stack[MOST_DEPTH];
static __thread int depth;

CUcontext current(void) { return depth ? stack[depth - 1] : 0; }

int reaches(int device, int other) { return device == other || contexts[device].reaches[other]; }

API cuInit(unsigned flags) {
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  initialised = 1;
  return CUDA_SUCCESS;
}

API cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

// ---- devices --------------------------------------------------------------------------------------------------------

API cuDeviceGetCount(int *count) {
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  *count = settings.device_count;
  return CUDA_SUCCESS;
}

API cuDeviceGet(CUdevice *device, int number) {
  CHECK(usable_device(number, __func__));
  *device = number;
  return CUDA_SUCCESS;
}

API cuDeviceGetName(char *name, int size, CUdevice device) {
  CHECK(usable_device(device, __func__));
  snprintf(name, size, "Emulated GPU");
  return CUDA_SUCCESS;
}

API cuDeviceTotalMem_v2(size_t *size, CUdevice device) {
  CHECK(usable_device(device, __func__));
  *size = settings.memory;
  return CUDA_SUCCESS;
}

API cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  CHECK(usable_device(device, __func__));
  memset(uuid, 0x40 + device, sizeof *uuid);
  return CUDA_SUCCESS;
}

API cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid(uuid, device); }

API cuDeviceGetPCIBusId(char *id, int size, CUdevice device) {
  CHECK(usable_device(device, __func__));
  snprintf(id, size, "0000:%02x:00.0", device + 1);
  return CUDA_SUCCESS;
}

API cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice other) {
  CHECK(usable_device(device, __func__));
  CHECK(usable_device(other, __func__));
  *can = settings.peers && device != other;
  return CUDA_SUCCESS;
}

// Those of an H100, but for the capability that is asked for; 0 for all others.
static int attribute(CUdevice_attribute which, CUdevice device) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return settings.capability[0];
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return settings.capability[1];
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return MOST_THREADS;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return INT32_MAX;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return MOST_SHARED;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return WARP;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
      return 1;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return device + 1;
    default:
      return 0;
  }
}

API cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
  CHECK(usable_device(device, __func__));
  *value = attribute(which, device);
  return CUDA_SUCCESS;
}

// ---- contexts: one for each device ----------------------------------------------------------------------------------

API cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  LOCKED;
  CHECK(usable_device(device, __func__));
  contexts[device].retained++;
  *context = &contexts[device];
  return CUDA_SUCCESS;
}

API cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  LOCKED;
  CHECK(usable_device(device, __func__));
  NEEDS(contexts[device].retained, CUDA_ERROR_INVALID_CONTEXT, "the context is not retained");
  contexts[device].retained--;
  return CUDA_SUCCESS;
}

API cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  CHECK(usable_device(device, __func__));
  *flags = 0;
  *active = contexts[device].retained > 0;
  return CUDA_SUCCESS;
}

API cuCtxGetCurrent(CUcontext *context) {
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  *context = current();
  return CUDA_SUCCESS;
}

API cuCtxPushCurrent_v2(CUcontext context) {
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  NEEDS(context && context->kind == CONTEXT, CUDA_ERROR_INVALID_CONTEXT, "that is no context");
  NEEDS(depth < MOST_DEPTH, CUDA_ERROR_INVALID_VALUE, "contexts are pushed and never popped");
  stack[depth++] = context;
  return CUDA_SUCCESS;
}

API cuCtxPopCurrent_v2(CUcontext *context) {
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  NEEDS(depth, CUDA_ERROR_INVALID_CONTEXT, "no context is current");
  depth--;
  if (context) *context = stack[depth];
  return CUDA_SUCCESS;
}

API cuCtxSetCurrent(CUcontext context) {
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (depth) depth--;
  return context ? cuCtxPushCurrent_v2(context) : CUDA_SUCCESS;
}

API cuCtxGetDevice(CUdevice *device) {
  CHECK(usable_context(__func__));
  *device = current()->device;
  return CUDA_SUCCESS;
}

API cuCtxGetDevice_v2(CUdevice *device, CUcontext context) {
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (!context) context = current();
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device;
  return CUDA_SUCCESS;
}

API cuCtxGetId(CUcontext context, unsigned long long *id) {
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (!context) context = current();
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  *id = context->device + 1;
  return CUDA_SUCCESS;
}

API cuCtxGetFlags(unsigned *flags) {
  CHECK(usable_context(__func__));
  *flags = 0;
  return CUDA_SUCCESS;
}

API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CHECK(usable_context(__func__));
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}

API cuCtxEnablePeerAccess(CUcontext context, unsigned flags) {
  LOCKED;
  CHECK(usable_context(__func__));
  NEEDS(context && context->kind == CONTEXT, CUDA_ERROR_INVALID_CONTEXT, "that is no context");
  NEEDS(context != current() && !flags, CUDA_ERROR_INVALID_VALUE, "the context is the current one, or there are flags");
  if (!settings.peers) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if (current()->reaches[context->device]) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  current()->reaches[context->device] = 1;
  return CUDA_SUCCESS;
}
