"""Why an op type has no kernel on a GPU: the one list of them, from which docs/ops.md and `graphflow ops` are written.

A test compares it with the kernels: an op type is in it if and only if it has none, and once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

REASONS: Final[tuple[tuple[str, Sequence[str], Sequence[str]], ...]] = (
    (
        "the shape of the result depends on values",
        (
            "Bincount",
            "DynamicPartition",
            "DynamicStitch",
            "Unique",
            "UniqueWithCounts",
            "Where",
        ),
        (),
    ),
    (
        "sparse tensors, whose sizes are values",
        ("DenseTo*SetOperation", "Deserialize*Sparse", "Serialize*Sparse", "SetSize", "Sparse*"),
        (
            "SparseApply*",
            "SparseSegment*",
            "SparseSoftmax*",
            "SparseTensorDenseMatMul",
            "SparseTensorSliceDataset",
            "SparseToDense",
        ),
    ),
    (
        "sound, which is prepared on the host",
        ("AudioSpectrogram", "EncodeWav", "Mfcc"),
        (),
    ),
    (
        "strings, numbers in texts, examples, tables of words",
        (
            "AsString",
            "Decode*",
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
        "files, readers, checkpoints",
        (
            "*Reader*",
            "MatchingFiles",
            "MergeV2Checkpoints",
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
        "images, which are prepared on the host; pictures as files",
        (
            "Adjust*",
            "CropAndResize*",
            "CombinedNonMaxSuppression",
            "DrawBoundingBoxes*",
            "EncodeJpeg*",
            "EncodePng",
            "ExtractGlimpse",
            "ExtractJpegShape",
            "HSVToRGB",
            "ImageProjectiveTransformV2",
            "NonMaxSuppression*",
            "RGBToHSV",
            "Resize*",
            "SampleDistortedBoundingBoxV2",
        ),
        (),
    ),
    (
        "queues, staging areas, data sets, summaries",
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
            "Optional*",
            "SummaryWriter",
            "[!B]*Summary*",
            "ImportEvent",
        ),
        (),
    ),
    (
        "what Python and the host do",
        (
            "*BytesInUse",
            "Assert",
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
        "parts of branches, loops and TensorArray, which the host decides while values stay on the GPU",
        (
            "Enter",
            "Exit",
            "LoopCond",
            "Merge",
            "NextIteration",
            "Stack*",
            "Switch",
            "TensorArray*",
        ),
        (),
    ),
    (
        "decompositions and solutions of linear equations",
        (
            "Cholesky",
            "LogMatrixDeterminant",
            "MatrixDeterminant",
            "MatrixInverse",
            "MatrixLogarithm",
            "MatrixSolve",
            "MatrixSquareRoot",
            "MatrixTriangularSolve",
            "Qr",
            "SelfAdjointEigV2",
            "Svd",
            "TridiagonalSolve",
        ),
        (),
    ),
    (
        "complex numbers",
        (
            "Angle",
            "Complex",
            "ComplexAbs",
            "Conj",
            "FFT*",
            "IFFT*",
            "IRFFT*",
            "RFFT*",
        ),
        (),
    ),
    (
        "numbers rounded as a quantized network has them; windows of which the largest sum counts",
        ("Dilation2D*", "FakeQuant*"),
        (),
    ),
    (
        "special functions",
        (
            "Bessel*",
            "Betainc",
            "Digamma",
            "Igamma*",
            "NextAfter",
            "Polygamma",
            "Zeta",
        ),
        (),
    ),
    (
        "what frames say, of which the labels are no part: losses and searches over paths",
        ("CTC*",),
        (),
    ),
    (
        "seldom met",
        (
            "*CandidateSampler",
            "Bitcast",
            "DataFormatDimMap",
            "DataFormatVecPermute",
            "GatherTree",
            "HistogramFixedWidth",
            "KMC2ChainInitialization",
            "KmeansPlusPlusInitialization",
            "LowerBound",
            "NearestNeighbors",
            "NthElement",
            "PopulationCount",
            "RandomGamma",
            "RandomPoissonV2",
            "StridedSliceAssign",
            "UnravelIndex",
            "Stateless*",
            "RandomShuffle",
            "UpperBound",
        ),
        (),
    ),
)
"""A reason, patterns of the op types that it is for, and of those among them that do have a kernel."""


def reason_without_kernel(op_type: str) -> str | None:
    """Why an op type has no kernel on a GPU; None for one that is not in the list."""
    for reason, patterns, others in REASONS:
        if any(fnmatchcase(op_type, p) for p in patterns) and not any(
            fnmatchcase(op_type, p) for p in others
        ):
            return reason
    return None
