"""Why an op type has no native form on a processor, and what that costs: docs/ops.md and `graphflow ops` show it.

A test compares the list with the rules: an op type is in it if and only if NumPy computes it, and once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

REASONS: Final[tuple[tuple[str, str, Sequence[str], Sequence[str]], ...]] = (
    (
        "the shape of the result depends on values",
        "what follows from it runs on NumPy too, as far as its shape does; sparse updates of optimizers are excepted. "
        "2 ns an element; Unique 10, of a wide range or of no integers, which are sorted, 100",
        (
            "Bincount",
            "DynamicPartition",
            "ListDiff",
            "Unique",
            "UniqueWithCounts",
            "Where",
        ),
        (),
    ),
    (
        "sparse tensors, whose sizes are values",
        "as above",
        ("DenseTo*SetOperation", "Deserialize*Sparse", "Serialize*Sparse", "SetSize", "Sparse*"),
        ("SparseApply*", "SparseReshape", "SparseSoftmax*", "SparseTensorSliceDataset"),
    ),
    (
        "shapes and positions: constants once the shapes of a run are known",
        "none, unless they follow from values",
        (
            "BroadcastArgs",
            "BroadcastGradientArgs",
            "ConcatOffset",
            "DataFormatDimMap",
            "DataFormatVecPermute",
            "InvertPermutation",
            "LinSpace",
            "Range",
        ),
        (),
    ),
    (
        "NumPy calls LAPACK, as a kernel would",
        "a call from Python; of many small matrices a few microseconds each",
        (
            "Qr",
            "SelfAdjointEigV2",
            "Svd",
        ),
        (),
    ),
    (
        "logarithms and square roots of matrices, by roots that are found element after element",
        "a few ms for a small matrix, of a matrix of a batch after the other",
        ("MatrixLogarithm", "MatrixSquareRoot"),
        (),
    ),
    (
        "equations with three diagonals, solved row after row",
        "some 30 us a row, of all matrices of a batch together",
        ("TridiagonalSolve",),
        (),
    ),
    (
        "random numbers by logarithms, powers and exponentials whose last bits are NumPy's; draws of unknown number",
        "one thread; 5 to 100 ns a number",
        (
            "RandomGamma",
            "RandomPoissonV2",
        ),
        (),
    ),
    (
        "volumes, patches and second gradients of pools",
        "one thread, a pass over memory for each element of a window",
        (
            "AvgPool3D*",
            "Dilation2D*",
            "ExtractImagePatches",
            "MaxPool3D*",
            "MaxPoolGradGrad",
            "MaxPoolWithArgmax",
        ),
        (),
    ),
    (
        "numbers rounded as a quantized network has them",
        "one thread, some ten passes over memory",
        ("FakeQuant*",),
        (),
    ),
    (
        "images that are prepared, boxes, pictures as files",
        "one thread; decoding and encoding are not Python's",
        (
            "CombinedNonMaxSuppression",
            "CropAndResizeGradBoxes",
            "DecodeAndCropJpeg",
            "DecodeBmp",
            "DecodeGif",
            "DecodeJpeg",
            "DecodePng",
            "DrawBoundingBoxes*",
            "EncodeJpeg*",
            "EncodePng",
            "ExtractGlimpse",
            "ExtractJpegShape",
            "HSVToRGB",
            "ImageProjectiveTransformV2",
            "NonMaxSuppression*",
            "RGBToHSV",
            "SampleDistortedBoundingBoxV2",
        ),
        (),
    ),
    (
        "sound",
        "one thread; NumPy's Fourier transforms",
        ("AudioSpectrogram", "DecodeWav", "EncodeWav", "Mfcc"),
        (),
    ),
    (
        "strings, numbers in texts, examples, tables of words",
        "Python's objects: 0.1 to 1 us an element",
        (
            "AsString",
            "DecodeBase64",
            "DecodeCSV",
            "DecodeCompressed",
            "DecodeJSONExample",
            "DecodeRaw",
            "EditDistance",
            "EncodeBase64",
            "HashTable*",
            "InitializeTable*",
            "LookupTable*",
            "Mutable*HashTable*",
            "Parse*",
            "ReduceJoin",
            "Regex*",
            "SerializeTensor",
            "StaticRegex*",
            "String*",
            "Substr",
            "UnicodeTranscode",
            "UnsortedSegmentJoin",
        ),
        (),
    ),
    (
        "files, readers, queues, staging areas, data sets, summaries: they wait, or write",
        "of the order of what they wait for",
        (
            "*Dataset*",
            "*Iterator*",
            "*Queue*",
            "*MapClear",
            "*MapIncompleteSize",
            "*MapPeek",
            "*MapSize",
            "*MapStage",
            "*MapUnstage*",
            "Stage*",
            "Unstage",
            "*Reader*",
            "SummaryWriter",
            "[!B]*Summary*",
            "ImportEvent",
            "MatchingFiles",
            "MergeV2Checkpoints",
            "Optional*",
            "ReadFile",
            "RecordInput",
            "RestoreV2",
            "SaveV2",
            "ShardedFilename",
            "WriteFile",
        ),
        (),
    ),
    (
        "what Python does, or is asked",
        "a call from Python, some microseconds",
        (
            "*BytesInUse",
            "BoostedTrees*",
            "BytesLimit",
            "CountUpTo",
            "DeleteSessionTensor",
            "Forest*",
            "GetSession*",
            "GrowForest",
            "IsBoostedTreesEnsembleInitialized",
            "IsVariableInitialized",
            "Placeholder",
            "Print*",
            "PyFunc*",
            "*ResourceState",
        ),
        (),
    ),
    (
        "what tasks and devices do together",
        "a message each",
        (
            "Accumulator*",
            "Barrier*",
            "Collective*",
            "ResourceAccumulator*",
            "ResourceConditionalAccumulator",
            "Staleness*",
            "SyncRound*",
        ),
        (),
    ),
    (
        "lists of arrays: TensorArrays, and the stacks of loops for their gradients",
        "some microseconds an element, but in loops of which all is native: there rows are copied without Python",
        ("Stack*", "TensorArray*"),
        (),
    ),
    (
        "NumPy calls PocketFFT, as a kernel would",
        "a call from Python, one thread",
        ("FFT*", "IFFT*", "IRFFT*", "RFFT*"),
        (),
    ),
    (
        "complex numbers",
        "one thread, a pass over memory each",
        ("Angle", "Complex", "ComplexAbs", "Conj"),
        (),
    ),
    (
        "special functions",
        "one thread; 10 to 100 ns an element",
        ("Bessel*", "Betainc", "Digamma", "Igamma*", "NextAfter", "Polygamma", "Zeta"),
        (),
    ),
    (
        "searches for what frames say",
        "one thread; a few microseconds a sequence, 1 us a frame and prefix of a beam",
        ("CTC*Decoder",),
        (),
    ),
    (
        "seldom met",
        "one thread, a few passes over memory",
        (
            "Bitcast",
            "CumulativeLogsumexp",
            "FixedUnigramCandidateSampler",
            "GatherTree",
            "KMC2ChainInitialization",
            "KmeansPlusPlusInitialization",
            "LearnedUnigramCandidateSampler",
            "LowerBound",
            "NearestNeighbors",
            "NthElement",
            "PopulationCount",
            "Stateless*",
            "StridedSliceAssign",
            "UnravelIndex",
            "UpperBound",
        ),
        (),
    ),
)
"""A reason, what it costs, patterns of the op types that it is for, and of those among them that are native."""


@cache
def reason_without_native(op_type: str) -> str | None:
    """Why an op type has no native form; None for one that is not in the list."""
    for reason, _, patterns, others in REASONS:
        if any(fnmatchcase(op_type, p) for p in patterns) and not any(
            fnmatchcase(op_type, p) for p in others
        ):
            return reason
    return None


def no_native_form(op_type: str) -> str:
    """The same as a part of a sentence; "" for one that is not in the list."""
    reason = reason_without_native(op_type)
    return f"no native form: {reason}" if reason else ""
