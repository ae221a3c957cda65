# mypy: disable-error-code="import-untyped, import-not-found, misc, no-untyped-call, no-any-unimported"
"""How Numba is asked for a kernel: the passes that its text needs, and optimised instructions instead of loaded code.

Imported only by the compiler process. A kernel's text has no closures, no `with`, no arrays and no literals to unroll,
so that the passes which look for these, each of which reads the whole text again, are left out: what LLVM gets is the
same to the letter. And Numba would make machine code of every kernel and load it, which the process that asked has to
do itself with an object file; here Numba ends with LLVM's instructions, of which the object file is made once. Together
this is a fifth of the time that a kernel takes.
"""

from __future__ import annotations

from typing import Any

from numba.core import typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target

_PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class KernelPipeline(CompilerBase):
    """From the text of a kernel to LLVM's instructions, as `cfunc(pipeline_class=...)` takes it."""

    def define_pipelines(self) -> list[Any]:
        """The one list of passes that there is."""
        passes = PassManager("kernel")
        for one in _PASSES:
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


class _Instructions(JITCodeLibrary):
    """What Numba has compiled, optimised, and neither made machine code of nor loaded."""

    def _finalize_specific(self) -> None:
        pass

    def get_pointer_to_function(self, name: str) -> int:
        """No address, since nothing is loaded."""
        self._ensure_finalized()
        return 0


def keep_instructions() -> None:
    """From now on Numba of this process ends with instructions; what it compiles cannot be called."""
    cpu_target.target_context.codegen()._library_class = _Instructions
