"""Batches of pictures in files: of folders, a class each, and of tables of pandas (tf.keras.preprocessing.image)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import graphflow.logging as logging
from graphflow.keras.layers.base import layout_of
from graphflow.keras.preprocessing.image.iterators import Iterator, changed, share_of, write_pictures
from graphflow.keras.preprocessing.image.pictures import img_to_array, load_img
from graphflow.keras.typing import Elements

_ENDINGS: Final = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".tif", ".tiff")
_CHANNELS: Final = {"rgb": 3, "rgba": 4, "grayscale": 1}
_BY_CLASS: Final = ("categorical", "binary", "sparse")


class _OfFiles(Iterator):
    """Batches of pictures in files.

    A class derived from it sets `filenames`, and `classes` or `targets`, then calls `_begin`.
    """

    classes: Any = None
    class_indices: dict[str, int]
    sample_weight: Any = None

    def _keep(
        self, generator: Any, target_size: Sequence[int], color_mode: str, class_mode: Any, data_format: Any,
        saving: tuple[str | None, str, str], subset: str | None, interpolation: str, dtype: str,
    ) -> None:  # fmt: skip
        if color_mode not in _CHANNELS:
            raise ValueError(f"color_mode is one of {', '.join(_CHANNELS)}, not {color_mode!r}.")
        self.image_data_generator: Any = generator
        self.target_size: tuple[int, ...] = tuple(target_size)
        self.color_mode: str = color_mode
        self.class_mode: Any = class_mode
        self.data_format: str = layout_of(data_format)
        first = self.data_format == "channels_first"
        depth = _CHANNELS[color_mode]
        self.image_shape: tuple[int, ...] = (
            (depth, *self.target_size) if first else (*self.target_size, depth)
        )
        self.save_to_dir, self.save_prefix, self.save_format = saving
        self.subset: str | None = subset
        self.split: tuple[float, float] | None = share_of(subset, generator)
        self.interpolation: str = interpolation
        self.dtype: str = dtype
        self.filenames: list[str] = []
        self._targets: Any = None

    def _begin(self, directory: str, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.directory: str = directory
        self.samples: int = len(self.filenames)
        Iterator.__init__(self, self.samples, batch_size, shuffle, seed)

    @property
    def filepaths(self) -> list[str]:
        """The paths of all files."""
        return [os.path.join(self.directory, name) for name in self.filenames]

    @property
    def labels(self) -> Any:
        """The classes' numbers, or the targets, of all files."""
        return self.classes if self._targets is None else self._targets

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        batch = np.zeros((len(index_array), *self.image_shape), self.dtype)
        for place, number in enumerate(index_array):
            path = os.path.join(self.directory, self.filenames[number])
            image = load_img(
                path, False, self.color_mode, (self.target_size[0], self.target_size[1]), self.interpolation
            )
            batch[place] = changed(
                self.image_data_generator, img_to_array(image, self.data_format, self.dtype)
            )
        if self.save_to_dir:
            write_pictures(
                batch, index_array, self.save_to_dir, self.save_prefix, self.save_format, self.data_format
            )
        if self.class_mode is None:
            return batch
        targets = self._targets_of(batch, index_array)
        return (
            (batch, targets)
            if self.sample_weight is None
            else (batch, targets, self.sample_weight[index_array])
        )

    def _targets_of(self, batch: Any, numbers: Any) -> Any:
        if self.class_mode == "input":
            return batch.copy()
        if self.class_mode == "multi_output":
            return [one[numbers] for one in self._targets]
        if self.class_mode == "raw":
            return self._targets[numbers]
        own = [self.classes[number] for number in numbers]
        if self.class_mode != "categorical":
            return np.asarray(own, self.dtype)
        found = np.zeros((len(batch), len(self.class_indices)), self.dtype)
        for row, classes in zip(found, own, strict=True):
            row[classes] = 1.0
        return found


class DirectoryIterator(_OfFiles):
    """Batches of the pictures in a folder's folders, a class each (tf.keras.preprocessing.image.DirectoryIterator).

    Args:
        directory: The folder of the classes' folders.
        image_data_generator: The generator that changes the pictures.
        target_size: (rows, columns) that they get.
        color_mode: "rgb", "rgba" or "grayscale".
        classes: The names of the classes' folders, in the order of their numbers; by default all, by name.
        class_mode: "categorical", "binary", "sparse", "input", or None for no targets.
        batch_size: How many make a batch.
        shuffle: Whether they come in another order each time round.
        seed: An int from which the draws follow.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().
        save_to_dir: A folder that the pictures are written to; None for none.
        save_prefix: What their names begin with.
        save_format: "png" or "jpeg".
        follow_links: Whether links to folders are followed.
        subset: "training" or "validation", if the generator has a validation_split.
        interpolation: How they are resized: "nearest", "bilinear", "bicubic" or another filter of Pillow's.
        dtype: The dtype of the batches.

    Raises:
        ValueError: `class_mode`, `color_mode` or `subset` is not known.
    """

    def __init__(
        self, directory: str, image_data_generator: Elements, target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb", classes: Sequence[str] | None = None, class_mode: str | None = "categorical",
        batch_size: int = 32, shuffle: bool = True, seed: int | None = None, data_format: str | None = None,
        save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", follow_links: bool = False,
        subset: str | None = None, interpolation: str = "nearest", dtype: str = "float32",
    ) -> None:  # fmt: skip
        if class_mode not in (*_BY_CLASS, "input", None):
            raise ValueError(
                f"class_mode is one of {', '.join(_BY_CLASS)}, input and None, not {class_mode!r}."
            )
        saving = (save_to_dir, save_prefix, save_format)
        self._keep(
            image_data_generator,
            target_size,
            color_mode,
            class_mode,
            data_format,
            saving,
            subset,
            interpolation,
            dtype,
        )
        folder = os.fspath(directory)
        names = classes or sorted(n for n in os.listdir(folder) if os.path.isdir(os.path.join(folder, n)))
        self.num_classes: int = len(names)
        self.class_indices: dict[str, int] = {name: number for number, name in enumerate(names)}
        numbers: list[int] = []
        for name, number in self.class_indices.items():
            files = _part(_pictures_in(os.path.join(folder, name), follow_links), self.split)
            self.filenames += [os.path.join(name, file) for file in files]
            numbers += [number] * len(files)
        self.classes: Any = np.asarray(numbers, np.int32)
        print(f"Found {len(numbers)} images belonging to {self.num_classes} classes.")
        self._begin(folder, batch_size, shuffle, seed)


def _part(files: list[str], share: tuple[float, float] | None) -> list[str]:
    if share is None:
        return files
    return files[int(share[0] * len(files)) : int(share[1] * len(files))]


def _pictures_in(folder: str, follow_links: bool) -> list[str]:
    """The pictures in a folder and the folders in it, by name, with the way from that folder."""
    found = []
    for inner, _, files in sorted(os.walk(folder, followlinks=follow_links)):
        way = os.path.relpath(inner, folder)
        found += [
            os.path.normpath(os.path.join(way, f)) for f in sorted(files) if f.lower().endswith(_ENDINGS)
        ]
    return found


class DataFrameIterator(_OfFiles):
    """Batches of the pictures that a table names (tf.keras.preprocessing.image.DataFrameIterator); needs pandas.

    Args:
        dataframe: A pandas.DataFrame.
        directory: The folder of the files; None if their names say it.
        image_data_generator: The generator that changes the pictures.
        x_col: The column of the files' names.
        y_col: The column of classes or targets, or a list of columns.
        weight_col: The column of weights, or None.
        target_size: (rows, columns) that they get.
        color_mode: "rgb", "rgba" or "grayscale".
        classes: The names of the classes that are taken; by default all.
        class_mode: "categorical", "binary", "sparse", "input", "multi_output", "raw", or None for no targets.
        batch_size: How many make a batch.
        shuffle: Whether they come in another order each time round.
        seed: An int from which the draws follow.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().
        save_to_dir: A folder that the pictures are written to; None for none.
        save_prefix: What their names begin with.
        save_format: "png" or "jpeg".
        subset: "training" or "validation", if the generator has a validation_split.
        interpolation: How they are resized: "nearest", "bilinear", "bicubic" or another filter of Pillow's.
        dtype: The dtype of the batches.
        validate_filenames: Whether rows whose files are not there, or are no pictures, are left out.

    Raises:
        TypeError: The columns have not what `class_mode` asks for.
        ValueError: `class_mode`, `color_mode` or `subset` is not known, or a binary one has not two classes.
    """

    def __init__(
        self, dataframe: Elements, directory: str | None = None, image_data_generator: Elements = None,
        x_col: str = "filename", y_col: Any = "class", weight_col: str | None = None,
        target_size: Sequence[int] = (256, 256), color_mode: str = "rgb", classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
        data_format: str | None = None, save_to_dir: str | None = None, save_prefix: str = "",
        save_format: str = "png", subset: str | None = None, interpolation: str = "nearest", dtype: str = "float32",
        validate_filenames: bool = True,
    ) -> None:  # fmt: skip
        saving = (save_to_dir, save_prefix, save_format)
        self._keep(
            image_data_generator,
            target_size,
            color_mode,
            class_mode,
            data_format,
            saving,
            subset,
            interpolation,
            dtype,
        )
        table: Any = dataframe
        folder = directory or ""
        _check_columns(table, x_col, y_col, weight_col, classes, class_mode)
        if validate_filenames:
            there = [_is_picture(os.path.join(folder, name)) for name in table[x_col]]
            if not all(there):
                logging.warning(
                    "%d of the files in the column %r are no pictures, or not there; they are left out.",
                    there.count(False), x_col,
                )  # fmt: skip
            table = table[there]
        if class_mode in _BY_CLASS:
            own = [_kept(value, classes) for value in table[y_col]]
            table = table[[value is not None for value in own]]
            values = [value for value in own if value is not None]
            names = sorted(set(classes or (name for value in values for name in value)))
            self.class_indices: dict[str, int] = {name: number for number, name in enumerate(names)}
        start, end = self.split or (0.0, 1.0)
        rows = slice(int(start * len(table)), int(end * len(table)))
        table = table.iloc[rows]
        self.filenames: list[str] = table[x_col].tolist()
        kind = "validated" if validate_filenames else "non-validated"
        of = ""
        if class_mode in _BY_CLASS:
            numbers = [[self.class_indices[name] for name in value] for value in values[rows]]
            self.classes: Any = [n if isinstance(v, list | tuple) else n[0]
                            for n, v in zip(numbers, table[y_col], strict=True)]  # fmt: skip
            of = f" belonging to {len(self.class_indices)} classes"
        elif class_mode == "multi_output":
            self._targets = [np.array(table[column].tolist()) for column in y_col]
        elif class_mode == "raw":
            self._targets = table[y_col].values
        self.sample_weight: Any = table[weight_col].values if weight_col else None
        print(f"Found {len(self.filenames)} {kind} image filenames{of}.")
        self._begin(folder, batch_size, shuffle, seed)


def _is_picture(path: str) -> bool:
    return path.lower().endswith(_ENDINGS) and os.path.isfile(path)


def _kept(value: Any, classes: Sequence[str] | None) -> list[str] | None:
    """The classes of a row that are taken; None if there are none."""
    own = list(value) if isinstance(value, list | tuple) else [value]
    return [name for name in own if not classes or name in classes] or None


def _check_columns(table: Any, x_col: str, y_col: Any, weight_col: Any, classes: Any, mode: Any) -> None:
    modes = (*_BY_CLASS, "input", "multi_output", "raw", None)
    if mode not in modes:
        raise ValueError(f"class_mode is one of {', '.join(map(str, modes))}, not {mode!r}.")
    if mode == "multi_output" and not isinstance(y_col, list):
        raise TypeError(f'With class_mode="multi_output" y_col is a list of columns, not {y_col!r}.')
    texts: list[tuple[Any, Any]] = [(x_col, str)]
    if mode in _BY_CLASS:
        texts.append((y_col, (str, list, tuple) if mode == "categorical" else str))
    for column, kinds in texts:
        odd = next((value for value in table[column] if not isinstance(value, kinds)), None)
        if odd is not None:
            raise TypeError(
                f"The column {column!r} should have texts with class_mode={mode!r}, but has {odd!r}."
            )
    if mode == "binary":
        count = len(set(classes or table[y_col]))
        if count != 2:
            raise ValueError(f'With class_mode="binary" there are two classes, but there are {count}.')
    if weight_col and table[weight_col].dtype.kind not in "fiu":
        raise TypeError(f"The column {weight_col!r} of weights has no numbers.")
