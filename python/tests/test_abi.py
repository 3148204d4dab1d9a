# SPDX-License-Identifier: BSD-3-Clause
"""The interface: structs as a C compiler lays them out, every prototype declared; finding the library."""

import ctypes
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys

import pytest
from conftest import NEED_MORE_THAN_NUMPY, ROOT

import isotome
from isotome import _abi, _library

for _module in pkgutil.iter_modules(isotome.__path__):
    if _module.name not in NEED_MORE_THAN_NUMPY:
        importlib.import_module(f"isotome.{_module.name}")
STRUCTS = {c._c_name_: c for c in ctypes.Structure.__subclasses__() if hasattr(c, "_c_name_")}

CC = shutil.which("cc")


@pytest.mark.skipif(not CC, reason="no C compiler")
def test_structs_are_those_of_the_headers(tmp_path):
    lines, want = [], []
    for name, struct in STRUCTS.items():
        if not getattr(struct, "_first_fields_alone_", False):
            lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
            want.append(f"{name} {ctypes.sizeof(struct)}")
        for field, *_ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof(struct {name}, {field}));')
            want.append(f"{name}.{field} {getattr(struct, field).offset}")
    for kind in ("FLAG", "INTEGER", "REAL", "TEXT", "READS", "WRITES", "PLACE"):
        lines.append(f'printf("{kind} %d\\n", ISO_PARAM_{kind});')
        want.append(f"{kind} {getattr(_abi, kind)}")
    source = tmp_path / "layout.c"
    source.write_text(
        "#include <isotome.h>\n#include <stdio.h>\nint main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
    )
    program = tmp_path / "layout"
    subprocess.run([CC, "-I", ROOT / "include", source, "-o", program], check=True)
    assert subprocess.check_output([program], text=True).splitlines() == want


def test_prototypes_have_as_many_arguments_as_the_headers():
    text = "\n".join(h.read_text() for h in sorted((ROOT / "include" / "isotome").glob("*.h")))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for name, (_result, arguments) in _abi.declared.items():
        found = re.search(rf"\b{name}\(([^;]*?)\);", text)
        assert found, name
        given = found.group(1).strip()
        assert len(arguments) == (0 if given == "void" else given.count(",") + 1), name


def test_every_function_that_is_called_is_declared():
    """One that is not would get pointers cut to 32 bits."""
    for file in (ROOT / "python" / "isotome").glob("*.py"):
        for name in re.findall(r"\blib\.(iso_\w+)", file.read_text()):
            assert name in _abi.declared or name == "iso_version", f"{file.name}: {name}"


def load(**environment):
    done = subprocess.run(
        [sys.executable, "-c", "import isotome; print(isotome.__version__)"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_a_library_that_is_named_is_taken_or_refused(tmp_path):
    path = str(tmp_path / "none.so")
    assert load(ISOTOME_LIBRARY=path) == f"ImportError: ISOTOME_LIBRARY is {path}: there is no file {path}"
    (tmp_path / _library.NAME).write_bytes(b"no library")
    assert load(ISOTOME_LIBRARY=str(tmp_path)).startswith("ImportError: ISOTOME_LIBRARY is")
    assert load(ISOTOME_LIBRARY=_abi.lib._name).startswith(_library.INTERFACE)


@pytest.mark.skipif(not CC, reason="no C compiler")
def test_another_version_is_refused(tmp_path):
    source = tmp_path / "other.c"
    source.write_text('const char *iso_version(void) { return "0.1.7"; }\n')
    subprocess.run([CC, "-shared", "-fPIC", source, "-o", tmp_path / "libisotome.so"], check=True)
    assert "has version 0.1.7, this package wants " + _library.INTERFACE in load(ISOTOME_LIBRARY=str(tmp_path))
