"""Translates PTX, the assembly that NVIDIA's compiler makes of a kernel, to C, so that it runs without a GPU.

PTX is typed and has no side effects but those on memory, so that an instruction becomes a statement and a branch a
`goto`. What threads of a block do together, and each access to memory, becomes a call of the machine. An instruction,
or a modifier of one, that no kernel has used so far is an error that names it.

Source: PTX ISA 9.0 (https://docs.nvidia.com/cuda/parallel-thread-execution/).
"""

from tests.emulated_gpu.translation.instruction import Untranslated
from tests.emulated_gpu.translation.module import translated

__all__ = ["Untranslated", "translated"]
