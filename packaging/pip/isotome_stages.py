# SPDX-License-Identifier: BSD-3-Clause
"""A line for each stage of a build, on the terminal.

pip keeps what a build prints to itself, unless it is run with -v. The lines therefore go to the terminal of the
process, /dev/tty. Where there is none, as in CI, or where pip was told to be quiet, there are no lines. All output
goes on to pip as before.
"""

import contextlib
import os
import re
import threading
import time

TERMINAL = "/dev/tty"
FEW = 10  # steps of Ninja that come before those of the compiler, such as a look for new files


class Stages:
    """Lines of scikit-build-core, CMake and Ninja go in; what a user wants to know of them goes to `tell`."""

    def __init__(self, tell):
        self._tell = tell
        self._begin = time.monotonic()
        self._tenths = None  # of the files, those that are compiled; None: none yet

    def see(self, line):
        files = re.match(r"\[(\d+)/(\d+)\]", line)
        if files:
            self._see_step(*map(int, files.groups()))
        elif line.startswith("*** Configuring"):
            self._tell("stage 1 of 3: CMake looks for the compiler and for libraries")
        elif line.startswith("*** Installing"):
            self._tell("stage 3 of 3: the files are packed into a wheel")

    def _see_step(self, done, total):
        if total < FEW:
            return
        if self._tenths is None:
            self._tenths = 0
            cores = len(os.sched_getaffinity(0))
            self._tell(f"stage 2 of 3: {total} files on {cores} cores, which takes minutes; pip -v shows each")
        tenths = 10 * done // total
        if tenths > self._tenths:
            self._tenths = tenths
            self._tell(f"{done} of {total} files, {time.monotonic() - self._begin:.0f} s")


def _quiet():
    """Whether pip, which is the parent, was run with -q."""
    with contextlib.suppress(OSError), open(f"/proc/{os.getppid()}/cmdline", "rb") as file:
        return any(re.fullmatch(rb"-q+|--quiet", word) for word in file.read().split(b"\0"))
    return False


def _copy(reader, to, see):
    """All lines, until the last writer has closed the pipe."""
    with os.fdopen(reader, "rb") as lines, os.fdopen(to, "wb", 0) as out:
        for line in lines:
            out.write(line)
            see(line.decode(errors="replace"))


@contextlib.contextmanager
def _watched(see):
    """During `with`, lines that this process and its children print are seen on their way to stdout."""
    reader, writer = os.pipe()
    stdout = os.dup(1)
    thread = threading.Thread(target=_copy, args=(reader, os.dup(1), see))
    thread.start()
    os.dup2(writer, 1)
    os.close(writer)
    try:
        yield
    finally:
        os.dup2(stdout, 1)  # closes the pipe, whose children have ended
        os.close(stdout)
        thread.join()


@contextlib.contextmanager
def told(terminal=TERMINAL, quiet=None):
    """During `with`, stages of a build are told on the terminal, if there is one; quiet: None: as pip is."""
    with contextlib.ExitStack() as during:
        with contextlib.suppress(OSError):
            silent = _quiet() if quiet is None else quiet
            tty = None if silent else during.enter_context(open(terminal, "w", encoding="utf-8"))
            if tty is not None:
                # a space at the end, in which pip's spinner turns
                stages = Stages(lambda words: print(f"\n  isotome, {words} ", end="", file=tty, flush=True))
                during.enter_context(_watched(stages.see))
        yield
