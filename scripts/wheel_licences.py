#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts the licences of the libraries that auditwheel took into a wheel beside its own, and writes the wheel.

    wheel_licences.py WHEEL FOLDER

Fails, and writes nothing, if there is one that is not in the table here: its licence has to be read first. The
texts are those of the Debian packages of this machine.
"""
import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

#: library -> Debian package, and what its code, as far as it is linked, is under.
LIBRARIES = {
    "libexpat": ("libexpat1", "MIT"),
    "libgomp": ("libgomp1", "GPL-3 with the GCC runtime library exception, which holds for any program"),
    "libjansson": ("libjansson4", "MIT"),
    "liblz4": ("liblz4-1", "BSD-2-Clause"),
    "liblzma": ("liblzma5", "public domain"),
    "libpng16": ("libpng16-16", "libpng"),
    "libxrl": ("libxrl11", "BSD-3-Clause"),
    "libxxhash": ("libxxhash0", "BSD-2-Clause"),
    "libyaml-0": ("libyaml-0-2", "MIT"),
    "libz": ("zlib1g", "Zlib"),
    "libzstd": ("libzstd1", "BSD-3-Clause, of the two that it can be had under"),
}


def libraries(wheel: zipfile.ZipFile) -> list[str]:
    """Names of the libraries that are not of this project, without the hash that auditwheel gave them."""
    files = [Path(n).name for n in wheel.namelist() if re.search(r"\.libs/.*\.so", n)]
    return sorted(re.sub(r"-[0-9a-f]{8}$", "", f.split(".so")[0]) for f in files)


def licences(names: list[str]) -> dict[str, str]:
    """library -> text."""
    unknown = [n for n in names if n not in LIBRARIES]
    if unknown:
        sys.exit(f"wheel_licences.py: {', '.join(unknown)} in the wheel: not among the libraries whose licence allows it")
    texts = {}
    for name in names:
        package, licence = LIBRARIES[name]
        path = Path("/usr/share/doc", package, "copyright")
        if not path.is_file():
            sys.exit(f"wheel_licences.py: there is no {path}, the licence of {name}")
        texts[name] = f"{name} in this wheel is Debian's {package}, under: {licence}\n\n{path.read_text()}"
    return texts


def record(files: dict[str, bytes], own: str) -> bytes:
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},,\n" if name == own else f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines).encode()


def main(path: str, folder: str) -> None:
    with zipfile.ZipFile(path) as old:
        entries = {i.filename: i for i in old.infolist() if not i.is_dir()}
        files = {name: old.read(name) for name in entries}
        names = libraries(old)
    own = next(n for n in files if n.endswith(".dist-info/RECORD"))
    for name, text in licences(names).items():
        files[f"{own.rsplit('/', 1)[0]}/licenses/{name}.txt"] = text.encode()
    files[own] = record(files, own)
    with zipfile.ZipFile(Path(folder, Path(path).name), "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in files.items():
            entry = entries.get(name, zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)))
            entry.external_attr = entry.external_attr or 0o644 << 16
            new.writestr(entry, data, zipfile.ZIP_DEFLATED)
    print(Path(folder, Path(path).name), "with", ", ".join(f"{n} ({LIBRARIES[n][1]})" for n in names) or "nothing else")


if __name__ == "__main__":
    main(*sys.argv[1:])
