#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The names that libisotome.so shows: the functions that include/isotome/*.h declare, in version node
ISOTOME_0, and what libisotome_cuda.so, libisotome_mpi.so, libisotome_nccl.so, the program isotome, and
isotome-bench with its CUDA half take of its inside, in ISOTOME_PRIVATE (src/exports.map.in). A name stands with
the first of these that uses it.

    exports.py BUILD            fails where a declared function is not shown, a name is shown that is
                                neither declared nor listed, or a listed one is used by nobody
    exports.py --write BUILD    lists anew what is used; then build again

Names of a library that is not in the folder BUILD are taken as they stand."""
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
PROGRAM, BENCH = "isotome", "isotome-bench"
PARTS = [CUDA, MPI, NCCL, PROGRAM, BENCH]


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
    """What these files use of the library's names: undefined in one of them, defined in none."""
    symbols = nm(paths)
    return ({name.split("@")[0] for kind, name in symbols if kind == "U"}
            - {name for kind, name in symbols if kind != "U"}) & library


def listed():
    """The private names, by the comment that stands before them."""
    sections, into = {part: [] for part in PARTS}, None
    for line in open(MAP).read().split(NODE)[1].splitlines():
        comment, name = re.match(r"\s*/\* for (.*) \*/", line), re.match(r"\s*(\w+);", line)
        if comment:
            into = sections[comment.group(1)]
        elif name:
            into.append(name.group(1))
    return sections


def write(sections):
    text = open(MAP).read()
    begin = text.index(NODE)
    lines = [NODE, "\tglobal:"]
    for title, names in sections.items():
        if not names:
            continue
        lines += ["\t\t/* for %s */" % title] + ["\t\t%s;" % name for name in sorted(names)]
    open(MAP, "w").write(text[:begin] + "\n".join(lines) + "\n};\n")


def objects(build, target):
    """Those whose source is there: a file that was moved leaves its object behind."""
    root = re.search("CMAKE_HOME_DIRECTORY:INTERNAL=(.*)", open(build + "/CMakeCache.txt").read()).group(1)
    folder = "%s/CMakeFiles/%s.dir/" % (build, target)
    found = glob.glob(folder + "**/*.o", recursive=True)
    return [path for path in found if os.path.exists(os.path.join(root, path[len(folder):-len(".o")]))]


def users(build):
    """What each part uses of the library; None: the part was not built."""
    program = [*objects(build, "isotome_program"), *objects(build, "isotome_commands")]
    bench = [*objects(build, "isotome-bench"), *objects(build, "isotome_bench")]
    files = {CUDA: [build + "/" + CUDA], MPI: [build + "/" + MPI], NCCL: [build + "/" + NCCL], PROGRAM: program,
             BENCH: [*bench, build + "/libisotome_bench_cuda.so"] if bench else []}
    library = {name for kind, name in nm(objects(build, "isotome_objects")) if kind != "U"}
    there = {part: [path for path in paths if os.path.exists(path)] for part, paths in files.items()}
    return {part: needed(paths, library) if paths else None for part, paths in there.items()}


def anew(build):
    """The private names, each with the first part that uses it."""
    seen, sections, used = declared(), {}, users(build)
    for part in PARTS:
        sections[part] = set(listed()[part] if used[part] is None else used[part]) - seen
        seen |= sections[part]
    return sections


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
        for name in names:
            if name in public:
                yield "%s is declared: no private name" % name
            elif used[part] is not None and name not in used[part]:
                yield "%s is listed for %s, which does not use it" % (name, part)
    for name, times in collections.Counter(sum(private.values(), [])).items():
        if times > 1:
            yield "%s is listed twice" % name


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
