// What kernels that translation/ has made C of are written with.

#pragma once

#include <fenv.h>
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
  const char *name;  // in the assembly
  const char *text;  // the file in which a reader finds what it was made of
  void (*run)(Thread *, const char *parameters);
  int shared;  // bytes
  int meets;   // whether its threads wait for each other
  int count;
  const Parameter *parameters;
} Kernel;

#pragma GCC visibility push(default)  // They are in the driver's library, and kernels in libraries of their own.
// The memory at an address of the GPU. What the machine forbids ends the kernel.
void *memory(Thread *t, u64 address, u32 bytes, int what);
void barrier(Thread *t);
// The value of the lane whose number differs in the bits of distance. clamp: of whole warps alone, 31; mask: the lanes
// that take part.
u32 shuffled(Thread *t, u32 value, u32 distance, u32 clamp, u32 mask);
void trap(Thread *t);
#pragma GCC visibility pop

// ---- bits as floats, and back ---------------------------------------------------------------------------------------

static inline float float32(u32 x) {
  float y;
  memcpy(&y, &x, 4);
  return y;
}
static inline double float64(u64 x) {
  double y;
  memcpy(&y, &x, 8);
  return y;
}
static inline u32 bits32(float x) {
  u32 y;
  memcpy(&y, &x, 4);
  return y;
}
static inline u64 bits64(double x) {
  u64 y;
  memcpy(&y, &x, 8);
  return y;
}

// ---- floats ---------------------------------------------------------------------------------------------------------

// "ftz": numbers smaller than all normal ones are zeros of their sign.
static inline float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static inline double upper_half(double x) { return float64(bits64(x) & 0xffffffff00000000ull); }
static inline float saturated(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }

// The least and the greatest: of a NaN and a number the number, and -0 is less than 0.
#define EXTREMES(type, name) \
  static inline type least_##name(type a, type b) { \
    if (isnan(a) || isnan(b)) return isnan(a) ? b : a; \
    return a < b || (a == b && signbit(a)) ? a : b; \
  } \
  static inline type greatest_##name(type a, type b) { \
    if (isnan(a) || isnan(b)) return isnan(a) ? b : a; \
    return a > b || (a == b && !signbit(a)) ? a : b; \
  }
EXTREMES(float, f32)
EXTREMES(double, f64)

// Operations rounded toward zero, down and up, by the processor. A compiler does not know of its mode: what is volatile
// it neither computes beforehand nor moves out of it.
#define ROUNDED(type, name, rounding, mode) \
  static inline type fused_##rounding##_##name(type a, type b, type c) { \
    volatile type x = a, y = b, z = c, value; \
    fesetround(mode); \
    value = _Generic(x, float: fmaf, double: fma)(x, y, z); \
    fesetround(FE_TONEAREST); \
    return value; \
  } \
  static inline type product_##rounding##_##name(type a, type b) { \
    volatile type x = a, y = b, value; \
    fesetround(mode); \
    value = x * y; \
    fesetround(FE_TONEAREST); \
    return value; \
  } \
  static inline type sum_##rounding##_##name(type a, type b) { \
    volatile type x = a, y = b, value; \
    fesetround(mode); \
    value = x + y; \
    fesetround(FE_TONEAREST); \
    return value; \
  } \
  static inline type difference_##rounding##_##name(type a, type b) { return sum_##rounding##_##name(a, -b); }
ROUNDED(float, f32, rz, FE_TOWARDZERO)
ROUNDED(float, f32, rm, FE_DOWNWARD)
ROUNDED(float, f32, rp, FE_UPWARD)
ROUNDED(double, f64, rz, FE_TOWARDZERO)
ROUNDED(double, f64, rm, FE_DOWNWARD)
ROUNDED(double, f64, rp, FE_UPWARD)

// A double as a float, rounded down, up and toward zero.
static inline float narrowed_rm(double x) {
  float y = (float)x;
  return y > x ? nextafterf(y, -INFINITY) : y;
}
static inline float narrowed_rp(double x) {
  float y = (float)x;
  return y < x ? nextafterf(y, INFINITY) : y;
}
static inline float narrowed_rz(double x) { return x < 0 ? narrowed_rp(x) : narrowed_rm(x); }

static inline double whole_rni(double x) { return rint(x); }
static inline double whole_rzi(double x) { return trunc(x); }
static inline double whole_rmi(double x) { return floor(x); }
static inline double whole_rpi(double x) { return ceil(x); }

// Whole numbers of a float: the nearest that the type has. nan: what a NaN becomes, which depends on both types.
#define INTEGER_OF(type, least, most) \
  static inline type to_##type(double x, u64 nan) { \
    if (isnan(x)) return (type)nan; \
    return x <= (double)least ? least : x >= (double)most ? most : (type)x; \
  }
INTEGER_OF(s8, INT8_MIN, INT8_MAX)
INTEGER_OF(s16, INT16_MIN, INT16_MAX)
INTEGER_OF(s32, INT32_MIN, INT32_MAX)
INTEGER_OF(s64, INT64_MIN, INT64_MAX)
INTEGER_OF(u8, 0, UINT8_MAX)
INTEGER_OF(u16, 0, UINT16_MAX)
INTEGER_OF(u32, 0, UINT32_MAX)
INTEGER_OF(u64, 0, UINT64_MAX)

// ---- integers -------------------------------------------------------------------------------------------------------

// Divisions do not fail. What a division by zero gives, PTX does not say.
#define UNSIGNED_DIVISION(type) \
  static inline type divided_##type(type a, type b) { return b == 0 ? (type) - 1 : a / b; } \
  static inline type remainder_##type(type a, type b) { return b == 0 ? a : a % b; }
#define SIGNED_DIVISION(type) \
  static inline type divided_##type(type a, type b) { return b == 0 ? -1 : b == -1 ? (type)(0 - (u64)a) : a / b; } \
  static inline type remainder_##type(type a, type b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
SIGNED_DIVISION(s16)
SIGNED_DIVISION(s32)
SIGNED_DIVISION(s64)
UNSIGNED_DIVISION(u16)
UNSIGNED_DIVISION(u32)
UNSIGNED_DIVISION(u64)

// Shifts by the width and more shift everything out.
#define SHIFTS(bits) \
  static inline u##bits shifted_left_u##bits(u##bits x, u32 by) { return by < bits ? (u##bits)(x << by) : 0; } \
  static inline u##bits shifted_right_u##bits(u##bits x, u32 by) { return by < bits ? x >> by : 0; } \
  static inline s##bits shifted_right_s##bits(s##bits x, u32 by) { return x >> (by < bits ? by : bits - 1); }
SHIFTS(16)
SHIFTS(32)
SHIFTS(64)

// bfe: the field of some bits from `start` on, of which there may be fewer.
static inline u64 bits_extracted(u64 x, u32 start, u32 count) {
  start &= 255;
  count &= 255;
  if (start > 63) return 0;
  return x >> start & (count > 63 ? ~0ull : (1ull << count) - 1);
}

// bfi: the lowest bits of x in the place of a field of another number, which has so many bits.
static inline u64 bits_inserted(u64 x, u64 into, u32 start, u32 count, u32 bits) {
  start &= 255;
  count &= 255;
  if (start >= bits) return into;
  u64 mask = (count > 63 ? ~0ull : (1ull << count) - 1) << start;
  return (into & ~mask) | (x << start & mask);
}

// prmt: four of the eight bytes of two numbers; a place of `how` names a byte, or with 8 more its sign.
static inline u32 bytes_permuted(u32 a, u32 b, u32 how) {
  u64 both = (u64)b << 32 | a;
  u32 found = 0;
  for (int i = 0; i < 4; i++) {
    u32 which = how >> 4 * i;
    u32 byte = both >> 8 * (which & 7) & 255;
    u32 taken = which & 8 ? (byte >> 7) * 255 : byte;
    found |= taken << 8 * i;
  }
  return found;
}
