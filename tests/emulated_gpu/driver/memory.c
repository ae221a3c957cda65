// Memory of GPUs, memory of the host that they reach, and copies between them.

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "driver.h"

static Allocation *allocations, *pinned;
static u64 used[MOST_DEVICES], allocation_count, refused_from = -1, refused_to = -1;

// ---- where memory is ------------------------------------------------------------------------------------------------

static int within(const Allocation *a, u64 address, size_t size) {
  return address >= a->address && address + size <= a->address + a->size;
}

// Kernels ask for one address after the other in the same allocation.
Allocation *allocation_of(u64 address) {
  static Allocation *last;
  static u64 made;
  if (last && made == emulated[MADE] && within(last, address, 1)) return last;
  for (Allocation *a = allocations; a; a = a->next) {
    if (!within(a, address, 1)) continue;
    made = emulated[MADE];
    last = a;
    return a;
  }
  return 0;
}

static Allocation *pinned_at(u64 address, size_t size) {
  for (Allocation *a = pinned; a; a = a->next)
    if (within(a, address, size)) return a;
  return 0;
}

char *bytes_at(u64 address, size_t size, const char *what) {
  Allocation *a = allocation_of(address);
  if (!a) return (char *)(uintptr_t)address;
  if (within(a, address, size)) return a->bytes + (address - a->address);
  violation("a copy %s %zu bytes at 0x%llx, where %llu are left", what, size, (unsigned long long)address,
            (unsigned long long)(a->address + a->size - address));
  return 0;
}

static CUresult device_memory(u64 address, const char *function) {
  if (allocation_of(address)) return CUDA_SUCCESS;
  return refused(CUDA_ERROR_INVALID_VALUE, function, "that is no memory of a GPU");
}

static CUresult host_memory(const void *address, const char *function) {
  if (!allocation_of((u64)(uintptr_t)address)) return CUDA_SUCCESS;
  return refused(CUDA_ERROR_INVALID_VALUE, function, "that is memory of a GPU");
}

// ---- allocations ----------------------------------------------------------------------------------------------------

static size_t pages(size_t size) { return (size + 4095) & ~(size_t)4095; }

static char *mapped(size_t size, int access) {
  void *made = mmap(0, pages(size), access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) abort();
  return made;
}

// Memory with nothing in it: NaN as floats.
static char *empty(size_t size) {
  char *made = mapped(size, PROT_READ | PROT_WRITE);
  memset(made, 0xff, size);
  return made;
}

// Allocations number `from` to `to` from now on find no memory.
__attribute__((visibility("default"))) void emulated_refuse(u64 from, u64 to) {
  refused_from = allocation_count + from;
  refused_to = allocation_count + to;
}

API cuMemAlloc_v2(CUdeviceptr *pointer, size_t size) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(no_capture(__func__));
  NEEDS(size, CUDA_ERROR_INVALID_VALUE, "no bytes");
  int device = current()->device;
  u64 number = allocation_count++;
  int is_refused = number >= refused_from && number < refused_to;
  if (is_refused || used[device] + size > settings.memory) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation *a = calloc(1, sizeof *a);
  *a = (Allocation){.address = (u64)(uintptr_t)mapped(size, PROT_NONE),
                    .size = size,
                    .device = device,
                    .bytes = empty(size),
                    .next = allocations};
  allocations = a;
  used[device] += size;
  emulated[LIVE]++;
  emulated[MADE]++;
  *pointer = a->address;
  return CUDA_SUCCESS;
}

// Takes what begins at an address out of a list; null where nothing does.
static Allocation *taken(Allocation **list, u64 address) {
  for (; *list; list = &(*list)->next) {
    Allocation *a = *list;
    if (a->address != address) continue;
    *list = a->next;
    return a;
  }
  return 0;
}

API cuMemFree_v2(CUdeviceptr pointer) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(no_capture(__func__));
  drain_all();
  Allocation *a = taken(&allocations, pointer);
  NEEDS(a, CUDA_ERROR_INVALID_VALUE, "no allocation begins there");
  used[a->device] -= a->size;
  emulated[LIVE]--;
  emulated[MADE]++;
  munmap((void *)(uintptr_t)a->address, pages(a->size));
  munmap(a->bytes, pages(a->size));
  if (a->written) {
    munmap(a->written, a->size * sizeof(Touch));
    munmap(a->read, a->size * sizeof(Touch));
  }
  free(a);
  return current()->broken;
}

API cuMemGetInfo_v2(size_t *left, size_t *all) {
  LOCKED;
  CHECK(usable_context(__func__));
  *all = settings.memory;
  *left = settings.memory - used[current()->device];
  return CUDA_SUCCESS;
}

API cuMemHostAlloc(void **pointer, size_t size, unsigned flags) {
  (void)flags;
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(no_capture(__func__));
  NEEDS(size, CUDA_ERROR_INVALID_VALUE, "no bytes");
  Allocation *a = calloc(1, sizeof *a);
  *a = (Allocation){.bytes = empty(size), .size = size, .next = pinned};
  a->address = (u64)(uintptr_t)a->bytes;
  pinned = a;
  *pointer = a->bytes;
  return CUDA_SUCCESS;
}

API cuMemAllocHost_v2(void **pointer, size_t size) { return cuMemHostAlloc(pointer, size, 0); }

API cuMemFreeHost(void *pointer) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(no_capture(__func__));
  drain_all();
  Allocation *a = taken(&pinned, (u64)(uintptr_t)pointer);
  NEEDS(a, CUDA_ERROR_INVALID_VALUE, "that memory is not pinned");
  munmap(pointer, pages(a->size));
  free(a);
  return current()->broken;
}

API cuMemGetAddressRange_v2(CUdeviceptr *start, size_t *size, CUdeviceptr pointer) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(device_memory(pointer, __func__));
  Allocation *a = allocation_of(pointer);
  if (start) *start = a->address;
  if (size) *size = a->size;
  return CUDA_SUCCESS;
}

API cuPointerGetAttribute(void *value, CUpointer_attribute which, CUdeviceptr pointer) {
  LOCKED;
  CHECK(usable_context(__func__));
  Allocation *a = allocation_of(pointer);
  if (!a && !pinned_at(pointer, 1)) return CUDA_ERROR_INVALID_VALUE;
  int device = a ? a->device : 0;
  switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *(unsigned *)value = a ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *(int *)value = device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *(CUcontext *)value = &contexts[device];
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *(CUdeviceptr *)value = pointer;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *(int *)value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// ---- copies ---------------------------------------------------------------------------------------------------------

static CUresult copied(u64 target, u64 source, size_t size, CUstream stream) {
  int from_host = !allocation_of(source), to_host = !allocation_of(target);
  int paged = (from_host && !pinned_at(source, size)) || (to_host && !pinned_at(target, size));
  NEEDS(!stream->capture || !paged, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "memory that is not pinned");
  Operation *o = operation(COPY);
  o->target = target;
  o->source = source;
  o->size = size;
  if (from_host && paged) {  // The driver takes it at once.
    o->kept = malloc(size);
    memcpy(o->kept, (void *)(uintptr_t)source, size);
  }
  CUresult error = asked(stream, o);
  if (to_host && paged) drain(stream);  // The driver waits until it is there.
  return error;
}

API cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t size, CUstream stream) {
  LOCKED;
  CHECK(usable_stream_here(stream, __func__));
  CHECK(device_memory(target, __func__));
  CHECK(host_memory(source, __func__));
  return copied(target, (u64)(uintptr_t)source, size, stream);
}

API cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t size, CUstream stream) {
  LOCKED;
  CHECK(usable_stream_here(stream, __func__));
  CHECK(device_memory(source, __func__));
  CHECK(host_memory(target, __func__));
  return copied((u64)(uintptr_t)target, source, size, stream);
}

API cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t size, CUstream stream) {
  LOCKED;
  CHECK(usable_stream_here(stream, __func__));
  CHECK(device_memory(target, __func__));
  CHECK(device_memory(source, __func__));
  return copied(target, source, size, stream);
}

API cuMemcpyPeerAsync(CUdeviceptr target, CUcontext there, CUdeviceptr source, CUcontext here, size_t size,
                      CUstream stream) {
  LOCKED;
  CHECK(usable_stream(stream, __func__));
  CHECK(device_memory(target, __func__));
  CHECK(device_memory(source, __func__));
  NEEDS(allocation_of(target)->device == there->device && allocation_of(source)->device == here->device,
        CUDA_ERROR_INVALID_VALUE, "the memory is of another device than the context");
  return copied(target, source, size, stream);
}

API cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t size, CUstream stream) {
  LOCKED;
  CHECK(usable_stream_here(stream, __func__));
  CHECK(device_memory(target, __func__));
  Operation *o = operation(SET);
  o->target = target;
  o->value = value;
  o->size = size;
  return asked(stream, o);
}

// A copy without a stream waits for all of them.
static CUresult copied_now(u64 target, u64 source, size_t size) {
  drain_all();
  const char *from = bytes_at(source, size, "reads");
  char *to = bytes_at(target, size, "writes");
  if (!from || !to) return current()->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
  memmove(to, from, size);
  return current()->broken;
}

API cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t size) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(no_capture(__func__));
  CHECK(device_memory(target, __func__));
  return copied_now(target, (u64)(uintptr_t)source, size);
}

API cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t size) {
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(no_capture(__func__));
  CHECK(device_memory(source, __func__));
  return copied_now((u64)(uintptr_t)target, source, size);
}
