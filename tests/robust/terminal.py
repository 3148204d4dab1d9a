#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program on a terminal of 200 columns, and tells what it draws on stderr.

    terminal.py GAP PROGRAM ARGUMENT...

Prints the lines that were drawn, each with the second it came at, and "silent" with its seconds wherever nothing was
drawn for more than GAP seconds, behind the line that stood there meanwhile ("nothing", where none did). Ends with the
exit code of the program.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time


def drawn(master: int):
    """(seconds, bytes) as they come, up to the end."""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # the other side is closed
            return
        if not data:
            return
        yield time.monotonic(), data


def main(gap: float, command: list) -> int:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    began = last = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=slave, env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    line = ""
    for now, data in drawn(master):
        if now - last > gap:
            print(f"{last - began:8.2f}  silent {now - last:.2f} s behind: {line or 'nothing'}")
        for piece in re.split(r"[\r\n]+", data.decode(errors="replace")):
            if piece:
                line = piece.replace("\x1b[K", "").strip()
                print(f"{now - began:8.2f}  {line}")
        last = now
    status = child.wait()
    now = time.monotonic()
    if now - last > gap:
        print(f"{last - began:8.2f}  silent {now - last:.2f} s behind: {line or 'nothing'}")
    return status


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
