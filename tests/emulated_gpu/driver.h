// What the emulated driver and the machine that runs kernels share.

#pragma once
#define __CUDA_API_VERSION_INTERNAL  // Names mean what they say, not their newest versions.
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

// A block of the GPU's memory. No address of the GPU can be read by the host: its bytes lie elsewhere.
typedef struct Allocation {
  u64 address, size;
  int device;
  char *bytes;
  void *touched;  // who read and wrote each byte last
  size_t touched_size;
  struct Allocation *next;
} Allocation;

Allocation *allocation_of(u64 address);

// Says on standard error what a program did that a GPU does not forgive, and counts it.
void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

CUresult run_kernel(const Kernel *kernel, const u32 *grid, const u32 *block, u32 dynamic, const char *parameters, int order,
                    u64 *cost);

// What a launch asks of a GPU, where EMULATED_GPU_PROFILE names a file; then only its first blocks are run.
void profile_begin(void);
void profile_access(u64 site, u32 lane, u64 address, u32 bytes, int writes);
void profile_warp_end(void);
void profile_end(const Kernel *kernel, const u32 *grid, const u32 *block, u64 blocks, u64 cost);
