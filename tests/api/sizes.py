# SPDX-License-Identifier: BSD-3-Clause
"""sizes.py INCLUDE ABI.MD: every public struct begins with `size`, or docs/abi.md says why it needs none."""

import re
import sys
from pathlib import Path

from headers import structs


def main(include, page):
    named = set(re.findall(r"`(iso_\w+)`", Path(page).read_text()))
    found = structs(include)
    sized = {name for name, (_, members) in found.items() if re.match(r"\s*size_t size;", members)}
    wrong = [f"{found[name][0]}: struct {name} has no `size`, and {page} does not name it"
             for name in sorted(set(found) - sized - named)]
    print("\n".join(wrong) or f"{len(found)} structs, {len(sized)} begin with their size")
    return bool(wrong) or len(found) < 90


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
