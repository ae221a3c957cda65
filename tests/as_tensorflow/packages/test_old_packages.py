"""Protects what SciPy and Pillow had in TensorFlow 1's time: programs read pictures with scipy.misc.

The numbers are those of SciPy 1.2.3 and Pillow 9.5.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphflow.as_tensorflow.packages import images, old_packages

PIL = pytest.importorskip("PIL.Image")
GREY = np.arange(24, dtype=np.float64).reshape(4, 6)
COLOURS = (np.arange(4 * 6 * 3) * 7 % 251).astype(np.uint8).reshape(4, 6, 3)


def test_numbers_are_spread_over_bytes() -> None:
    assert images.bytescale(GREY)[0].tolist() == [0, 11, 22, 33, 44, 55]
    assert images.bytescale(GREY)[3].tolist() == [200, 211, 222, 233, 244, 255]
    some = images.bytescale(GREY, cmin=5, cmax=15, high=200, low=10)
    assert some[1].tolist() == [29, 48, 67, 86, 105, 124]
    assert images.bytescale(COLOURS) is COLOURS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"high": 256}, "255"),
        ({"low": -1}, "equal to 0"),
        ({"high": 1, "low": 2}, "to `low`"),
        ({"cmax": -1}, "`cmax`"),
    ],
)
def test_bytes_that_cannot_be_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        images.bytescale(GREY, **arguments)


def test_pictures_get_another_size() -> None:
    assert images.imresize(COLOURS, (2, 3)).tolist() == [
        [[69, 76, 83], [107, 114, 121], [144, 151, 158]],
        [[88, 95, 102], [126, 133, 140], [163, 170, 177]],
    ]
    assert images.imresize(COLOURS, 0.5, interp="nearest").tolist() == [
        [[147, 154, 161], [189, 196, 203], [231, 238, 245]],
        [[148, 155, 162], [190, 197, 204], [232, 239, 246]],
    ]
    larger = images.imresize(GREY, 150, interp="bicubic")
    assert larger.shape == (6, 9) and larger[0].tolist() == [0, 1, 9, 16, 24, 31, 38, 46, 52]
    smaller = images.imresize(GREY, (2, 3), mode="F")
    assert np.allclose(smaller, [[5.0, 6.7857141, 8.5714283], [14.4285706, 16.2142849, 18.0]])


def test_pictures_are_turned() -> None:
    turned = images.imrotate(COLOURS, 90.0)
    assert turned[:, 1, 0].tolist() == [84, 63, 42, 21] and not turned[:, 0].any()


def test_channels_may_be_first() -> None:
    assert np.array_equal(np.array(images.toimage(np.moveaxis(COLOURS, 2, 0))), COLOURS)
    assert np.array(images.toimage(GREY, mode="I"))[3].tolist() == [199, 210, 221, 232, 243, 255]


@pytest.mark.parametrize(
    ("array", "mode", "message"),
    [
        (GREY * 1j, None, "complex"),
        (np.zeros(3), None, "suitable"),
        (np.zeros([5, 5, 2]), None, "suitable"),
        (GREY, "RGB", "two axes"),
        (COLOURS, "RGBA", "shape for mode"),
        (COLOURS, "L", "three axes"),
    ],
)
def test_what_is_no_picture_is_refused(array: Any, mode: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        images.toimage(array, mode=mode)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    images.imsave(tmp_path / "a.png", COLOURS)
    assert np.array_equal(images.imread(tmp_path / "a.png"), COLOURS)
    assert images.imread(tmp_path / "a.png", flatten=True).dtype == np.float32
    assert images.imread(tmp_path / "a.png", mode="RGBA").shape == (4, 6, 4)
    with open(tmp_path / "b", "wb") as file:
        images.imsave(file, GREY, format="png")
    assert images.imread(str(tmp_path / "b")).shape == (4, 6)
    PIL.fromarray(COLOURS).convert("P").save(tmp_path / "c.png")
    assert images.imread(tmp_path / "c.png").shape == (4, 6, 3)
    PIL.fromarray(GREY > 3).save(tmp_path / "d.png")
    assert images.imread(tmp_path / "d.png").max() == 255


@pytest.mark.parametrize("is_empty", [False, True])
def test_old_modules_are_served_to_programs(tmp_path: Path, is_empty: bool) -> None:
    """In a process of its own: whatever SciPy there is, scipy.misc has its images there; 1.12 has an empty one."""
    (tmp_path / "scipy").mkdir()
    if is_empty:
        (tmp_path / "scipy" / "misc").mkdir()
        (tmp_path / "scipy" / "misc" / "__init__.py").write_text("")
    (tmp_path / "scipy" / "__init__.py").write_text("")
    linear = tmp_path / "scipy" / "sparse" / "linalg"
    linear.mkdir(parents=True)
    (linear.parent / "__init__.py").write_text("")
    (linear / "__init__.py").write_text("eigsh = 3")
    (linear / "eigen.py").write_text("")
    (tmp_path / "scipy" / "special").mkdir()
    (tmp_path / "scipy" / "special" / "__init__.py").write_text("")
    (tmp_path / "scipy" / "special" / "basic.py").write_text("jn = 2")
    program = tmp_path / "program.py"
    program.write_text(
        "import tensorflow\n"
        "from scipy.misc import imresize\n"
        "import scipy.misc\n"
        "from scipy import misc\n"
        "assert misc is scipy.misc and misc.imread.__module__.startswith('graphflow')\n"
        "from scipy.sparse.linalg.eigen.arpack import eigsh\n"
        "import scipy.special.basic\n"
        "assert eigsh == 3 and scipy.special.basic.jn == 2\n"
        "import numpy\n"
        "from scipy import sign\n"
        "assert sign is numpy.sign and scipy.random is numpy.random and not hasattr(scipy, 'nothing')\n"
        "try: scipy.misc.nothing\n"
        "except AttributeError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "graphflow", "run", str(program)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "module 'scipy.misc' has no attribute 'nothing'\n", done.stderr
    assert re.search(r"scipy\.misc(\.imresize)?, which SciPy has no more", done.stderr)


def test_pillow_has_its_old_names(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import tensorflow\n"
        "from PIL import Image\n"
        "print(Image.ANTIALIAS == Image.LANCZOS, Image.new('L', (4, 4)).resize((2, 2), Image.ANTIALIAS).size)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "graphflow", "run", str(program)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True (2, 2)\n"


def test_what_is_served_is_known() -> None:
    assert old_packages.serves("scipy.misc", ["imread", "comb"])
    assert not old_packages.serves("scipy.misc", ["imshow"]) and not old_packages.serves("scipy.signal", [])
    assert old_packages.Finder().find_spec("scipy.stats", None) is None


def test_urllib_has_its_modules_as_beside_tensorflow(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import tensorflow\n"
        "import urllib\n"
        "print(urllib.parse.quote('a b'), urllib.request.urlopen.__name__)\n"
        "try: urllib.quote\n"
        "except AttributeError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "graphflow", "run", str(program)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "a%20b urlopen\nmodule 'urllib' has no attribute 'quote'\n"
