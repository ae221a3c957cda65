// What a launch asks of a GPU: instructions, and the 32-byte sectors of memory that each warp's accesses touch.
//
// A GPU moves whole sectors, for the 32 threads of a warp at once. Here threads run one after the other, so that the
// accesses of a warp are put together afterwards: the n-th of an instruction in one thread with the n-th in the others.

#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITES = 1 << 14, ACCESSES = 1 << 17, LANES = 32, UNIQUE = 1 << 22 };

typedef struct {
  u64 site, sectors[2 * LANES];
  u32 number, count, writes;
} Access;

static struct { u64 site; u32 made[LANES]; } sites[SITES];
static Access *accesses;
static u64 *unique;
static u32 *used, used_count;
static u64 asked[2], wanted, distinct[2], dropped;

static u64 hashed(u64 x) { return (x ^ x >> 29) * 0x9e3779b97f4a7c15ull >> 17; }

void profile_begin(void) {
  if (!accesses) {
    accesses = calloc(ACCESSES, sizeof *accesses);
    used = calloc(ACCESSES, sizeof *used);
    unique = malloc(sizeof *unique * UNIQUE);
  }
  memset(sites, 0, sizeof sites);
  memset(unique, 0, sizeof *unique * UNIQUE);
  used_count = 0;
  asked[0] = asked[1] = wanted = distinct[0] = distinct[1] = dropped = 0;
}

static void touched(Access *a, u64 sector) {
  for (u32 i = 0; i < a->count; i++)
    if (a->sectors[i] == sector) return;
  if (a->count < 2 * LANES) a->sectors[a->count++] = sector;
  u64 place = hashed(sector) % UNIQUE, tries = 0;
  while (unique[place] && unique[place] != (sector << 1 | a->writes) && tries++ < 64) place = (place + 1) % UNIQUE;
  if (!unique[place]) unique[place] = sector << 1 | a->writes, distinct[a->writes]++;
}

// An access to the GPU's memory by a lane of a warp; `site` tells instructions, and warps that run in turns.
void profile_access(u64 site, u32 lane, u64 address, u32 bytes, int writes) {
  u32 s = hashed(site) % SITES;
  while (sites[s].site && sites[s].site != site) s = (s + 1) % SITES;
  sites[s].site = site;
  u32 number = sites[s].made[lane]++;
  u64 place = hashed(site * 31 + number) % ACCESSES;
  Access *a = &accesses[place];
  for (int tries = 0; a->count && (a->site != site || a->number != number); tries++) {
    if (tries == 256) { dropped++; return; }
    a = &accesses[place = (place + 1) % ACCESSES];
  }
  if (!a->count) used[used_count++] = (u32)place;
  a->site = site, a->number = number, a->writes = (u32)writes;
  wanted += bytes;
  for (u64 sector = address / 32; sector <= (address + bytes - 1) / 32; sector++) touched(a, sector);
}

void profile_warp_end(void) {
  for (u32 i = 0; i < used_count; i++) {
    Access *a = &accesses[used[i]];
    asked[a->writes] += a->count, a->count = 0;
  }
  used_count = 0;
  memset(sites, 0, sizeof sites);
}

void profile_end(const Kernel *kernel, const u32 *grid, const u32 *block, u64 blocks_run, u64 cost) {
  static FILE *file;
  if (!file) file = fopen(getenv("EMULATED_GPU_PROFILE"), "a");
  fprintf(file, "%s\t%u\t%u\t%u\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%d\n", kernel->name, grid[0], grid[1], block[0],
          (unsigned long long)blocks_run, (unsigned long long)cost, (unsigned long long)wanted,
          (unsigned long long)asked[0], (unsigned long long)asked[1], (unsigned long long)distinct[0],
          (unsigned long long)distinct[1], kernel->shared);
  fflush(file);
  if (dropped) fprintf(stderr, "emulated GPU: %llu accesses were too many to count\n", (unsigned long long)dropped);
}
