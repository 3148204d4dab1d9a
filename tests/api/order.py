# SPDX-License-Identifier: BSD-3-Clause
"""order.py INCLUDE: the order of arguments that docs/abi.md promises, of every public function.

Results come first; then the context; then everything else. A result is what a function writes for its caller: a
value or an array by its pointer, a handle that it makes, a file by its path. Where a function changes a handle
(iso_problem_set, iso_srm_add), that handle is its result. Prints what is otherwise, and fails then.
"""

import re
import sys

from headers import functions, handles

ALLOWED = {
    # function: why one of its results, or its context, stands behind other arguments
    "iso_motion_events": "the events are moved in place, and stand with their times",
    "iso_panel_sensitivity": "the number of readings stands behind their pointer",
}


def kind(argument, opaque):
    """What an argument is to the order: "result", "context", "handle" or "input"."""
    base = argument.type.removeprefix("const ").rstrip(" *")
    if base == "iso_ctx" and argument.type.count("*") == 1:
        return "context"
    if not argument.pointer or argument.const or base == "void":
        return "input"
    return "handle" if base in opaque and argument.type.count("*") == 1 else "result"


def faults(function, opaque):
    """What is wrong with the order of one function, in words."""
    seen = []
    for a in function.arguments:
        now = kind(a, opaque)
        if now == "result" and set(seen) - {"result"}:
            yield f"'{a.name}' is a result, and stands behind other arguments"
        if now == "context" and "input" in seen:
            yield f"'{a.name}' is the context, and stands behind an input"
        seen.append(now)
    if re.search(r"_write(_with)?$", function.name) and not function.arguments[0].type.endswith("char *"):
        yield "the path of the file that it writes is not its first argument"


def main(include):
    opaque, found = handles(include), functions(include)
    if len(found) < 300:
        sys.exit(f"{len(found)} functions in {include}: the headers are written in a way that is not understood")
    wrong = [f"{f.header}: {f.name}: {w}" for f in found if f.name not in ALLOWED for w in faults(f, opaque)]
    unused = [f"{name}: in the list of exceptions, but no function needs it" for name in ALLOWED
              if not any(f.name == name and list(faults(f, opaque)) for f in found)]
    print("\n".join(wrong + unused) or f"{len(found)} functions: results first")
    return bool(wrong + unused)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
