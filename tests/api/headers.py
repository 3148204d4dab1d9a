# SPDX-License-Identifier: BSD-3-Clause
"""The functions and structs that the public headers declare, for the tests that go over all of them."""

import re
from pathlib import Path
from typing import NamedTuple


class Argument(NamedTuple):
    type: str  # "const struct iso_grid *", "double *" of double at[3]
    name: str

    @property
    def pointer(self):
        return self.type.endswith("*")

    @property
    def const(self):
        return self.type.startswith("const ")


class Function(NamedTuple):
    header: str
    result: str
    name: str
    arguments: tuple
    status: bool  # ISO_CHECKED: the result is one


def _text(path):
    text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
    text = re.sub(r"^[ \t]*#.*(?:\\\n.*)*$", "", text, flags=re.M)
    return re.sub(r"\bISO_(BEGIN_C|END_C)\b", " ", text)


def _argument(text):
    text, arrays = re.subn(r"\[[^]]*\]$", "", " ".join(text.split()))
    type_, name = re.fullmatch(r"(.*?)(\w+)", text).groups()
    return Argument(" ".join((type_ + "*" * arrays).replace("*", " * ").split()).replace("* *", "**"), name)


def functions(include):
    """All functions of the headers in include/isotome."""
    found = []
    for path in sorted(Path(include).glob("isotome/*.h")):
        text = _text(path)
        while re.search(r"\{[^{}]*\}", text):
            text = re.sub(r"\{[^{}]*\}", "", text)
        for statement in text.split(";"):
            m = re.fullmatch(r"(?!typedef)(ISO_CHECKED )?(.*?)(iso_\w+) ?\((.*)\)", " ".join(statement.split()))
            if m:
                arguments = [] if m[4] == "void" else [_argument(a) for a in m[4].split(",")]
                found.append(Function(path.name, m[2].strip(), m[3], tuple(arguments), bool(m[1])))
    return found


def handles(include):
    """Names of the opaque types: typedef struct iso_op iso_op."""
    text = "\n".join(_text(path) for path in sorted(Path(include).glob("isotome/*.h")))
    return set(re.findall(r"typedef struct \w+ (iso_\w+);", text))


def structs(include):
    """Header and members, as text, of each struct that the headers define at their outermost level."""
    found = {}
    for path in sorted(Path(include).glob("isotome/*.h")):
        for m in re.finditer(r"^struct (iso_\w+) \{(.*?)^\};", _text(path), flags=re.M | re.S):
            found[m[1]] = path.name, m[2]
    return found
