"""Instructions of PTX give what its specification says, where C by itself would give something else."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.emulated_gpu.calls import Driver, entry
from tests.emulated_gpu.translation import Untranslated, translated

NAN32, NAN64 = "0f7FC00000", "0d7FF8000000000000"
_REGISTER = {"u16": "%h0", "u32": "%r0", "s32": "%r0", "u64": "%d0", "s64": "%d0", "f32": "%f0", "f64": "%g0"}
_DTYPES = {"u16": "u2", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8", "f32": "f4", "f64": "f8"}


def single(value: float) -> str:
    return f"0f{np.float32(value).view('u4'):08X}"


def double(value: float) -> str:
    return f"0d{np.float64(value).view('u8'):016X}"


def chosen(comparison: str) -> str:
    """The comparison's truth value, as 1 or 0."""
    return f"{comparison} selp.u32 %r0, 1, 0, %p0;"


ABOVE_ONE = float(np.nextafter(np.float32(1), np.float32(2)))
BELOW_ONE = float(np.nextafter(np.float32(1), np.float32(0)))

# What is computed, the type of the result, the result.
CASES: dict[str, tuple[str, str, Any]] = {
    # carries
    "a sum carries": ("add.cc.u32 %r1, 4294967295, 1; addc.u32 %r0, 5, 0;", "u32", 6),
    "a sum without a carry": ("add.cc.u32 %r1, 4294967294, 1; addc.u32 %r0, 5, 0;", "u32", 5),
    "carries go through": (
        "add.cc.u32 %r1, -1, 1; addc.cc.u32 %r2, -1, 0; addc.u32 %r0, 0, 0;",
        "u32",
        1,
    ),
    "a difference borrows": ("sub.cc.u32 %r1, 0, 1; subc.u32 %r0, 5, 0;", "u32", 4),
    "a product's carry": ("mad.lo.cc.u32 %r1, -1, 1, 1; madc.hi.u32 %r0, -1, -1, 0;", "u32", 2**32 - 1),
    # products
    "the upper half of a signed product": ("mul.hi.s32 %r0, -2, 3;", "s32", -1),
    "the upper half of an unsigned product": ("mul.hi.u32 %r0, -2, 3;", "u32", 2),
    "the upper half of 64 bits": ("mul.hi.u64 %d0, -1, -1;", "u64", 2**64 - 2),
    "a wide signed product": ("mul.wide.s32 %d0, -2, 3;", "s64", -6),
    "a wide unsigned product": ("mul.wide.u32 %d0, -1, -1;", "u64", (2**32 - 1) ** 2),
    "a product of shorts wraps around": (
        "mov.u16 %h1, 65535; mov.u16 %h2, 65535; mul.lo.u16 %h0, %h1, %h2;",
        "u16",
        1,
    ),
    # shifts and fields
    "a shift by the width": ("shl.b32 %r0, 1, 32;", "u32", 0),
    "a shift to the right by more": ("shr.u32 %r0, -1, 40;", "u32", 0),
    "a signed shift keeps the sign": ("shr.s32 %r0, -8, 40;", "s32", -1),
    "a shift of 64 bits by 64": ("shl.b64 %d0, 1, 64;", "u64", 0),
    "a funnel wraps its distance": ("shf.l.wrap.b32 %r0, 0x80000000, 1, 33;", "u32", 3),
    "a funnel clamps its distance": ("shf.r.clamp.b32 %r0, 5, 7, 40;", "u32", 7),
    "a field": ("bfe.u32 %r0, 0x12345678, 8, 12;", "u32", 0x456),
    "a field beyond the end": ("bfe.u32 %r0, 0x12345678, 28, 12;", "u32", 1),
    "a field of nothing": ("bfe.u32 %r0, -1, 4, 0;", "u32", 0),
    "a field put in": ("bfi.b32 %r0, 0xff, 0, 4, 4;", "u32", 0xF0),
    "a field put in at the end": ("bfi.b32 %r0, 0xff, 0, 28, 12;", "u32", 0xF0000000),
    "a field put in outside": ("bfi.b32 %r0, 0xff, 3, 32, 4;", "u32", 3),
    "bytes": ("prmt.b32 %r0, 0x33221100, 0x77665544, 0x7531;", "u32", 0x77553311),
    "signs of bytes": ("prmt.b32 %r0, 0x000080ff, 0, 0x0a98;", "u32", 0xFF00FFFF),
    "leading zeros": ("clz.b32 %r0, 1;", "u32", 31),
    "leading zeros of nothing": ("clz.b64 %r0, 0;", "u32", 64),
    "ones": ("popc.b64 %r0, -1;", "u32", 64),
    # divisions
    "a division by zero": ("div.u32 %r0, 7, 0;", "u32", 2**32 - 1),
    "the remainder of one": ("rem.u32 %r0, 7, 0;", "u32", 7),
    "the least number by -1": ("div.s32 %r0, 0x80000000, -1;", "s32", -(2**31)),
    "a remainder has the sign of the dividend": ("rem.s32 %r0, -7, 2;", "s32", -1),
    # conversions
    "a great float saturates": (f"cvt.rzi.s32.f32 %r0, {single(1e20)};", "s32", 2**31 - 1),
    "a negative float as unsigned": (f"cvt.rzi.u32.f32 %r0, {single(-3)};", "u32", 0),
    "a great double as 64 bits": (f"cvt.rzi.s64.f64 %d0, {double(-1e30)};", "s64", -(2**63)),
    "NaN as 32 bits": (f"cvt.rzi.s32.f32 %r0, {NAN32};", "s32", 0),
    "NaN as 64 bits": (f"cvt.rzi.s64.f32 %d0, {NAN32};", "s64", -(2**63)),
    "NaN of 64 bits": (f"cvt.rzi.s32.f64 %r0, {NAN64};", "s32", -(2**31)),
    "a half is rounded to even": (f"cvt.rni.s32.f32 %r0, {single(2.5)};", "s32", 2),
    "rounded down": (f"cvt.rmi.f32.f32 %f0, {single(-1.5)};", "f32", -2.0),
    "rounded up": (f"cvt.rpi.f64.f64 %g0, {double(1.25)};", "f64", 2.0),
    "a double narrowed upwards": (f"cvt.rp.f32.f64 %f0, {double(1 + 1e-12)};", "f32", ABOVE_ONE),
    "a double narrowed toward zero": (f"cvt.rz.f32.f64 %f0, {double(-1 - 1e-12)};", "f32", -1.0),
    "saturated to 1": (f"cvt.sat.f32.f32 %f0, {single(3)};", "f32", 1.0),
    "NaN saturated": (f"cvt.sat.f32.f32 %f0, {NAN32};", "f32", 0.0),
    "a byte's sign": ("mov.u32 %r1, 0xff; cvt.s32.s8 %r0, %r1;", "s32", -1),
    "a byte without sign": ("mov.u32 %r1, 0x1ff; cvt.u32.u8 %r0, %r1;", "u32", 255),
    # comparisons
    "NaN is not less": (chosen(f"setp.lt.f32 %p0, {NAN32}, {single(1)};"), "u32", 0),
    "NaN is not unequal": (chosen(f"setp.ne.f32 %p0, {NAN32}, {single(1)};"), "u32", 0),
    "NaN is unordered": (chosen(f"setp.neu.f32 %p0, {NAN32}, {NAN32};"), "u32", 1),
    "NaN is less or unordered": (chosen(f"setp.ltu.f64 %p0, {NAN64}, {double(1)};"), "u32", 1),
    "both are numbers": (chosen(f"setp.num.f32 %p0, {single(1)}, {NAN32};"), "u32", 0),
    "-1 is great without sign": (chosen("setp.hi.u32 %p0, -1, 1;"), "u32", 1),
    "-1 is small with it": (chosen("setp.gt.s32 %p0, -1, 1;"), "u32", 0),
    "the opposite is joined too": (
        chosen("setp.eq.u32 %p1, 0, 1; setp.eq.and.u32 %p2|%p0, 1, 2, %p1;"),
        "u32",
        0,
    ),
    "a truth value as bits": (f"set.lt.u32.f32 %r0, {single(1)}, {single(2)};", "u32", 2**32 - 1),
    # extremes
    "the least of NaN and a number": (f"min.f32 %f0, {NAN32}, {single(2)};", "f32", 2.0),
    "the greatest of a number and NaN": (f"max.f64 %g0, {double(2)}, {NAN64};", "f64", 2.0),
    "the least of two NaNs": (f"min.f32 %f0, {NAN32}, {NAN32};", "f32", math.nan),
    "-0 is less than 0": (f"min.f32 %f0, {single(0.0)}, {single(-0.0)};", "f32", -0.0),
    "0 is greater than -0": (f"max.f32 %f0, {single(-0.0)}, {single(0.0)};", "f32", 0.0),
    "the least of signed numbers": ("min.s32 %r0, -1, 1;", "s32", -1),
    "the least of unsigned numbers": ("min.u32 %r0, -1, 1;", "u32", 1),
    # rounding
    "a product rounded up": (
        f"mul.rp.f32 %f0, {single(ABOVE_ONE)}, {single(ABOVE_ONE)};",
        "f32",
        float(np.float32(1 + 3 * 2.0**-23)),
    ),
    "a sum rounded up": (f"add.rp.f32 %f0, {single(1)}, {single(1e-30)};", "f32", ABOVE_ONE),
    "a difference toward zero": (f"sub.rz.f32 %f0, {single(1)}, {single(1e-30)};", "f32", BELOW_ONE),
    "a sum of doubles rounded up": (
        f"add.rp.f64 %g0, {double(1)}, {double(1e-300)};",
        "f64",
        math.nextafter(1, 2),
    ),
    "fma keeps the product whole": (
        f"fma.rn.f32 %f0, {single(ABOVE_ONE)}, {single(ABOVE_ONE)}, {single(-1)};",
        "f32",
        float(np.float32(2.0**-22 + 2.0**-46)),
    ),
    "fma rounded down": (f"fma.rm.f32 %f0, {single(1)}, {single(1)}, {single(-1e-30)};", "f32", BELOW_ONE),
    "fma rounded up": (f"fma.rp.f32 %f0, {single(1)}, {single(1)}, {single(1e-30)};", "f32", ABOVE_ONE),
    "a mul and an add are two roundings": (
        f"mul.f32 %f1, {single(ABOVE_ONE)}, {single(ABOVE_ONE)}; add.f32 %f0, %f1, {single(-1)};",
        "f32",
        2.0**-22,
    ),
    "the smallest inputs are flushed": (f"mul.ftz.f32 %f0, {single(1e-40)}, {single(1e20)};", "f32", 0.0),
    "the smallest results are flushed": (f"mul.ftz.f32 %f0, {single(-1e-30)}, {single(1e-10)};", "f32", -0.0),
    "they are not without it": (
        f"mul.f32 %f0, {single(1e-30)}, {single(1e-10)};",
        "f32",
        float(np.float32(1e-30) * np.float32(1e-10)),
    ),
    "fma between 0 and 1": (f"fma.rn.sat.f32 %f0, {single(2)}, {single(2)}, {single(2)};", "f32", 1.0),
    # halves of registers, memory
    "halves joined": ("mov.b64 %d0, {1, 2};", "u64", 1 + (2 << 32)),
    "halves taken apart": ("mov.u64 %d1, 0x500000003; mov.b64 {_, %r0}, %d1;", "u32", 5),
    "bits of a float": (f"mov.b32 %r0, {single(1)};", "u32", 0x3F800000),
    "a loaded byte is widened by its sign": (
        "st.global.u8 [%d10], 0x80; ld.global.s8 %r0, [%d10];",
        "s32",
        -128,
    ),
    "a loaded byte without sign": ("st.global.u8 [%d10], 0x80; ld.global.u8 %r0, [%d10];", "u32", 128),
    "a short register of a byte": ("st.global.u8 [%d10], 0xff; ld.global.s8 %h0, [%d10];", "u16", 0xFFFF),
    "a vector": (
        "st.global.v2.u32 [%d10], {7, 9}; ld.global.v2.u32 {%r1, %r2}, [%d10]; sub.u32 %r0, %r2, %r1;",
        "u32",
        2,
    ),
    "what an atomic addition found": (
        "st.global.u32 [%d10], 40; atom.global.add.u32 %r0, [%d10], 2;",
        "u32",
        40,
    ),
    "an exchange where it is as expected": (
        "st.global.u32 [%d10], 40; atom.global.cas.b32 %r1, [%d10], 40, 7; ld.global.u32 %r0, [%d10];",
        "u32",
        7,
    ),
    "an exchange where it is not": (
        "st.global.u32 [%d10], 40; atom.global.cas.b32 %r1, [%d10], 41, 7; ld.global.u32 %r0, [%d10];",
        "u32",
        40,
    ),
}


@cache
def _loaded(driver: Callable[..., Driver]) -> tuple[Driver, Any]:
    """All cases as one module, since a compiler's start takes longer than a case."""
    made = driver()
    entries = [
        entry(f"case_{n}", f"{text} st.global.{kind} [%d10], {_REGISTER[kind]};")
        for n, (text, kind, _) in enumerate(CASES.values())
    ]
    return made, made.kernels(*entries)


@pytest.mark.parametrize("name", CASES)
def test_an_instruction(driver: Callable[..., Driver], name: str) -> None:
    gpu, module = _loaded(driver)
    _, kind, expected = CASES[name]
    target, stream = gpu.memory(np.zeros(4, "u8")), gpu.stream()
    gpu.launch(module, f"case_{list(CASES).index(name)}", [target], stream)
    found = gpu.values(target, _DTYPES[kind], 1)[0]
    if kind[0] == "f":
        assert np.array_equal(found, expected, equal_nan=True)
        assert math.isnan(expected) or np.signbit(found) == np.signbit(expected)
    else:
        assert found == expected


def test_a_branch_and_a_guard(driver: Callable[..., Driver]) -> None:
    gpu = driver()
    target = gpu.memory(np.zeros(1, "u4"))
    loop = """mov.u32 %r0, 0; mov.u32 %r1, 0;
    again: add.u32 %r0, %r0, %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 10; @%p0 bra again;
    @!%p0 add.u32 %r0, %r0, 1000; @%p0 add.u32 %r0, %r0, 5000; st.global.u32 [%d10], %r0;"""
    gpu.run(loop, [target])
    assert gpu.values(target, "u4", 1)[0] == 1045


def test_a_function_and_a_constant_array(driver: Callable[..., Driver]) -> None:
    gpu = driver()
    target, stream = gpu.memory(np.zeros(1, "u4")), gpu.stream()
    function = """.const .align 4 .u32 primes[3] = {2, 3, 5};
    .func (.param .b32 result) looked_up(.param .b32 place) {
      .reg .b32 %r<3>; .reg .b64 %d<4>; ld.param.u32 %r1, [place]; mul.wide.u32 %d1, %r1, 4;
      mov.u64 %d2, primes; add.u64 %d3, %d2, %d1; ld.const.u32 %r2, [%d3]; st.param.b32 [result], %r2; ret; }"""
    call = """{ .param .b32 given; st.param.b32 [given], 2; .param .b32 got;
    call.uni (got), looked_up, (given); ld.param.b32 %r0, [got]; } st.global.u32 [%d10], %r0;"""
    gpu.launch(gpu.kernels(function, entry("kernel", call)), "kernel", [target], stream)
    assert gpu.values(target, "u4", 1)[0] == 5


@pytest.mark.parametrize(
    "unknown",
    [
        "sqrt.approx.f16 %r0, %r1;",
        "add.sat.s32 %r0, %r1, 1;",
        "bfe.s32 %r0, %r1, 0, 8;",
        "min.NaN.f32 %f0, %f1, %f2;",
        "prmt.b32.f4e %r0, %r1, %r2, 0;",
        "bar.sync 1, 64;",
        "shfl.sync.up.b32 %r0, %r1, 1, 0, -1;",
        "wgmma.fence.sync.aligned ;",
    ],
)
def test_what_is_not_known_is_an_error(unknown: str) -> None:
    with pytest.raises(Untranslated, match=re.escape(unknown.split()[0])):
        translated(entry("kernel", unknown))
