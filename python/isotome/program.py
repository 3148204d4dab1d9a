# SPDX-License-Identifier: BSD-3-Clause
"""The program `isotome`, by the words of its command line.

    isotome.run("phantom spheres -o spheres.nii")
    isotome.run(["measure", "roi", "spheres.nii", "--sphere", "57.2,0,0,18", "--json"]).json["results"]
"""

from __future__ import annotations

import functools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, NamedTuple, Sequence

from . import _abi, errors

_NAME = "isotome"

# Exit codes that are no status of the library; 1 is any failure at run time.
_BY_CODE: dict[int, type[errors.IsotomeError]] = {
    2: errors.ArgumentError,
    3: errors.InputError,
    4: errors.MemoryError,
    5: errors.DeviceError,
    129: errors.Cancelled,
    130: errors.Cancelled,
    143: errors.Cancelled,
}


# ---- which program ----


def _own() -> Path | None:
    """The one that came with the library: beside it, or in a `bin` there or one above."""
    library = Path(_abi.lib._name)
    if not library.is_absolute():
        return None
    folders = library.parent, library.parent / "bin", library.parent.parent / "bin"
    programs = (folder / _NAME for folder in folders)
    return next((p for p in programs if p.is_file() and os.access(p, os.X_OK)), None)


def _version(program: Path) -> str:
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True)
    except OSError as error:
        raise errors.IsotomeError(f"{program}: {error.strerror}") from None
    return told.stdout.strip() or told.stderr.strip()


@functools.lru_cache(maxsize=None)
def find() -> Path:
    """The program of the library in use, beside it or in PATH; one of another version is refused."""
    program = _own()
    if program is None:
        on_path = shutil.which(_NAME)
        if on_path is None:
            raise errors.IsotomeError(f"the program {_NAME} is neither beside {_abi.lib._name} nor in PATH")
        program = Path(on_path)
    version = _version(program)
    if version != f"{_NAME} {_abi.version}":
        raise errors.IsotomeError(f"{program} says {version!r}, the library has version {_abi.version}")
    return program


def main() -> None:
    """The command `isotome` of the package: becomes the program."""
    program = _own()
    if program is None:
        sys.exit(f"{_NAME}: the program is not beside {_abi.lib._name}")
    os.execv(program, [_NAME, *sys.argv[1:]])


# ---- runs ----


class Run(NamedTuple):
    """A run of the program that succeeded."""

    words: tuple[str, ...]
    stdout: str
    stderr: str  # progress and warnings

    def __repr__(self) -> str:
        return f"<isotome.Run {shlex.join(self.words)}>"

    @property
    def json(self) -> Any:
        """What it printed with --json: the record of the run."""
        return json.loads(self.stdout)


def _words(words: str | Sequence[Any]) -> list[str]:
    try:
        given = shlex.split(words) if isinstance(words, str) else [os.fspath(w) for w in words]
    except (TypeError, ValueError) as error:
        raise errors.ArgumentError(
            f"words: given {words!r}, wanted a command line or a list of texts: {error}"
        ) from None
    if not all(isinstance(w, str) and "\0" not in w for w in given):
        raise errors.ArgumentError(f"words: given {words!r}, wanted texts without zeros")
    return given[1:] if given[:1] == [_NAME] else given


def _pass_on(pipe: IO[str], lines: list[str], to: Any) -> None:
    """Keeps the lines of a pipe until it ends, and shows them as they come."""
    with pipe:
        for line in pipe:
            lines.append(line)
            if to is not None:
                to.write(line)
                to.flush()


def _failure(code: int, words: Sequence[str], stderr: Sequence[str]) -> errors.IsotomeError:
    """The exception of an exit code, with the last line that the program wrote: its reason."""
    kind = _BY_CODE.get(code, errors.IsotomeError)
    said = stderr[-1].strip() if stderr else f"{_NAME} {shlex.join(words)}: ended"
    return kind(said if code > 0 else f"{said}: killed by {signal.Signals(-code).name}")


def _start(program: Path, words: Sequence[str], cwd: str | os.PathLike | None) -> subprocess.Popen:
    try:
        return subprocess.Popen(
            [program, *words],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C comes from here, once: a second one would kill it
        )
    except OSError as error:
        raise errors.IOError(f"{program}: {error}") from None


def run(words: str | Sequence[Any], *, cwd: str | os.PathLike | None = None, quiet: bool = False) -> Run:
    """Runs `isotome WORDS`, a command line or a list of words, with or without "isotome" in front.

    What the program prints is shown as it comes, unless `quiet`, and returned. Ctrl-C ends it: it leaves no
    part of a file. If it fails, the exception is that of its exit code, with its own line.
    cwd: the folder it runs in.
    """
    given = _words(words)
    child = _start(find(), given, cwd)
    out: list[str] = []
    told: list[str] = []
    assert child.stdout and child.stderr
    shown = (None, None) if quiet else (sys.stdout, sys.stderr)
    hearing = threading.Thread(target=_pass_on, args=(child.stderr, told, shown[1]), daemon=True)
    hearing.start()
    try:
        _pass_on(child.stdout, out, shown[0])
        code = child.wait()
    except BaseException:
        child.send_signal(signal.SIGINT)  # its output, if it writes more, finds a closed pipe
        child.wait()
        raise
    finally:
        child.kill()  # only where waiting for it was interrupted too
        hearing.join()
    if code:
        raise _failure(code, given, told)
    return Run(tuple(given), "".join(out), "".join(told))
