#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What type checkers and editors see of the names that the Python package has at run time alone: a function a
model, from the library's tables of parameters, and what is loaded when first used. Written to
python/isotome/_later.pyi; needs the library, as `import isotome` does.

    python-stubs.py --check     changes nothing; fails where the file is not current
    python-stubs.py --write     writes it anew
"""
import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import isotome  # noqa: E402
from isotome import _abi, problem  # noqa: E402

STUB = ROOT / "python" / "isotome" / "_later.pyi"

HEAD = '''# SPDX-License-Identifier: BSD-3-Clause
# Written by scripts/python-stubs.py --write.
"""What `isotome` has besides what its __init__.py imports, for type checkers and editors."""

import os
from collections.abc import Sequence
from typing import Any, Literal, Union

import numpy as np
from numpy.typing import NDArray

{imports}
from .context import Context
from .events import Events
from .grid import Grid
from .problem import Problem

_File = Union[str, os.PathLike[str]]
_Array = Union[_File, NDArray[np.float32]]  # a file, or values in its place
_Events = Union[_Array, Events]
_Text = Union[str, float, Sequence[float]]
_Float = Union[float, Sequence[float], NDArray[np.floating[Any]]]
_Int = Union[int, Sequence[int], NDArray[np.integer[Any]]]
'''


def imports() -> str:
    """Names that are loaded later, each as its own module has it."""
    lines = []
    for name, module in sorted(isotome._LATER.items()):
        source = "." if module == name else f".{module}"
        lines.append(f"from {source} import {name} as {name}")
    return "\n".join(lines)


def kind(p: problem.Parameter) -> str:
    """What a parameter takes, as a type."""
    if p.words:
        return "Literal[" + ", ".join(f'"{w}"' for w in p.words) + "]"
    if p.file == _abi.READS:
        kinds = {_abi.NOTHING: "_File", _abi.EVENTS: "_Events", _abi.MATRIX: "_File | Matrix"}
        return kinds.get(p.takes, "_Array") + (" | float" if p.value == "FILE|R" else "")
    if p.file != _abi.NO_FILE:
        return "_File"
    one = {_abi.FLAG: "bool", _abi.INTEGER: "int", _abi.REAL: "float", _abi.TEXT: "_Text"}[p.type]
    more = " | Grid" if p.name == "grid" and p.numbers == 3 else ""
    return {"int": "_Int", "float": "_Float"}.get(one, one) + more if p.numbers else one


def function(model: str) -> str:
    """One model: its signature, and the docstring that it has at run time."""
    made = getattr(isotome, model)
    first = next(name for name in problem._FIRST if name in made.table)
    lines = [f"def {model}(", f"    {first}: {kind(made.table[first])} | None = ...,"]
    lines += ["    *,", "    context: Context | None = ...,", "    like: _File | None = ...,"]
    lines += [f"    {p.name}: {kind(p)} | None = ...," for p in made.table.values() if p.name != first]
    document = made.__doc__.replace("\\", "\\\\").replace('"""', "'''").splitlines()
    document[1:] = ["    " + line if line else "" for line in document[1:]]
    return "\n".join([*lines, ") -> Problem:", '    """' + document[0], *document[1:], '    """', ""])


def main() -> int:
    if sys.argv[1:] not in (["--check"], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = "\n\n".join([HEAD.format(imports=imports()), *(function(m) for m in isotome.models)])
    before = STUB.read_text() if STUB.exists() else ""
    if sys.argv[1] == "--write":
        STUB.write_text(text)
    elif text != before:
        old, new = before.splitlines(True), text.splitlines(True)
        sys.stdout.writelines(difflib.unified_diff(old, new, str(STUB), "now"))
        print(f"{STUB} is not current: scripts/python-stubs.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
