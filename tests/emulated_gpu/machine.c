// Runs kernels as a GPU does, one thread at a time, and watches what they do to memory.
//
// Threads of a block that wait for each other are coroutines. An access outside of all memory, a barrier that some
// threads never come to, and a read or write that races with another thread's are told, where a GPU would go on.

#define _GNU_SOURCE
#include "machine.h"
#include "driver.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { MOST_THREADS = 1024, STACK = 128 << 10, MOST_SHARED = 48 << 10, WARP = 32 };
enum { RUNNING, AT_BARRIER, AT_SHUFFLE, DONE };

typedef struct {
  Thread thread;
  ucontext_t context;
  int state;
  u32 value, distance, received;  // of a shuffle
} Fiber;

// Who touched a byte last. Of readers there may be several threads, of one block or of several.
typedef struct {
  u64 launch : 24, epoch : 12, atomic : 1, many : 1, blocks : 1, thread : 25;
} Touch;

static Fiber fibers[MOST_THREADS];
static char *stacks;
static ucontext_t scheduler;
static jmp_buf out;
static char shared[MOST_SHARED + 16] __attribute__((aligned(64)));
static Touch shared_written[MOST_SHARED], shared_read[MOST_SHARED];

// The launch that runs.
static const Kernel *kernel;
static const char *parameters;
static u32 block_size, shared_size, block_number, epoch, launch_number, random_state;
static int order, races_told;
static char *stack_now;
static CUresult result;
static u64 cost;
static long most_blocks;  // that are run of a launch whose work is measured; 0 where none is

static void told(const Thread *t, const char *what, u64 address, u32 bytes, const char *why) {
  violation("%.40s: thread %u of block %u,%u,%u %s %u bytes at 0x%llx: %s", kernel->name, t->number, t->ctaid[0], t->ctaid[1],
            t->ctaid[2], what, bytes, (unsigned long long)address, why);
}

static void __attribute__((noreturn)) ended(CUresult error) {
  result = error;
  if (kernel->meets) setcontext(&scheduler);
  longjmp(out, 1);
}

void trap(Thread *t) {
  violation("%s: thread %u traps", kernel->name, t->number);
  ended(CUDA_ERROR_LAUNCH_FAILED);
}

// Whether an access by this thread races with what an earlier one did. What is changed atomically may be looked at.
static int races(Touch before, Touch now, int only_reads) {
  if (before.launch != now.launch || (before.atomic && (now.atomic || only_reads))) return 0;
  if (before.blocks) return 1;
  if (before.thread / block_size != now.thread / block_size) return 1;
  return before.epoch == now.epoch && (before.many || before.thread != now.thread);
}

static void watch(Thread *t, Touch *written, Touch *read, u64 address, u32 bytes, int what) {
  Touch now = {.launch = launch_number, .epoch = epoch, .atomic = what >= ATOMIC,
               .thread = block_number * block_size + t->number};
  const char *problem = 0;
  for (u32 i = 0; i < bytes; i++) {
    if (races(written[i], now, what == READS)) problem = "another thread has written it since they last met";
    if (what & (WRITES | ATOMIC)) {
      if (!now.atomic && races(read[i], now, 0)) problem = "another thread has read it since they last met";
      written[i] = now;
      continue;
    }
    Touch r = read[i];
    if (r.launch == now.launch && r.blocks == 0 && r.thread / block_size != now.thread / block_size) now.blocks = 1;
    if (r.launch == now.launch) now.blocks |= r.blocks;
    now.many = r.launch == now.launch && r.epoch == now.epoch && (r.many || r.thread != now.thread);
    read[i] = now;
  }
  if (problem && races_told++ < 3) told(t, what & (WRITES | ATOMIC) ? "writes" : "reads", address, bytes, problem);
}

void *memory(Thread *t, u64 address, u32 bytes, int what) {
  const char *did = what & (WRITES | ATOMIC) ? "writes" : "reads";
  if (address >= SHARED && address < SHARED + MOST_SHARED) {
    u32 place = address - SHARED;
    if (place + bytes > shared_size) {
      told(t, did, address, bytes, "shared memory ends before");
      ended(CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    if (address % bytes) {
      told(t, did, address, bytes, "the address is not aligned");
      ended(CUDA_ERROR_MISALIGNED_ADDRESS);
    }
    watch(t, shared_written + place, shared_read + place, address, bytes, what);
    return shared + place;
  }
  if (address % bytes) {
    told(t, did, address, bytes, "the address is not aligned");
    ended(CUDA_ERROR_MISALIGNED_ADDRESS);
  }
  Allocation *a = allocation_of(address);
  if (a == 0) {
    Dl_info info;
    char *host = (char *)(uintptr_t)address;
    int is_own = host >= stack_now - STACK && host < stack_now + STACK;  // what a function keeps in local memory
    if (is_own || (what == READS && dladdr(host, &info) && strstr(info.dli_fname, "kernel_"))) return host;
    told(t, did, address, bytes, "no memory is there");
    ended(CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  if (most_blocks)
    profile_access((u64)(uintptr_t)__builtin_return_address(0) | (u64)(t->number / WARP) << 52, t->number % WARP, address,
                   bytes, what != READS);
  u64 place = address - a->address;
  if (place + bytes > a->size) {
    told(t, did, address, bytes, "the allocation ends before");
    ended(CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  if (a->touched == 0) {
    a->touched = mmap(0, 2 * a->size * sizeof(Touch), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    a->touched_size = 2 * a->size * sizeof(Touch);
  }
  Touch *touched = a->touched;
  watch(t, touched + place, touched + a->size + place, address, bytes, what);
  return a->bytes + place;
}

static Fiber *fiber_of(Thread *t) { return (Fiber *)t; }

void barrier(Thread *t) {
  fiber_of(t)->state = AT_BARRIER;
  swapcontext(&fiber_of(t)->context, &scheduler);
}

u32 shuffled(Thread *t, u32 value, u32 distance, u32 mask) {
  Fiber *f = fiber_of(t);
  if (~mask) violation("%s: a shuffle of some lanes, 0x%x", kernel->name, mask);
  f->value = value;
  f->distance = distance;
  f->state = AT_SHUFFLE;
  swapcontext(&f->context, &scheduler);
  return f->received;
}

static void fiber_main(unsigned number) {
  kernel->run(&fibers[number].thread, parameters);
  fibers[number].state = DONE;
}

static u32 drawn(u32 below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (u32)((u64)random_state * below >> 32);
}

// The numbers below `count` in the order of this emulation: upwards, downwards or by chance.
static void ordered(u32 *numbers, u32 count) {
  for (u32 i = 0; i < count; i++) numbers[i] = order == 1 ? count - 1 - i : i;
  for (u32 i = count; order > 1 && i > 1; i--) {
    u32 j = drawn(i), x = numbers[i - 1];
    numbers[i - 1] = numbers[j];
    numbers[j] = x;
  }
}

// Runs the threads of a warp until each waits; whether any did anything.
static int warp_ran(u32 first, u32 end) {
  int ran = 0;
  for (;;) {
    u32 shuffling = 0, others = 0, distance = 0;
    for (u32 i = first; i < end; i++) {
      Fiber *f = &fibers[i];
      if (f->state == RUNNING) {
        ran = 1;
        stack_now = stacks + (size_t)i * STACK + STACK;
        swapcontext(&scheduler, &f->context);
        if (result) return 0;
      }
      if (f->state == AT_SHUFFLE) {
        if (shuffling++ && distance != f->distance)
          violation("%s: the threads of a warp shuffle by %u and %u", kernel->name, distance, f->distance);
        distance = f->distance;
      } else
        others++;
    }
    if (!shuffling || others) return ran;
    for (u32 i = first; i < end; i++) {
      Fiber *f = &fibers[i];
      u32 other = first + ((i - first) ^ f->distance);
      if (other >= end) violation("%s: thread %u takes from lane %u, which there is not", kernel->name, i, other - first);
      f->received = fibers[other < end ? other : i].value;
      f->state = RUNNING;
    }
  }
}

static void run_meeting_block(u32 *warps, u32 warp_count) {
  for (u32 i = 0; i < block_size; i++) {
    Fiber *f = &fibers[i];
    f->state = RUNNING;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = &scheduler;
    makecontext(&f->context, (void (*)(void))fiber_main, 1, i);
  }
  for (;;) {
    int ran = 0;
    ordered(warps, warp_count);
    for (u32 w = 0; w < warp_count; w++) {
      u32 first = warps[w] * WARP, end = first + WARP < block_size ? first + WARP : block_size;
      ran |= warp_ran(first, end);
      if (result) return;
    }
    u32 waiting = 0, done = 0, shuffling = block_size;
    for (u32 i = 0; i < block_size; i++) {
      waiting += fibers[i].state == AT_BARRIER;
      done += fibers[i].state == DONE;
      if (fibers[i].state == AT_SHUFFLE) shuffling = i;
    }
    if (done == block_size) return;
    if (waiting == block_size) {
      epoch++;
      for (u32 i = 0; i < block_size; i++) fibers[i].state = RUNNING;
    } else if (!ran) {
      violation("%s: in block %u, %u threads are at a barrier, %u have ended%s", kernel->name, block_number, waiting, done,
                shuffling < block_size ? ", and some of a warp shuffle without the others" : "");
      result = CUDA_ERROR_LAUNCH_FAILED;
      return;
    }
  }
}

CUresult run_kernel(const Kernel *which, const u32 *grid, const u32 *block, u32 dynamic, const char *given, int in_order,
                    u64 *paid) {
  static u32 warps[MOST_THREADS / WARP + 1], threads[MOST_THREADS];
  if (!stacks)
    stacks = mmap(0, (size_t)STACK * MOST_THREADS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  kernel = which, parameters = given, result = 0, cost = 0, races_told = 0;
  order = in_order, random_state = (u32)in_order + launch_number;
  launch_number = launch_number % 0xffffff + 1;
  block_size = block[0] * block[1] * block[2];
  shared_size = (u32)kernel->shared + dynamic;
  u64 blocks = (u64)grid[0] * grid[1] * grid[2];
  most_blocks = getenv("EMULATED_GPU_PROFILE") ? 8 : 0;
  if (most_blocks) profile_begin();
  if (most_blocks && blocks > (u64)most_blocks) blocks = (u64)most_blocks;
  for (u64 b = 0; b < blocks && !result; b++) {
    u64 n = order == 1 ? blocks - 1 - b : b;
    block_number = (u32)n;
    epoch = 0;
    memset(shared, 0xff, shared_size);
    memset(shared_written, 0, shared_size * sizeof(Touch));
    memset(shared_read, 0, shared_size * sizeof(Touch));
    for (u32 i = 0; i < block_size; i++) {
      Thread *t = &fibers[i].thread;
      *t = (Thread){.tid = {i % block[0], i / block[0] % block[1], i / block[0] / block[1]}, .number = i};
      memcpy(t->ntid, block, sizeof t->ntid);
      memcpy(t->nctaid, grid, sizeof t->nctaid);
      t->ctaid[0] = n % grid[0], t->ctaid[1] = n / grid[0] % grid[1], t->ctaid[2] = n / grid[0] / grid[1];
    }
    if (kernel->meets) {
      run_meeting_block(warps, (block_size + WARP - 1) / WARP);
    } else {
      ordered(threads, block_size);
      if (setjmp(out) == 0)
        for (u32 i = 0; i < block_size; i++) {
          stack_now = (char *)__builtin_frame_address(0);
          kernel->run(&fibers[threads[i]].thread, parameters);
          if (most_blocks && i % WARP == WARP - 1) profile_warp_end();
        }
    }
    if (most_blocks) profile_warp_end();
    for (u32 i = 0; i < block_size; i++) cost += fibers[i].thread.cost;
  }
  *paid += cost;
  if (most_blocks) profile_end(kernel, grid, block, blocks, cost);
  return result;
}
