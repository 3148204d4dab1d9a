# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command, and prints its exit code and the most bytes that it or a child of it held."""
import os
import sys

pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)
