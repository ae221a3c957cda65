"""ImageDataGenerator: pictures changed at random while a model trains (tf.keras.preprocessing.image)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphflow.logging as logging
from graphflow.keras.layers.base import layout_of
from graphflow.keras.preprocessing.image.files import DataFrameIterator, DirectoryIterator
from graphflow.keras.preprocessing.image.iterators import NumpyArrayIterator
from graphflow.keras.preprocessing.image.transforms import (
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
)
from graphflow.keras.typing import Arrays, Elements


class ImageDataGenerator:
    """Batches of pictures, changed at random (tf.keras.preprocessing.image.ImageDataGenerator).

    Args:
        featurewise_center: Whether the mean of all pictures that `fit` saw is taken away.
        samplewise_center: Whether each picture's own mean is.
        featurewise_std_normalization: Whether they are divided by the deviation of all.
        samplewise_std_normalization: Whether each is by its own.
        zca_whitening: Whether their elements are made independent.
        zca_epsilon: What keeps that from dividing by zero.
        rotation_range: By how many degrees they are turned at most.
        width_shift_range: By how many columns they are moved at most, a share below 1; or a list to choose from.
        height_shift_range: By how many rows.
        brightness_range: How light they become, the least and the most; 1 leaves them.
        shear_range: By how many degrees they are sheared at most.
        zoom_range: How much larger or smaller they become, a share; or the least and the most that is seen of them.
        channel_shift_range: The largest number that is added to all channels, also below zero.
        fill_mode: What is beyond the edges: "nearest", "constant", "reflect" or "wrap".
        cval: The value beyond the edges of "constant".
        horizontal_flip: Whether half of them are mirrored, left to right.
        vertical_flip: Whether half of them are turned upside down.
        rescale: What they are multiplied by.
        preprocessing_function: A function of each changed picture.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().
        validation_split: The share that is the subset "validation".
        dtype: The dtype of the batches.

    Raises:
        ValueError: An argument has another form, or `data_format` is not known.
    """

    def __init__(
        self, featurewise_center: bool = False, samplewise_center: bool = False,
        featurewise_std_normalization: bool = False, samplewise_std_normalization: bool = False,
        zca_whitening: bool = False, zca_epsilon: float = 1e-6, rotation_range: float = 0,
        width_shift_range: Any = 0.0, height_shift_range: Any = 0.0, brightness_range: Sequence[float] | None = None,
        shear_range: float = 0.0, zoom_range: float | Sequence[float] = 0.0, channel_shift_range: float = 0.0,
        fill_mode: str = "nearest", cval: float = 0.0, horizontal_flip: bool = False, vertical_flip: bool = False,
        rescale: float | None = None, preprocessing_function: Callable[[Any], Any] | None = None,
        data_format: str | None = None, validation_split: float = 0.0, dtype: str = "float32",
    ) -> None:  # fmt: skip
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"validation_split lies between 0 and 1, but is {validation_split}.")
        if brightness_range is not None and len(brightness_range) != 2:
            raise ValueError(f"brightness_range is two numbers, not {brightness_range!r}.")
        if not isinstance(zoom_range, int | float) and len(zoom_range) != 2:
            raise ValueError(f"zoom_range is a number, or two of them, not {zoom_range!r}.")
        self.zoom_range: list[float] = (
            [1 - zoom_range, 1 + zoom_range] if isinstance(zoom_range, int | float) else list(zoom_range)
        )
        self.featurewise_center: bool = featurewise_center or featurewise_std_normalization or zca_whitening
        self.featurewise_std_normalization: bool = featurewise_std_normalization and not zca_whitening
        self.samplewise_center: bool = samplewise_center or samplewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening = zca_whitening
        self.zca_epsilon = zca_epsilon
        self.rotation_range = rotation_range
        self.width_shift_range = width_shift_range
        self.height_shift_range = height_shift_range
        self.brightness_range = brightness_range
        self.shear_range = shear_range
        self.channel_shift_range = channel_shift_range
        self.fill_mode = fill_mode
        self.cval = cval
        self.horizontal_flip = horizontal_flip
        self.vertical_flip = vertical_flip
        self.rescale = rescale
        self.preprocessing_function = preprocessing_function
        self.data_format: str = layout_of(data_format)
        first = self.data_format == "channels_first"
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if first else (3, 1, 2)
        self._validation_split = validation_split
        self.dtype = dtype
        self.interpolation_order: int = 1
        self.mean: Any = None
        self.std: Any = None
        self.principal_components: Any = None

    # ---- batches --------------------------------------------------------------------------------------------------

    def flow(
        self, x: Arrays, y: Arrays = None, batch_size: int = 32, shuffle: bool = True, sample_weight: Arrays = None,
        seed: int | None = None, save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png",
        subset: str | None = None,
    ) -> NumpyArrayIterator:  # fmt: skip
        """Batches of pictures in arrays.

        Args:
            x: Pictures [count, ...] of four axes; or a pair of them and of arrays that are handed on.
            y: Targets, or None.
            batch_size: How many make a batch.
            shuffle: Whether they come in another order each time round.
            sample_weight: A weight for each, or None.
            seed: An int from which the draws follow.
            save_to_dir: A folder that the pictures are written to; None for none.
            save_prefix: What their names begin with.
            save_format: "png" or "jpeg".
            subset: "training" or "validation", if the generator has a validation_split.

        Returns:
            What gives (pictures, targets), or (pictures, targets, weights), or pictures alone, without end.
        """
        return NumpyArrayIterator(
            x, y, self, batch_size, shuffle, sample_weight, seed, self.data_format, save_to_dir, save_prefix,
            save_format, subset, self.dtype,
        )  # fmt: skip

    def flow_from_directory(
        self, directory: str, target_size: Sequence[int] = (256, 256), color_mode: str = "rgb",
        classes: Sequence[str] | None = None, class_mode: str | None = "categorical", batch_size: int = 32,
        shuffle: bool = True, seed: int | None = None, save_to_dir: str | None = None, save_prefix: str = "",
        save_format: str = "png", follow_links: bool = False, subset: str | None = None,
        interpolation: str = "nearest",
    ) -> DirectoryIterator:  # fmt: skip
        """Batches of the pictures in a folder's folders, a class each.

        Args:
            directory: The folder of the classes' folders.
            target_size: (rows, columns) that they get.
            color_mode: "rgb", "rgba" or "grayscale".
            classes: The names of the classes' folders, in the order of their numbers; by default all, by name.
            class_mode: "categorical", "binary", "sparse", "input", or None for no targets.
            batch_size: How many make a batch.
            shuffle: Whether they come in another order each time round.
            seed: An int from which the draws follow.
            save_to_dir: A folder that the pictures are written to; None for none.
            save_prefix: What their names begin with.
            save_format: "png" or "jpeg".
            follow_links: Whether links to folders are followed.
            subset: "training" or "validation", if the generator has a validation_split.
            interpolation: How they are resized: "nearest", "bilinear", "bicubic" or another filter of Pillow's.

        Returns:
            What gives (pictures, targets), or pictures alone, without end.
        """
        return DirectoryIterator(
            directory, self, target_size, color_mode, classes, class_mode, batch_size, shuffle, seed, self.data_format,
            save_to_dir, save_prefix, save_format, follow_links, subset, interpolation, self.dtype,
        )  # fmt: skip

    def flow_from_dataframe(
        self, dataframe: Elements, directory: str | None = None, x_col: str = "filename", y_col: Any = "class",
        weight_col: str | None = None, target_size: Sequence[int] = (256, 256), color_mode: str = "rgb",
        classes: Sequence[str] | None = None, class_mode: str | None = "categorical", batch_size: int = 32,
        shuffle: bool = True, seed: int | None = None, save_to_dir: str | None = None, save_prefix: str = "",
        save_format: str = "png", subset: str | None = None, interpolation: str = "nearest",
        validate_filenames: bool = True, **kwargs: Any,
    ) -> DataFrameIterator:  # fmt: skip
        """Batches of the pictures that a table of pandas names.

        Args:
            dataframe: A pandas.DataFrame.
            directory: The folder of the files; None if their names say it.
            x_col: The column of the files' names.
            y_col: The column of classes or targets, or a list of columns.
            weight_col: The column of weights, or None.
            target_size: (rows, columns) that they get.
            color_mode: "rgb", "rgba" or "grayscale".
            classes: The names of the classes that are taken; by default all.
            class_mode: "categorical", "binary", "sparse", "input", "multi_output", "raw" or "other", its older name, or
                None for no targets.
            batch_size: How many make a batch.
            shuffle: Whether they come in another order each time round.
            seed: An int from which the draws follow.
            save_to_dir: A folder that the pictures are written to; None for none.
            save_prefix: What their names begin with.
            save_format: "png" or "jpeg".
            subset: "training" or "validation", if the generator has a validation_split.
            interpolation: How they are resized: "nearest", "bilinear", "bicubic" or another filter of Pillow's.
            validate_filenames: Whether rows whose files are not there, or are no pictures, are left out.
            **kwargs: has_ext, sort and drop_duplicates change nothing.

        Returns:
            What gives (pictures, targets), (pictures, targets, weights), or pictures alone, without end.

        Raises:
            TypeError: There is an argument that is not known.
        """
        unknown = set(kwargs) - {"has_ext", "sort", "drop_duplicates"}
        if unknown:
            raise TypeError(f"flow_from_dataframe() takes no argument {min(unknown)!r}.")
        return DataFrameIterator(
            dataframe, directory, self, x_col, y_col, weight_col, target_size, color_mode, classes,
            "raw" if class_mode == "other" else class_mode, batch_size, shuffle, seed, self.data_format, save_to_dir,
            save_prefix, save_format, subset, interpolation, self.dtype, validate_filenames,
        )  # fmt: skip

    # ---- one picture ----------------------------------------------------------------------------------------------

    def get_random_transform(self, img_shape: Sequence[int], seed: int | None = None) -> dict[str, Any]:
        """How a picture is changed, drawn at random.

        Args:
            img_shape: The shape of the picture.
            seed: An int from which the draws follow.

        Returns:
            What `apply_transform` takes.
        """
        if seed is not None:
            np.random.seed(seed)
        uniform = np.random.uniform
        reach = self.rotation_range
        theta = uniform(-reach, reach) if reach else 0
        tx = _shift(self.height_shift_range, img_shape[self.row_axis - 1])
        ty = _shift(self.width_shift_range, img_shape[self.col_axis - 1])
        shear = uniform(-self.shear_range, self.shear_range) if self.shear_range else 0
        zx, zy = (1, 1) if self.zoom_range == [1, 1] else uniform(self.zoom_range[0], self.zoom_range[1], 2)
        across = (np.random.random() < 0.5) * self.horizontal_flip
        down = (np.random.random() < 0.5) * self.vertical_flip
        shift = self.channel_shift_range
        intensity = uniform(-shift, shift) if shift else None
        light = (
            None
            if self.brightness_range is None
            else uniform(self.brightness_range[0], self.brightness_range[1])
        )
        return {
            "theta": theta, "tx": tx, "ty": ty, "shear": shear, "zx": zx, "zy": zy, "flip_horizontal": across,
            "flip_vertical": down, "channel_shift_intensity": intensity, "brightness": light,
        }  # fmt: skip

    def apply_transform(self, x: Arrays, transform_parameters: dict[str, Any]) -> Any:
        """A picture changed in a way that is said.

        Args:
            x: A picture, an array of three axes.
            transform_parameters: theta, tx, ty, shear, zx, zy, flip_horizontal, flip_vertical,
                channel_shift_intensity and brightness; what is not said stays.

        Returns:
            An array of the same shape.
        """
        said = transform_parameters
        rows, columns, channels = self.row_axis - 1, self.col_axis - 1, self.channel_axis - 1
        x = apply_affine_transform(
            x, said.get("theta", 0), said.get("tx", 0), said.get("ty", 0), said.get("shear", 0), said.get("zx", 1),
            said.get("zy", 1), rows, columns, channels, self.fill_mode, self.cval, self.interpolation_order,
        )  # fmt: skip
        if said.get("channel_shift_intensity") is not None:
            x = apply_channel_shift(x, said["channel_shift_intensity"], channels)
        if said.get("flip_horizontal"):
            x = np.flip(x, columns)
        if said.get("flip_vertical"):
            x = np.flip(x, rows)
        return x if said.get("brightness") is None else apply_brightness_shift(x, said["brightness"])

    def random_transform(self, x: Arrays, seed: int | None = None) -> Any:
        """A picture changed at random.

        Args:
            x: A picture, an array of three axes.
            seed: An int from which the draws follow.

        Returns:
            An array of the same shape.
        """
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    # ---- the same for all -----------------------------------------------------------------------------------------

    def fit(self, x: Arrays, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Computes means and deviations of pictures, which `standardize` takes.

        Args:
            x: Pictures, an array of four axes.
            augment: Whether they are changed at random before.
            rounds: How often each is.
            seed: An int from which the draws follow.

        Raises:
            ValueError: The array has another number of axes.
        """
        pictures = np.array(x, dtype=self.dtype)
        if pictures.ndim != 4:
            raise ValueError(
                f"fit() takes pictures, an array of four axes, not one of shape {pictures.shape}."
            )
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            pictures *= self.rescale
        if augment:
            pictures = np.array(
                [self.random_transform(one) for _ in range(rounds) for one in pictures], dtype=self.dtype
            )
        others = (0, self.row_axis, self.col_axis)
        if self.featurewise_center:
            self.mean = np.mean(pictures, axis=others, keepdims=True)[0]
            pictures -= self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(pictures, axis=others, keepdims=True)[0]
            pictures /= self.std + 1e-6
        if self.zca_whitening:
            flat = pictures.reshape(len(pictures), -1)
            vectors, sizes, _ = np.linalg.svd(flat.T @ flat / len(flat))
            self.principal_components = (vectors / np.sqrt(sizes + self.zca_epsilon)) @ vectors.T

    def standardize(self, x: Arrays) -> Any:
        """Pictures rescaled, less means, divided by deviations, as the generator was told.

        Args:
            x: A picture or a batch of them, an array of floats, which is written over.

        Returns:
            An array of the same shape.
        """
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= np.std(x, keepdims=True) + 1e-6
        for asked, known, name in (
            (self.featurewise_center, self.mean, "featurewise_center"),
            (self.featurewise_std_normalization, self.std, "featurewise_std_normalization"),
            (self.zca_whitening, self.principal_components, "zca_whitening"),
        ):
            if asked and known is None:
                logging.log_first_n(
                    logging.WARN,
                    "This ImageDataGenerator specifies %s, but has seen no data: fit(x) it.",
                    1,
                    name,
                )
        if self.featurewise_center and self.mean is not None:
            x -= self.mean
        if self.featurewise_std_normalization and self.std is not None:
            x /= self.std + 1e-6
        if self.zca_whitening and self.principal_components is not None:
            x = (x.reshape(-1, int(np.prod(x.shape[-3:]))) @ self.principal_components).reshape(x.shape)
        return x


def _shift(reach: Any, length: int) -> Any:
    """How far a picture is moved: chosen of a list, or drawn up to a number; a share of its length below 1."""
    if not np.any(reach):
        return 0
    try:
        moved = np.random.choice(reach) * np.random.choice([-1, 1])
    except ValueError:  # A float.
        moved = np.random.uniform(-reach, reach)
    return moved * length if np.max(reach) < 1 else moved
