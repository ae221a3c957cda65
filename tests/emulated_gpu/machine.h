// What kernels that ptx.py has translated to C are written with.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

enum { SHARED = 0x1000 };  // Where shared memory begins: below every address that the host may have.

enum { READS = 0, WRITES = 1, ATOMIC = 2, VOLATILE = 4 };

typedef struct Thread {
  u32 tid[3], ntid[3], ctaid[3], nctaid[3];
  u32 number;  // within its block
  u64 cost;    // of the instructions so far
  u32 carry;   // of the last sum that has one
} Thread;

typedef struct {
  int offset, size;
} Parameter;

typedef struct {
  const char *name;
  void (*run)(Thread *, const char *parameters);
  int shared;  // bytes
  int meets;   // whether its threads wait for each other
  int count;
  const Parameter *parameters;
} Kernel;

#pragma GCC visibility push(default)  // of the driver's library, which kernels are linked with
// The memory at an address of the GPU; what the machine forbids ends the kernel.
void *memory(Thread *t, u64 address, u32 bytes, int what);
void barrier(Thread *t);
u32 shuffled(Thread *t, u32 value, u32 distance, u32 mask);
void trap(Thread *t);
#pragma GCC visibility pop

static inline float float32(u32 x) { float y; memcpy(&y, &x, 4); return y; }
static inline double float64(u64 x) { double y; memcpy(&y, &x, 8); return y; }
static inline u32 bits32(float x) { u32 y; memcpy(&y, &x, 4); return y; }
static inline u64 bits64(double x) { u64 y; memcpy(&y, &x, 8); return y; }

static inline float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static inline double upper_half(double x) { return float64(bits64(x) & 0xffffffff00000000ull); }
static inline float saturated(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }

// A double rounded to a float, toward zero, down and up.
static inline float round_rm(double x) { float y = (float)x; return y > x ? nextafterf(y, -INFINITY) : y; }
static inline float round_rp(double x) { float y = (float)x; return y < x ? nextafterf(y, INFINITY) : y; }
static inline float round_rz(double x) { return x < 0 ? round_rp(x) : round_rm(x); }

static inline double round_rni_f64(double x) { return rint(x); }
static inline double round_rzi_f64(double x) { return trunc(x); }
static inline double round_rmi_f64(double x) { return floor(x); }
static inline double round_rpi_f64(double x) { return ceil(x); }
static inline float round_rni_f32(float x) { return rintf(x); }
static inline float round_rzi_f32(float x) { return truncf(x); }
static inline float round_rmi_f32(float x) { return floorf(x); }
static inline float round_rpi_f32(float x) { return ceilf(x); }

// Whole numbers of a float: the nearest that the type has. What is none is 0, and the least number in 64 bits.
#define TO(name, type, least, most, none) \
  static inline type to_##name(double x) { \
    return isnan(x) ? none : x <= (double)least ? least : x >= (double)most ? most : (type)x; \
  }
TO(s8, s8, INT8_MIN, INT8_MAX, 0)
TO(s16, s16, INT16_MIN, INT16_MAX, 0)
TO(s32, s32, INT32_MIN, INT32_MAX, 0)
TO(s64, s64, INT64_MIN, INT64_MAX, INT64_MIN)
TO(u8, u8, 0, UINT8_MAX, 0)
TO(u16, u16, 0, UINT16_MAX, 0)
TO(u32, u32, 0, UINT32_MAX, 0)
TO(u64, u64, 0, UINT64_MAX, (u64)1 << 63)

// Divisions do not fail. What a division by zero gives, PTX does not say.
#define DIVISION(type, least) \
  static inline type divided_##type(type a, type b) { \
    return b == 0 ? (type)-1 : (type)-1 < 0 && b == (type)-1 ? (type)(0 - (u64)a) : a / b; \
  } \
  static inline type remainder_##type(type a, type b) { \
    return b == 0 ? a : (type)-1 < 0 && b == (type)-1 ? 0 : a % b; \
  }
DIVISION(s16, INT16_MIN)
DIVISION(s32, INT32_MIN)
DIVISION(s64, INT64_MIN)
DIVISION(u16, 0)
DIVISION(u32, 0)
DIVISION(u64, 0)

#define SHIFTS(bits) \
  static inline u##bits shifted_left_u##bits(u##bits x, u32 by) { return by < bits ? (u##bits)(x << by) : 0; } \
  static inline u##bits shifted_right_u##bits(u##bits x, u32 by) { return by < bits ? x >> by : 0; } \
  static inline s##bits shifted_right_s##bits(s##bits x, u32 by) { return x >> (by < bits ? by : bits - 1); }
SHIFTS(16)
SHIFTS(32)
SHIFTS(64)

static inline u64 bits_extracted(u64 x, u32 start, u32 count) {
  start &= 255, count &= 255;
  return start > 63 ? 0 : (x >> start) & (count > 63 ? ~0ull : (1ull << count) - 1);
}
static inline u64 bits_inserted(u64 x, u64 into, u32 start, u32 count, u32 bits) {
  start &= 255, count &= 255;
  if (start >= bits) return into;
  u64 mask = (count > 63 ? ~0ull : (1ull << count) - 1) << start;
  return (into & ~mask) | (x << start & mask);
}
static inline u32 bytes_permuted(u32 a, u32 b, u32 how) {
  u64 both = (u64)b << 32 | a;
  u32 found = 0;
  for (int i = 0; i < 4; i++) {
    u32 which = how >> 4 * i, byte = both >> 8 * (which & 7) & 255;
    found |= (which & 8 ? byte >> 7 ? 255 : 0 : byte) << 8 * i;
  }
  return found;
}
