// What a launch asks of a GPU: instructions, and the 32-byte sectors of memory that each warp's accesses touch.
//
// A GPU moves whole sectors, for the 32 threads of a warp at once. Here threads run one after the other, so that the
// accesses of a warp are put together afterwards: the n-th of an instruction in one thread with the n-th in the others.

#include <stdio.h>
#include <stdlib.h>

#include "machine.h"

// Sizes of hash tables, which a block fills: instructions of its warps, their accesses, and sectors of all blocks.
enum { SITES = 1 << 14, ACCESSES = 1 << 17, SECTORS = 1 << 22, SECTOR = 32, MOST_TRIES = 256 };

// An instruction of a warp, and how often each lane has come by it.
typedef struct {
  u64 site;
  u32 made[WARP];
} Site;

// The accesses of a warp that a GPU makes as one, and the sectors that they touch.
typedef struct {
  u64 site, sectors[2 * WARP];
  u32 number, count, writes;
} Together;

static Site *sites;
static Together *accesses;
static u64 *sectors;
static u32 *used, used_count;

static u64 asked[2], distinct[2];  // sectors, read and written
static u64 wanted, dropped;        // bytes; accesses

int profile_wanted(void) { return getenv("EMULATED_GPU_PROFILE") != 0; }

static u64 hashed(u64 x) { return (x ^ x >> 29) * 0x9e3779b97f4a7c15ull >> 17; }

void profile_begin(void) {
  if (!sites) {
    sites = calloc(SITES, sizeof *sites);
    accesses = calloc(ACCESSES, sizeof *accesses);
    used = calloc(ACCESSES, sizeof *used);
    sectors = calloc(SECTORS, sizeof *sectors);
  }
  memset(sites, 0, SITES * sizeof *sites);
  memset(sectors, 0, SECTORS * sizeof *sectors);
  for (u32 i = 0; i < used_count; i++) accesses[used[i]].count = 0;  // of a kernel that did not come to its end
  used_count = 0;
  asked[0] = asked[1] = distinct[0] = distinct[1] = wanted = dropped = 0;
}

static void count_distinct(u64 sector, u32 writes) {
  u64 key = sector << 1 | writes, place = hashed(sector) % SECTORS;
  for (int tries = 0; sectors[place] && sectors[place] != key; tries++) {
    if (tries == MOST_TRIES) return;
    place = (place + 1) % SECTORS;
  }
  distinct[writes] += !sectors[place];
  sectors[place] = key;
}

static void touch(Together *a, u64 sector) {
  for (u32 i = 0; i < a->count; i++)
    if (a->sectors[i] == sector) return;
  if (a->count < 2 * WARP) a->sectors[a->count++] = sector;
  count_distinct(sector, a->writes);
}

// How often a lane has come by an instruction before.
static u32 number_of(u64 site, u32 lane) {
  u64 place = hashed(site) % SITES;
  for (int tries = 0; sites[place].site && sites[place].site != site; tries++) {
    if (tries == SITES) abort();
    place = (place + 1) % SITES;
  }
  sites[place].site = site;
  return sites[place].made[lane]++;
}

// An access to the GPU's memory by a lane of a warp. site: the instruction, and which warp it is.
void profile_access(u64 site, u32 lane, Access access) {
  u32 number = number_of(site, lane);
  u64 place = hashed(site * 31 + number) % ACCESSES;
  for (int tries = 0; accesses[place].count; tries++) {
    if (accesses[place].site == site && accesses[place].number == number) break;
    if (tries == MOST_TRIES) {
      dropped++;
      return;
    }
    place = (place + 1) % ACCESSES;
  }
  Together *a = &accesses[place];
  if (!a->count) used[used_count++] = (u32)place;
  a->site = site;
  a->number = number;
  a->writes = access.what != READS;
  wanted += access.bytes;
  u64 last = (access.address + access.bytes - 1) / SECTOR;
  for (u64 sector = access.address / SECTOR; sector <= last; sector++) touch(a, sector);
}

// The warps of a block have ended: those of the next are others.
void profile_block_end(void) {
  for (u32 i = 0; i < used_count; i++) {
    Together *a = &accesses[used[i]];
    asked[a->writes] += a->count;
    a->count = 0;
  }
  used_count = 0;
  memset(sites, 0, SITES * sizeof *sites);
}

// Adds a line to the file: the kernel, its grid and block, how many blocks were run, and what those asked for.
void profile_end(const Launch *launch, u64 blocks_run, u64 cost) {
  FILE *file = fopen(getenv("EMULATED_GPU_PROFILE"), "a");
  if (!file) {
    perror("EMULATED_GPU_PROFILE");
    abort();
  }
  const u64 values[] = {
      launch->grid[0], launch->grid[1], launch->block[0],           blocks_run, cost, wanted, asked[0], asked[1],
      distinct[0],     distinct[1],     (u64)launch->kernel->shared};
  fputs(launch->kernel->text, file);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) fprintf(file, "\t%llu", (unsigned long long)values[i]);
  fputc('\n', file);
  fclose(file);
  if (dropped) fprintf(stderr, "emulated GPU: %llu accesses were too many to count\n", (unsigned long long)dropped);
}
