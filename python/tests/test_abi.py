# SPDX-License-Identifier: BSD-3-Clause
"""The interface: structs as a C compiler lays them out, every prototype declared; finding the library."""

import ctypes
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

from isotome import _abi, _library

STRUCTS = {
    "iso_grid": _abi.Grid,
    "iso_array": _abi.Array,
    "iso_progress": _abi.Progress,
    "iso_rows": _abi.Rows,
    "iso_em_data": _abi.EmData,
    "iso_em_stat": _abi.EmStat,
    "iso_event": _abi.Event,
    "iso_events": _abi.Events,
    "iso_strip_event": _abi.StripEvent,
    "iso_strip_events": _abi.StripEvents,
    "iso_param": _abi.Param,
}
CC = shutil.which("cc")


@pytest.mark.skipif(not CC, reason="no C compiler")
def test_structs_are_those_of_the_headers(tmp_path):
    lines, want = [], []
    for name, struct in STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
        want.append(f"{name} {ctypes.sizeof(struct)}")
        for field, *_ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof(struct {name}, {field}));')
            want.append(f"{name}.{field} {getattr(struct, field).offset}")
    for field in ("alloc", "free", "upload", "download"):
        lines.append(f'printf("iso_vec.{field} %zu\\n", offsetof(struct iso_vec, {field}));')
        want.append(f"iso_vec.{field} {getattr(_abi.Vec, field).offset}")
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
    for name, (_result, arguments) in _abi.PROTOTYPES.items():
        found = re.search(rf"\b{name}\(([^;]*?)\);", text)
        assert found, name
        given = found.group(1).strip()
        assert len(arguments) == (0 if given == "void" else given.count(",") + 1), name


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
