// Each access of a kernel to memory: whether it may be, and whether it races with what other threads do.
//
// Two accesses to a byte race if one of them writes, and nothing that GPUs promise says which is first: those of
// different blocks, and those of two threads of a block that have not met at a barrier between them.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "machine.h"

enum { MOST_RACES_TOLD = 3 };

static char shared[MOST_SHARED] __attribute__((aligned(64)));
static Touch shared_written[MOST_SHARED], shared_read[MOST_SHARED];
static u32 shared_size;

static const Launch *launch;
static u32 launch_number, block_number, block_size, epoch;
static int races_told, profiled;
static char *stack_low, *stack_high;

void access_begin_launch(const Launch *which) {
  launch = which;
  launch_number = launch_number % 0x3fffff + 1;
  block_size = which->block[0] * which->block[1] * which->block[2];
  races_told = 0;
  profiled = profile_wanted();
}

void access_begin_block(u32 shared_bytes, u32 number) {
  shared_size = shared_bytes;
  block_number = number;
  epoch = 0;
  memset(shared, 0xff, shared_bytes);  // NaN, where nothing has been written
  memset(shared_written, 0, shared_bytes * sizeof(Touch));
  memset(shared_read, 0, shared_bytes * sizeof(Touch));
}

void access_met(void) { epoch++; }

void access_stack(char *low, char *high) {
  stack_low = low;
  stack_high = high;
}

static int changes(int what) { return what & (WRITES | ATOMIC); }

static void told(const Thread *t, Access access, const char *why) {
  violation("%s: thread %u of block %u,%u,%u %s %u bytes at 0x%llx: %s", running_text(), t->number, t->ctaid[0],
            t->ctaid[1], t->ctaid[2], changes(access.what) ? "writes" : "reads", access.bytes,
            (unsigned long long)access.address, why);
}

static void forbidden(const Thread *t, Access access, CUresult error, const char *why) {
  told(t, access, why);
  end_kernel(error);
}

// ---- races ----------------------------------------------------------------------------------------------------------

// Whether an access races with an earlier one. What is changed atomically may be looked at meanwhile.
static int races(Touch before, Touch now, int only_reads) {
  if (before.launch != now.launch || (before.atomic && (now.atomic || only_reads))) return 0;
  if (before.blocks) return 1;
  if (before.thread / block_size != now.thread / block_size) return 1;
  return before.epoch == now.epoch && (before.many || before.thread != now.thread);
}

// A read by `now`, put together with those before it, of which some may be by other threads.
static Touch read_too(Touch before, Touch now) {
  if (before.launch != now.launch) return now;
  now.blocks = before.blocks || before.thread / block_size != now.thread / block_size;
  now.many = before.epoch == now.epoch && (before.many || before.thread != now.thread);
  return now;
}

static void watch(const Thread *t, Touch *written, Touch *read, Access access) {
  Touch now = {.launch = launch_number,
               .epoch = epoch,
               .atomic = access.what >= ATOMIC,
               .thread = block_number * block_size + t->number};
  const char *problem = 0;
  for (u32 i = 0; i < access.bytes; i++) {
    if (races(written[i], now, access.what == READS)) problem = "another thread has written it since they last met";
    if (changes(access.what)) {
      if (!now.atomic && races(read[i], now, 0)) problem = "another thread has read it since they last met";
      written[i] = now;
    } else {
      read[i] = read_too(read[i], now);
    }
  }
  if (problem && races_told++ < MOST_RACES_TOLD) told(t, access, problem);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

static void *shared_memory(const Thread *t, Access access) {
  u32 place = (u32)(access.address - SHARED);
  if (place + access.bytes > shared_size) forbidden(t, access, CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory ends before");
  watch(t, shared_written + place, shared_read + place, access);
  return shared + place;
}

// What a function keeps in memory of its own, and the constants of the kernel's module, lie where the host has them.
static void *host_memory(const Thread *t, Access access) {
  char *host = (char *)(uintptr_t)access.address;
  if (host >= stack_low && host < stack_high) return host;
  Dl_info own, found;
  if (access.what == READS && dladdr((void *)(uintptr_t)launch->kernel->run, &own) && dladdr(host, &found) &&
      own.dli_fbase == found.dli_fbase)
    return host;
  forbidden(t, access, CUDA_ERROR_ILLEGAL_ADDRESS, "no memory is there");
  return 0;
}

// Only a part of an allocation is usually touched, so that what is known of all its bytes costs nothing until then.
static Touch *touches(u64 size) {
  void *made =
      mmap(0, size * sizeof(Touch), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) abort();
  return made;
}

void *memory(Thread *t, u64 address, u32 bytes, int what) {
  Access access = {address, bytes, what};
  if (address % bytes) forbidden(t, access, CUDA_ERROR_MISALIGNED_ADDRESS, "the address is not aligned");
  if (address >= SHARED && address < SHARED + MOST_SHARED) return shared_memory(t, access);
  Allocation *a = allocation_of(address);
  if (!a) return host_memory(t, access);
  if (!reaches(launch->device, a->device))
    forbidden(t, access, CUDA_ERROR_ILLEGAL_ADDRESS, "the memory is of a device that this one does not reach");
  u64 place = address - a->address;
  if (place + bytes > a->size) forbidden(t, access, CUDA_ERROR_ILLEGAL_ADDRESS, "the allocation ends before");
  if (profiled) {
    u64 warp = (u64)(t->number / WARP) << 52;
    profile_access((u64)(uintptr_t)__builtin_return_address(0) | warp, t->number % WARP, access);
  }
  if (!a->written) {
    a->written = touches(a->size);
    a->read = touches(a->size);
  }
  watch(t, a->written + place, a->read + place, access);
  return a->bytes + place;
}
