# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and words that a user gives: of the right kind and within bounds, or refused by name."""

from __future__ import annotations

import math
import operator
from typing import Any, Sequence

import numpy as np

from . import _masks, errors
from ._call import text

_INT64_MAX = 2**63 - 1


def _between(least: float, most: float) -> str:
    if most >= _INT64_MAX:
        return "" if least <= -_INT64_MAX else f" of at least {least:.12g}"
    return f" from {least:.12g} to {most:.12g}"


def _float(value: Any) -> float:
    """NaN for what is not one number."""
    if isinstance(value, (bool, np.bool_, str, bytes)) or np.ndim(value) != 0:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def number(value: Any, name: str, least: float = -math.inf, most: float = math.inf) -> float:
    """A finite number between two."""
    found = _float(value)
    if not math.isfinite(found) or not least <= found <= most:
        between = _between(least, most)
        wanted = f"number{between}" if between else "finite number"
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted a {wanted}")
    return found


def numbers(value: Any, n: int, name: str) -> tuple[float, ...]:
    """n finite numbers."""
    _masks.refuse(value, name)
    try:
        found = tuple(_float(v) for v in value)
    except TypeError:
        found = ()
    if len(found) != n or not all(map(math.isfinite, found)):
        finite = "finite " if len(found) == n else ""
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted {n} {finite}numbers")
    return found


def rising(value: Any, name: str) -> tuple[float, float]:
    """Two numbers, of which the second is greater."""
    low, high = numbers(value, 2, name)
    if not low < high:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted two numbers, the second greater")
    return low, high


def integer(value: Any, name: str, least: int = -_INT64_MAX, most: int = _INT64_MAX) -> int:
    """An integer between two; 2.0 and 1e6 are such."""
    found: int | None = None
    if not isinstance(value, (bool, np.bool_)):
        try:
            found = operator.index(value)
        except TypeError:
            found = int(whole) if (whole := _float(value)).is_integer() else None
    if found is None or not least <= found <= most:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted an integer{_between(least, most)}")
    return found


def place_of(words: Sequence[str], value: Any, name: str) -> int:
    """Which of the words it is, from 0."""
    if not isinstance(value, str) or value not in words:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted one of {', '.join(words)}")
    return words.index(value)


def utf8(value: Any, name: str) -> bytes:
    """A text as C takes it."""
    if not isinstance(value, str):
        raise errors.ArgumentError(f"{name}: given {type(value).__name__}, wanted a text")
    return text(value, name)
