# SPDX-License-Identifier: BSD-3-Clause
"""Arguments on their way into structs of the library: of the right type and number, or refused by name."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from . import context as contexts
from . import errors
from ._call import text
from .context import Context


def place_of(words: Sequence[str], value: Any, name: str) -> int:
    """Which of the words it is, from 0."""
    if not isinstance(value, str) or value not in words:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted one of {', '.join(words)}")
    return words.index(value)


def numbers(value: Any, n: int, name: str) -> tuple[float, ...]:
    """n numbers; what is finite or not is left to the library."""
    try:
        found = tuple(float(v) for v in value)
    except (TypeError, ValueError, OverflowError):
        found = ()
    if len(found) != n:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted {n} numbers")
    return found


def rising(value: Any, name: str) -> tuple[float, float]:
    """Two numbers, of which the second is greater."""
    low, high = numbers(value, 2, name)
    if not low < high:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted two numbers, the second greater")
    return low, high


def number(value: Any, name: str) -> float:
    """One number."""
    if isinstance(value, str):
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted a number")
    return numbers((value,), 1, name)[0]


def whole(value: Any, name: str) -> int:
    """An integer of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or abs(int(value)) >= 2**63:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted an integer")
    return int(value)


def utf8(value: Any, name: str) -> bytes:
    """A text as C takes it."""
    if not isinstance(value, str):
        raise errors.ArgumentError(f"{name}: given {type(value).__name__}, wanted a text")
    return text(value, name)


def context_of(value: Any) -> Context:
    """The context that was given; None: that of the process."""
    used = contexts.default() if value is None else value
    if not isinstance(used, Context):
        raise errors.ArgumentError(f"context: given {type(value).__name__}, wanted isotome.Context")
    return used
