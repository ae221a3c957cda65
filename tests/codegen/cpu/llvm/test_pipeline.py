"""What Numba is spared for a kernel changes nothing of what LLVM is given."""

import subprocess
import sys

PROGRAM = """
import re
from numba import cfunc
from numba.core import codegen
from graphflow._core.codegen.cpu.llvm import intrinsics
from graphflow._core.codegen.cpu.llvm.pipeline import keep_instructions
from graphflow._core.codegen.generic import generic_sources

def instructions(source, make):
    names = {name: getattr(intrinsics, name) for name in intrinsics.__all__}
    exec(source, dict(names, kernel_function=make, __name__="kernel"), names)
    text = names["kernel"]._library.get_llvm_str()
    return re.sub(r"[$._]?v[0-9]+|B[0-9]+[A-Za-z0-9_]*", "", text)  # which compilation it was

keep_instructions()
codegen.JITCodeLibrary._finalize_specific = None  # called, it would fail
whole = cfunc(intrinsics.SIGNATURE, error_model="numpy", forceinline=True)
sources = [source for source in generic_sources(58) if len(source) < 2500][::8]
assert len(sources) >= 4
for source in sources:
    made = instructions(source, intrinsics.kernel_function)
    assert "define " in made and made == instructions(source, whole)
print("the same")
"""


def test_kernels_come_to_llvm_as_through_all_of_numbas_passes_and_no_code_is_loaded():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=200)
    assert (done.stdout, done.stderr) == ("the same\n", "")
