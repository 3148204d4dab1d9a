#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The structure of the tree: no circle of includes, no flat folder, no name twice, no line too many.

    structure.py [--root DIR] [--checks a,b,...|all]

Prints a line for each finding and ends with 1 if there is one. Without --checks it makes all but
BY_HAND. Checks:

    files    files that include each other in a circle
    folders  folders whose files include each other's in a circle; a folder's own folders count apart
    layers   the same of the folders right under src, of papers and of bench
    order    algo and model include nothing of each other; cmd is included by cmd, papers and bench alone
    flat     more than 40 files in a folder
    names    two files of one name in src, papers and bench
    lines    src/cmd at 9,000 lines or more; src, papers and bench at 70,000 or more
"""
import argparse
import os
import re
import sys

CODE = (".c", ".h", ".cu", ".cuh")
ROOTS = ("src", "papers", "bench", "include")
MOST_FILES = 40
MOST_LINES = ((("src/cmd",), 9000), (("src", "papers", "bench"), 70000))
BY_HAND = ("lines",)  # a measure of the whole, not of each change
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.M)


def walk(root, *tops):
    """Every file under the folders tops of root, as a path from root; hidden and cached ones left out."""
    for top in tops:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if not f.startswith((".", "__")))
            for name in sorted(files):
                if not name.startswith("."):
                    yield os.path.relpath(os.path.join(folder, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def included(root):
    """Each code file -> the code files that it includes. The include path is that of CMakeLists.txt."""
    files = [f for f in walk(root, *ROOTS) if f.endswith(CODE)]
    known, graph = set(files), {}
    for file in files:
        graph[file] = set()
        for name in INCLUDE.findall(read(root, file)):
            places = (os.path.dirname(file), "", "src", "include")
            found = (os.path.normpath(os.path.join(p, name)) for p in places)
            graph[file].update(f for f in found if f in known and f != file)
    return graph


def gathered(graph, group):
    """The graph of the groups of files: group -> {other group: one include that leads there}."""
    result = {}
    for file, others in sorted(graph.items()):
        links = result.setdefault(group(file), {})
        for other in sorted(others):
            result.setdefault(group(other), {})
            if group(other) != group(file):
                links.setdefault(group(other), f"{file} includes {other}")
    return result


def knots(graph):
    """The sets of nodes of which each reaches each other (Tarjan), of two nodes or more."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(set(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def circle(graph, knot):
    """The shortest circle through the first node of a knot."""
    start = min(knot)
    before, queue = {start: None}, [start]
    for node in queue:
        for other in sorted(graph[node]):
            if other == start:
                way = [start]
                while node != start:
                    way.insert(1, node)
                    node = before[node]
                return way + [start]
            if other in knot and other not in before:
                before[other] = node
                queue.append(other)
    return []


def circles(graph, what):
    """One line for each knot, with a circle in it and an include for each step."""
    for knot in knots(graph):
        way = circle(graph, knot)
        steps = ""
        if isinstance(graph[way[0]], dict):
            steps = " (" + "; ".join(graph[a][b] for a, b in zip(way, way[1:])) + ")"
        rest = f"; {len(knot)} in all: {', '.join(sorted(knot))}" if len(knot) > len(way) - 1 else ""
        yield f"{what}: circle {' -> '.join(way)}{steps}{rest}"


def layer(file):
    """The first folder under src; else the first folder."""
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "src" and len(parts) > 2 else parts[0]


def check_files(root, graph):
    yield from circles(graph, "files")


def check_folders(root, graph):
    yield from circles(gathered(graph, os.path.dirname), "folders")


def check_layers(root, graph):
    yield from circles(gathered(graph, layer), "layers")


def check_order(root, graph):
    for file, others in sorted(graph.items()):
        for other in sorted(others):
            way = (layer(file), layer(other))
            if way in (("src/algo", "src/model"), ("src/model", "src/algo")):
                yield f"order: {file} includes {other}: algorithms and models know nothing of each other"
            if way[1] == "src/cmd" and way[0] not in ("src/cmd", "papers", "bench"):
                yield f"order: {file} includes {other}: only cmd, papers and bench may include cmd"


def check_flat(root, graph):
    count = {}
    for file in walk(root, "src", "papers", "bench", "tests", "scripts", "docs"):
        folder = os.path.dirname(file)
        if not folder.startswith("tests/data"):
            count[folder] = count.get(folder, 0) + 1
    for folder, n in sorted(count.items()):
        if n > MOST_FILES:
            yield f"flat: {folder} has {n} files, at most {MOST_FILES}"


def check_names(root, graph):
    places = {}
    for file in graph:
        if not file.startswith("include/"):
            places.setdefault(os.path.basename(file), []).append(file)
    for _, files in sorted(places.items()):
        if len(files) > 1:
            yield f"names: one name twice: {', '.join(sorted(files))}"


def check_lines(root, graph):
    for tops, most in MOST_LINES:
        n = sum(read(root, f).count("\n") for f in walk(root, *tops) if f.endswith(CODE))
        if n >= most:
            yield f"lines: {', '.join(tops)}: {n}, must be below {most}"


CHECKS = {name[len("check_"):]: f for name, f in list(globals().items()) if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    parser.add_argument("--checks", help="those to make, with commas between, or all")
    args = parser.parse_args()
    now = [n for n in CHECKS if n not in BY_HAND]
    names = list(CHECKS) if args.checks == "all" else args.checks.split(",") if args.checks else now
    unknown = [n for n in names if n not in CHECKS]
    if unknown:
        parser.error(f"no check {unknown[0]}; there are {', '.join(CHECKS)}")
    graph = included(args.root)
    findings = [line for name in names for line in CHECKS[name](args.root, graph)]
    for line in findings:
        print(line)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
