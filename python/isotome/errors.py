# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong: one exception a status of the C library, with its message, and a kind of warning.

Each is an IsotomeError and, where Python has a word for it, that too: `except ValueError` catches an
ArgumentError. Two share their names with Python's own; they are used as `isotome.errors.MemoryError`.
"""

from __future__ import annotations

import builtins
import errno
import os


class IsotomeError(Exception):
    """Any failure that Isotome tells of."""


class ArgumentError(IsotomeError, ValueError):
    """An argument or parameter is wrong."""


class InputError(IsotomeError, ValueError):
    """An input is missing, damaged, or holds values that are not allowed."""


class MissingFileError(InputError, builtins.FileNotFoundError):
    """A file that was named does not exist: an InputError that `except FileNotFoundError` catches too."""


class IOError(IsotomeError, OSError):
    """The system failed to read or write."""


class MemoryError(IsotomeError, builtins.MemoryError):
    """Host or device has not enough memory."""


class DeviceError(IsotomeError, RuntimeError):
    """The device is missing, or failed."""


class BusyError(IsotomeError, RuntimeError):
    """An operator was called while it served another caller."""


class Cancelled(IsotomeError):
    """The call was asked to stop, and did. What it worked on can be used again."""


class IsotomeWarning(UserWarning):
    """What a reconstruction warns of; its record keeps it too."""


# enum iso_status of isotome/status.h
BY_STATUS: dict[int, type[IsotomeError]] = {
    -1: ArgumentError,
    -2: InputError,
    -3: IOError,
    -4: MemoryError,
    -5: DeviceError,
    -6: BusyError,
    -7: Cancelled,
}


def of_status(status: int, message: str) -> IsotomeError:
    """The exception of a status that is not 0."""
    if BY_STATUS.get(status) is InputError and message.endswith(": " + os.strerror(errno.ENOENT)):
        return MissingFileError(message)
    return BY_STATUS.get(status, IsotomeError)(message or f"status {status}, without a message")
