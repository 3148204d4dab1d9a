# SPDX-License-Identifier: BSD-3-Clause
"""Finds libisotome.so and loads it, once.

It is looked for in this order; what ISOTOME_LIBRARY names is taken or refused, never passed over:
1. the environment variable ISOTOME_LIBRARY, a file, or a folder that holds it;
2. in `lib` of this package, as wheels have it. On x86-64 that is libisotome_front.so, an empty library which
   makes the loader choose between libisotome.so.0.2 and those in glibc-hwcaps;
3. a library that the process has loaded already;
4. `lib` of the Python environment (conda), then wherever the system's loader looks.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

#: The C interface this package is written for: its version up to the second dot.
INTERFACE = "0.2"

NAME = "libisotome.so"
SONAME = f"{NAME}.{INTERFACE}"
FRONT = "libisotome_front.so"


def _from_environment() -> ctypes.CDLL | None:
    given = os.environ.get("ISOTOME_LIBRARY")
    if not given:
        return None
    path = Path(given)
    if path.is_dir():
        path = path / NAME
    if not path.is_file():
        raise ImportError(f"ISOTOME_LIBRARY is {given}: there is no file {path}")
    try:
        return ctypes.CDLL(str(path.resolve()))
    except OSError as error:
        raise ImportError(f"ISOTOME_LIBRARY is {given}: {error}") from None


def _in_folder(folder: Path) -> ctypes.CDLL | None:
    for name in (FRONT, SONAME, NAME):
        if (folder / name).is_file():
            try:
                return ctypes.CDLL(str(folder / name))
            except OSError as error:
                raise ImportError(str(error)) from None
    return None


def _by_name(mode: int) -> ctypes.CDLL | None:
    for name in (SONAME, NAME):
        try:
            return ctypes.CDLL(name, mode=mode)
        except OSError:
            continue
    return None


def _check_version(library: ctypes.CDLL) -> ctypes.CDLL:
    try:
        version = library.iso_version
    except AttributeError:
        raise ImportError(f"{library._name} is no libisotome: it has no iso_version") from None
    version.restype = ctypes.c_char_p
    found = version().decode()
    if found.split(".")[:2] != INTERFACE.split("."):
        raise ImportError(f"{library._name} has version {found}, this package wants {INTERFACE}")
    return library


def load() -> ctypes.CDLL:
    """The library, its version checked; ImportError says where it was looked for."""
    package = Path(__file__).resolve().parent
    found = (
        _from_environment()
        or _in_folder(package / "lib")
        or _by_name(ctypes.DEFAULT_MODE | os.RTLD_NOLOAD)
        or _in_folder(Path(sys.prefix) / "lib")
        or _by_name(ctypes.DEFAULT_MODE)
    )
    if found is None:
        raise ImportError(
            f"{NAME} was not found: not in ISOTOME_LIBRARY (not set), in {package}/lib, in {sys.prefix}/lib, "
            f"nor where the system looks for {SONAME}"
        )
    return _check_version(found)
