#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The names that libisotome.so shows: the functions that include/isotome/*.h declare, in version node
ISOTOME_0, and what libisotome_cuda.so, libisotome_mpi.so, libisotome_nccl.so, the program isotome, and
isotome-bench with its CUDA half take of its inside, in ISOTOME_PRIVATE (src/exports.map.in). A name stands with
the first of these that uses it.

    exports.py BUILD            fails where a declared function is not shown, a name is shown that is
                                neither declared nor listed, or a listed one is used by nobody
    exports.py --write BUILD    lists anew what is used; then build again. A name that a program newly uses, for which it
                                can't be linked, is added by hand, with the reason

Names of a part that is not in the folder BUILD are taken as they stand."""
import collections
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAP = os.path.join(ROOT, "src/exports.map.in")
NODE = "\nISOTOME_PRIVATE {"
CUDA, MPI, NCCL = "libisotome_cuda.so", "libisotome_mpi.so", "libisotome_nccl.so"
PROGRAM, BENCH, BENCH_CUDA = "isotome", "isotome-bench", "libisotome_bench_cuda.so"
PARTS = [CUDA, MPI, NCCL, PROGRAM, BENCH, BENCH_CUDA]
MOST = {PROGRAM: 29, BENCH: 37}  # names of its inside


def nm(paths, *options):
    """(kind, name) of the symbols that other files see; names keep their version."""
    text = subprocess.run(["nm", "--format=posix", "-g", *options, *paths], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    lines = [line.split() for line in text.splitlines()]
    return [(line[1], line[0]) for line in lines if len(line) > 1 and not line[0].startswith("ISOTOME_")]


def declared():
    text = "".join(open(path).read() for path in sorted(glob.glob(ROOT + "/include/isotome/*.h")))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    while "{" in text:  # what is left has no function pointers of structs
        text, n = re.subn(r"\{[^{}]*\}", "", text)
        if not n:
            break
    return set(re.findall(r"\b(iso_\w+)\s*\(", text))


def needed(paths, library):
    """What these files use of the library's names."""
    return {name.split("@")[0] for kind, name in nm(paths, "-D") if kind == "U"} & library


def listed():
    """{name: why} of each part, by the comment that stands before its names."""
    sections, into = {part: {} for part in PARTS}, None
    for line in open(MAP).read().split(NODE)[1].splitlines():
        comment, name = re.match(r"\s*/\* for (.*) \*/", line), re.match(r"\s*(\w+);(?: /\* (.*) \*/)?", line)
        if comment:
            into = sections[comment.group(1)]
        elif name:
            into[name.group(1)] = name.group(2)
    return sections


def write(sections):
    text = open(MAP).read()
    lines = [NODE, "\tglobal:"]
    for title, names in sections.items():
        if names:
            lines += ["\t\t/* for %s */" % title]
            lines += ["\t\t%s;%s" % (name, " /* %s */" % why if why else "") for name, why in sorted(names.items())]
    open(MAP, "w").write(text[:text.index(NODE)] + "\n".join(lines) + "\n};\n")


def objects(build, target):
    """Those whose source is there: a file that was moved leaves its object behind."""
    root = re.search("CMAKE_HOME_DIRECTORY:INTERNAL=(.*)", open(build + "/CMakeCache.txt").read()).group(1)
    folder = "%s/CMakeFiles/%s.dir/" % (build, target)
    found = glob.glob(folder + "**/*.o", recursive=True)
    return [path for path in found if os.path.exists(os.path.join(root, path[len(folder):-len(".o")]))]


def users(build):
    """What each part uses of the library; None: the part was not built."""
    library = {name for kind, name in nm(objects(build, "isotome_objects")) if kind != "U"}
    files = {part: os.path.join(build, part) for part in PARTS}
    return {part: needed([path], library) if os.path.exists(path) else None for part, path in files.items()}


def anew(build):
    """The private names, each with the first part that uses it."""
    seen, sections, used, before = declared(), {}, users(build), listed()
    reasons = {name: why for names in before.values() for name, why in names.items()}
    for part in PARTS:
        names = set(before[part] if used[part] is None else used[part]) - seen
        sections[part] = {name: reasons.get(name) for name in names}
        seen |= names
    return sections


def too_many(used, public):
    """What a program takes is little, and each name has a reason."""
    for part, most in MOST.items():
        names = (used[part] or set()) - public
        if len(names) > most:
            yield "%s uses %d private names, at most %d: %s" % (part, len(names), most, " ".join(sorted(names)))


def wrong(build):
    public, private, used = declared(), listed(), users(build)
    shown = {name.split("@")[0]: name.split("@")[-1]
             for kind, name in nm([build + "/libisotome.so"], "-D", "--defined-only")}
    for name in sorted(public - {n for n, node in shown.items() if node == "ISOTOME_0"}):
        yield "%s is declared, but libisotome.so does not show it in node ISOTOME_0" % name
    for name in sorted(set(shown) - public - set().union(*private.values())):
        yield "%s is shown, but neither declared nor listed in src/exports.map.in" % name
    for part, names in used.items():
        for name in sorted((names or set()) - set(shown)):
            yield "%s is used by %s, but libisotome.so does not show it" % (name, part)
    for part, names in private.items():
        for name, why in names.items():
            if name in public:
                yield "%s is declared: no private name" % name
            elif used[part] is not None and name not in used[part]:
                yield "%s is listed for %s, which does not use it" % (name, part)
            elif part in MOST and not why:
                yield "%s is listed for %s without a reason" % (name, part)
    for name, times in collections.Counter(name for names in private.values() for name in names).items():
        if times > 1:
            yield "%s is listed twice" % name
    yield from too_many(used, public)


def main(arguments):
    build = arguments[-1]
    if arguments[0] == "--write":
        write(anew(build))
        return 0
    found = list(wrong(build))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
