// Runs kernels as a GPU does: blocks of threads, in an order that nobody may rely on.
//
// Threads that wait for each other are coroutines. A barrier that some threads never come to, and a shuffle that some
// lanes of a warp do not take part in, are told, where a GPU would hang or go on with anything.

#define _GNU_SOURCE
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "machine.h"

enum { STACK = 128 << 10, PROFILED_BLOCKS = 8 };
enum { RUNNING, AT_BARRIER, AT_SHUFFLE, DONE };

// A thread, and where it stands. Its first member is what kernels know of it.
typedef struct {
  Thread thread;
  ucontext_t context;
  int state;
  u32 value, distance, received;  // of a shuffle
} Fiber;

static Fiber fibers[MOST_THREADS];
static char *stacks;
static ucontext_t scheduler;
static jmp_buf out;

static Launch launch;
static const Kernel *kernel;
static u32 block_size, launches, random_state;
static CUresult result;

const char *running_text(void) { return kernel->text; }

void end_kernel(CUresult error) {
  result = error;
  if (kernel->meets) setcontext(&scheduler);
  longjmp(out, 1);
}

void trap(Thread *t) {
  violation("%s: thread %u traps", kernel->text, t->number);
  end_kernel(CUDA_ERROR_LAUNCH_FAILED);
}

// ---- the order of things --------------------------------------------------------------------------------------------

static u32 drawn(u32 below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (u32)((u64)random_state * below >> 32);
}

// The numbers below `count`: upwards, downwards or by chance.
static void ordered(u32 *numbers, u32 count) {
  for (u32 i = 0; i < count; i++) numbers[i] = launch.order == EARLY ? count - 1 - i : i;
  if (launch.order < SHUFFLED) return;
  for (u32 i = count; i > 1; i--) {
    u32 j = drawn(i), last = numbers[i - 1];
    numbers[i - 1] = numbers[j];
    numbers[j] = last;
  }
}

// ---- threads that meet ----------------------------------------------------------------------------------------------

static Fiber *fiber_of(Thread *t) { return (Fiber *)t; }

void barrier(Thread *t) {
  fiber_of(t)->state = AT_BARRIER;
  swapcontext(&fiber_of(t)->context, &scheduler);
}

u32 shuffled(Thread *t, u32 value, u32 distance, u32 clamp, u32 mask) {
  Fiber *f = fiber_of(t);
  if (clamp != WARP - 1 || ~mask)
    violation("%s: a shuffle of some lanes alone, 0x%x within 0x%x", kernel->text, mask, clamp);
  f->value = value;
  f->distance = distance;
  f->state = AT_SHUFFLE;
  swapcontext(&f->context, &scheduler);
  return f->received;
}

static void fiber_main(unsigned number) {
  kernel->run(&fibers[number].thread, launch.parameters);
  fibers[number].state = DONE;
}

static void resume(u32 number) {
  char *stack = stacks + (size_t)number * STACK;
  access_stack(stack, stack + STACK);
  swapcontext(&scheduler, &fibers[number].context);
}

// Gives each lane of a warp, all of which are at a shuffle, the value of its other.
static void exchange(u32 first, u32 end) {
  for (u32 i = first; i < end; i++) {
    Fiber *f = &fibers[i];
    if (f->distance != fibers[first].distance)
      violation("%s: threads of a warp shuffle by %u and %u", kernel->text, fibers[first].distance, f->distance);
    u32 other = first + ((i - first) ^ f->distance);
    if (other >= end) violation("%s: thread %u takes from lane %u, which there is not", kernel->text, i, other - first);
    f->received = fibers[other < end ? other : i].value;
    f->state = RUNNING;
  }
}

// Runs the threads of a warp until each waits for others than its own; whether any did anything.
static int warp_ran(u32 first, u32 end) {
  int ran = 0;
  for (;;) {
    u32 shuffling = 0;
    for (u32 i = first; i < end; i++) {
      if (fibers[i].state == RUNNING) {
        ran = 1;
        resume(i);
        if (result) return ran;
      }
      shuffling += fibers[i].state == AT_SHUFFLE;
    }
    if (shuffling < end - first) return ran;
    exchange(first, end);
  }
}

// Lets the threads of a block go on from a barrier that all have come to; whether they did.
static int met(void) {
  for (u32 i = 0; i < block_size; i++)
    if (fibers[i].state != AT_BARRIER) return 0;
  for (u32 i = 0; i < block_size; i++) fibers[i].state = RUNNING;
  access_met();
  return 1;
}

static u32 threads_that(int state) {
  u32 count = 0;
  for (u32 i = 0; i < block_size; i++) count += fibers[i].state == state;
  return count;
}

static void run_meeting_block(u32 block_number) {
  static u32 warps[MOST_THREADS / WARP];
  u32 warp_count = (block_size + WARP - 1) / WARP;
  for (u32 i = 0; i < block_size; i++) {
    Fiber *f = &fibers[i];
    f->state = RUNNING;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = &scheduler;
    makecontext(&f->context, (void (*)(void))fiber_main, 1, i);
  }
  while (threads_that(DONE) < block_size) {
    int ran = 0;
    ordered(warps, warp_count);
    for (u32 w = 0; w < warp_count && !result; w++) {
      u32 first = warps[w] * WARP;
      ran |= warp_ran(first, first + WARP < block_size ? first + WARP : block_size);
    }
    if (result) return;
    if (met() || ran) continue;
    violation("%s: in block %u, %u threads are at a barrier, %u at a shuffle, and %u have ended", kernel->text,
              block_number, threads_that(AT_BARRIER), threads_that(AT_SHUFFLE), threads_that(DONE));
    result = CUDA_ERROR_LAUNCH_FAILED;
    return;
  }
}

// ---- threads that do not --------------------------------------------------------------------------------------------

static void run_block(void) {
  static u32 threads[MOST_THREADS];
  char *here = __builtin_frame_address(0);
  access_stack(here - STACK, here);
  ordered(threads, block_size);
  if (setjmp(out)) return;
  for (u32 i = 0; i < block_size; i++) kernel->run(&fibers[threads[i]].thread, launch.parameters);
}

// ---- launches -------------------------------------------------------------------------------------------------------

static void place_threads(u64 block) {
  const u32 *grid = launch.grid, *size = launch.block;
  for (u32 i = 0; i < block_size; i++) {
    Thread *t = &fibers[i].thread;
    *t = (Thread){.tid = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]},
                  .ctaid = {(u32)(block % grid[0]), (u32)(block / grid[0] % grid[1]), (u32)(block / grid[0] / grid[1])},
                  .number = i};
    memcpy(t->ntid, size, sizeof t->ntid);
    memcpy(t->nctaid, grid, sizeof t->nctaid);
  }
}

CUresult run_kernel(const Launch *given, u64 *cost) {
  if (!stacks) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    stacks = mmap(0, (size_t)STACK * MOST_THREADS, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (stacks == MAP_FAILED) abort();
  }
  launch = *given;
  kernel = launch.kernel;
  block_size = launch.block[0] * launch.block[1] * launch.block[2];
  result = 0;
  random_state = (u32)launch.order + launches++;
  int profiled = profile_wanted();
  if (profiled) profile_begin();
  access_begin_launch(&launch);
  u64 all = (u64)launch.grid[0] * launch.grid[1] * launch.grid[2], paid = 0;
  u64 blocks = profiled && all > PROFILED_BLOCKS ? PROFILED_BLOCKS : all;
  for (u64 i = 0; i < blocks && !result; i++) {
    u64 block = launch.order == EARLY ? blocks - 1 - i : i;
    access_begin_block((u32)kernel->shared + launch.dynamic, (u32)block);
    place_threads(block);
    if (kernel->meets)
      run_meeting_block((u32)block);
    else
      run_block();
    if (profiled) profile_block_end();
    for (u32 t = 0; t < block_size; t++) paid += fibers[t].thread.cost;
  }
  *cost += paid;
  if (profiled) profile_end(&launch, blocks, paid);
  return result;
}
