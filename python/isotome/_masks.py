# SPDX-License-Identifier: BSD-3-Clause
"""Masked arrays: the library has no mask, so what a mask hides must get a value first."""

from __future__ import annotations

import numpy as np

from . import errors


def _hidden(values: object) -> int:
    """How many values are masked; of lists and tuples, in all of their parts."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmask(values)
        # of records there is a mask for each field
        return int(sum(mask[name].sum() for name in mask.dtype.names) if mask.dtype.names else mask.sum())
    if isinstance(values, (list, tuple)):
        return sum(_hidden(v) for v in values)
    return 0


def refuse(values: object, name: str) -> None:
    """An array with masked values; one whose mask hides nothing is as good as any other."""
    if n := _hidden(values):
        size = f" of {values.size}" if isinstance(values, np.ndarray) else ""
        raise errors.ArgumentError(
            f"{name}: given an array in which {n}{size} values are masked, wanted one without a mask: "
            ".filled(0) gives them the value 0"
        )
