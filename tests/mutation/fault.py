# SPDX-License-Identifier: BSD-3-Clause
"""A small fault of the kinds that slip in: a sign, a bound, a factor, a unit, an axis, a missing check.

`old` stands in exactly one place under `where`, a file or a folder: a folder where the text is distinct
enough, so that files may move within it. `tests` are names of ctest, the likeliest first; "any" tries all."""
from typing import NamedTuple


class Fault(NamedTuple):
    name: str
    where: str
    old: str
    new: str
    why: str
    tests: tuple


def fault(name, where, old, new, why, tests):
    return Fault(name, where, old, new, why, tuple(tests.split()))
