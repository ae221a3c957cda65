// The machine that runs kernels, as the driver sees it.

#pragma once
#define __CUDA_API_VERSION_INTERNAL  // The names of cuda.h mean what they say, and not their newest versions.
#include <cuda.h>

#include "kernel.h"

enum { MOST_DEVICES = 4, WARP = 32, MOST_THREADS = 1024, MOST_SHARED = 48 << 10 };

// In which order what may happen in any order happens; SHUFFLED and all above it are seeds.
enum { LATE, EARLY, SHUFFLED };

// Who touched a byte last. Of readers there may be several threads, of one block or of several.
typedef struct {
  u64 launch : 22, epoch : 14, atomic : 1, many : 1, blocks : 1, thread : 25;
} Touch;

// A block of a GPU's memory. The host can read no address of a GPU: the bytes lie elsewhere.
typedef struct Allocation {
  u64 address, size;
  int device;
  char *bytes;
  Touch *written, *read;  // one for each byte; made at the first access
  struct Allocation *next;
} Allocation;

// A kernel, its arguments, and how it is started.
typedef struct {
  const Kernel *kernel;
  const char *parameters;
  u32 grid[3], block[3], dynamic;  // dynamic: bytes of shared memory beside the kernel's own
  int device, order;
} Launch;

// What an access asks for, and what it found instead.
typedef struct {
  u64 address;
  u32 bytes;
  int what;  // READS, WRITES, ...
} Access;

// ---- of the driver --------------------------------------------------------------------------------------------------

// The allocation in which an address lies; null where there is none.
Allocation *allocation_of(u64 address);

// Whether kernels of a device may use the memory of another.
int reaches(int device, int other);

// Says on standard error what a program did that a GPU does not forgive, and counts it.
void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---- of the machine -------------------------------------------------------------------------------------------------

// Runs a kernel to its end. cost: is increased by the issue slots that its threads took.
CUresult run_kernel(const Launch *launch, u64 *cost);

// Ends the kernel that runs, from within.
void end_kernel(CUresult error) __attribute__((noreturn));

// The text of the kernel that runs, for messages.
const char *running_text(void);

// Forgets what threads have touched of shared memory, of which there are so many bytes, with nothing in them.
void access_begin_block(u32 shared_bytes, u32 block_number);
void access_begin_launch(const Launch *launch);
// The threads of the block have met: what was written before may be read from now on.
void access_met(void);
// The memory in which functions of the thread that runs keep what is theirs.
void access_stack(char *low, char *high);

// What launches ask of a GPU, where EMULATED_GPU_PROFILE names a file; then only their first blocks are run.
int profile_wanted(void);
void profile_begin(void);
void profile_access(u64 site, u32 lane, Access access);
void profile_block_end(void);
void profile_end(const Launch *launch, u64 blocks_run, u64 cost);
