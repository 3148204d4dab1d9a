#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The structure of the tree: an order of folders that holds, no circle, no flat folder, no name twice.

    structure.py [--root DIR] [--build DIR] [--checks a,b,...|all]

Prints a line for each finding and ends with 1 if there is one. Without --checks it makes all but
BY_HAND. Checks:

    files     files that include each other in a circle
    folders   folders whose files include each other's in a circle; a folder's own folders count apart
    order     a file includes its own layer and the layers that stand before it in ORDER; algo and
              model include nothing of each other
    symbols   the same of what is linked: objects in the folder --build use names that objects define
    apart     formats, models, the models' problems and the folders of cmd include nothing of each other
    optional  headers of optional libraries, and of folders of their names, are included in such folders
    docs      docs/architecture.md lists the layers as ORDER does
    drawn     that page draws every folder of src, and names files and functions that exist
    python    modules of python/isotome that import each other in a circle; imports within functions and
              for checkers of types count, names that __init__.py loads later (_LATER) do not
    flat      more than 40 files in a folder
    names     two files of one name in src, papers and bench
    lines     more lines of code in src than MOST_LINES
"""
import argparse
import ast
import os
import re
import subprocess
import sys

CODE = (".c", ".h", ".cu", ".cuh")
ROOTS = ("src", "papers", "bench", "include")

#: The layers. A file uses its own and those before it.
ORDER = (
    "include",
    "src/base",
    "src/core",
    "src/ranks",
    "src/data",
    "src/file",
    "src/text",
    "src/scanner",
    "src/dynamic",
    "src/kinetics",
    "src/tissue",
    "src/physics",
    "src/motion",
    "src/scatter",
    "src/image",
    "src/simulate",
    "src/io",
    "src/algo",
    "src/model",
    "src/stream",
    "src/commission",
    "src/unmix",
    "src/lifetime",
    "src/live",
    "src/problem",
    "src/report",
    "src/cmd",
    "bench",
    "papers",
)
#: Layers that know nothing of each other, wherever they stand.
STRANGERS = (("src/algo", "src/model"),)
#: Folders whose own folders know nothing of each other; but for these, which see all or are seen by all.
APART = {"src/io": (), "src/model": (), "src/problem": ("check", "record"), "src/cmd": ()}
#: Headers of optional libraries -> the folder, of any layer, that may include them.
OPTIONAL = {
    "expat.h": "expat",
    "hdf5.h": "hdf5",
    "lz4.h": "lz4",
    "lzma.h": "lzma",
    "microhttpd.h": "microhttpd",
    "matio.h": "matio",
    "mpi.h": "ranks",
    "nccl.h": "ranks",
    "xraylib.h": "xraylib",
    "zstd.h": "zstd",
}
MOST_FILES = 40
MOST_LINES = 200000
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


def wrong_way(user, used):
    """Why a file of one layer may not use a file of another; None: it may."""
    way = (layer(user), layer(used))
    for name in way:
        if name not in ORDER:
            return f"{name} is not in the order"
    if way in STRANGERS or way[::-1] in STRANGERS:
        return f"{way[0]} and {way[1]} know nothing of each other"
    if ORDER.index(way[1]) > ORDER.index(way[0]):
        return f"{way[1]} stands after {way[0]} in the order"
    return None


def check_files(args, graph):
    yield from circles(graph, "files")


def check_folders(args, graph):
    yield from circles(gathered(graph, os.path.dirname), "folders")


def check_order(args, graph):
    for file, others in sorted(graph.items()):
        for other in sorted(others):
            why = wrong_way(file, other)
            if why:
                yield f"order: {file} includes {other}: {why}"


def objects(args):
    """Each object in the build folder whose source is there -> that source."""
    found = {}
    for folder, _, files in os.walk(args.build):
        for name in files:
            source = re.sub(r"^.*?\.dir/", "", os.path.join(folder, name))[: -len(".o")]
            if name.endswith(".o") and source.split("/")[0] in ROOTS and os.path.isfile(os.path.join(args.root, source)):
                found[os.path.join(folder, name)] = source
    return found


def check_symbols(args, graph):
    if not args.build:
        return
    sources, defined, used = objects(args), {}, {}
    if not sources:
        yield f"symbols: no objects in {args.build}"
        return
    listed = subprocess.run(["nm", "-A", "-g", "-P", *sorted(sources)], capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines():
        place, rest = line.split(": ", 1)
        name, kind = rest.split()[:2]
        users = used if kind == "U" else defined if kind in "BCDRT" else {}
        users.setdefault(name, set()).add(sources[place])
    for name, users in sorted(used.items()):
        for user in sorted(users):
            others = sorted(defined.get(name, ()))  # several, where programs have each its own
            why = [wrong_way(user, other) for other in others]
            if others and all(why):
                yield f"symbols: {user} uses {name} of {others[0]}: {why[0]}"


def check_apart(args, graph):
    for file, others in sorted(graph.items()):
        for other in sorted(others):
            for top, free in APART.items():
                if not (file.startswith(top + "/") and other.startswith(top + "/")):
                    continue
                a, b = (f[len(top) + 1 :].split("/") for f in (file, other))
                if len(a) > 1 and len(b) > 1 and a[0] != b[0] and not {a[0], b[0]} & set(free):
                    yield f"apart: {file} includes {other}: the folders of {top} know nothing of each other"


def check_optional(args, graph):
    for file, others in sorted(graph.items()):
        folders = os.path.dirname(file).split("/")
        named = {n: OPTIONAL[n] for n in INCLUDE.findall(read(args.root, file)) if n in OPTIONAL}
        for other in others:
            named.update({other: f for f in os.path.dirname(other).split("/") if f in OPTIONAL.values() and f != "ranks"})
        for name, folder in sorted(named.items()):
            if folder not in folders:
                yield f"optional: {file} includes {name}: only folders named {folder} may"


def check_docs(args, graph):
    page = "docs/architecture.md"
    if not os.path.isfile(os.path.join(args.root, page)):
        return
    section = read(args.root, page).split("\n## Layers\n")[-1].split("\n## ")[0]
    lines = [line.split() for line in section.splitlines() if re.match(r"    \w+/", line)]
    listed = [w.rstrip("/") for words in lines for w in words if w.endswith("/") and w.rstrip("/") in ORDER]
    wanted = list(ORDER[1:])
    if listed != wanted:
        yield f"docs: {page} lists the layers as {', '.join(listed)}; the order is {', '.join(wanted)}"


def check_drawn(args, graph):
    page = "docs/architecture.md"
    if not os.path.isfile(os.path.join(args.root, page)):
        return
    text = read(args.root, page)
    files = list(walk(args.root, *ROOTS, "python", "tests", "scripts", "docs", "cmake", "examples"))
    drawn = set(re.findall(r"^    (src/\S+)/ ", text, re.M))
    folders = {"/".join(f.split("/")[:k]) for f in files if f.startswith("src/") for k in range(2, f.count("/") + 1)}
    yield from (f"drawn: {page} does not draw {f}" for f in sorted(folders - drawn))
    yield from (f"drawn: {page} draws {f}, which does not exist" for f in sorted(drawn - folders))
    code = "\n".join(read(args.root, f) for f in files if f.endswith((*CODE, ".py")))
    for span in sorted(set(re.findall(r"`([^`\n]+)`", text))):  # X stands for any word
        for name in re.findall(r"[\w./-]+\.(?:cuh?|c|h|py|sh|md|cmake|html|csv)\b", span):
            if "X" not in name and not any(f"/{f}".endswith(f"/{name}") for f in files):
                yield f"drawn: {page} names {name}, which does not exist"
        for name in re.findall(r"(?<![\w./-])[a-z]\w*_\w+\b(?![./-])", span):
            if not re.search(rf"\b{name}\b", code):
                yield f"drawn: {page} names {name}, which no code has"


def imported(root, package="python/isotome"):
    """Each module of the package -> {module that it imports: where}."""
    folder = os.path.join(root, package)
    names = sorted(n[:-3] for n in os.listdir(folder) if n.endswith(".py")) if os.path.isdir(folder) else []
    graph = {name: {} for name in names}
    for name in names:
        for node in ast.walk(ast.parse(read(root, f"{package}/{name}.py"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                own = [(node.module or "").split(".")[0]] if node.module else [a.name for a in node.names]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("isotome"):
                own = node.module.split(".")[1:2] or [a.name for a in node.names]
            elif isinstance(node, ast.Import):
                own = [a.name.split(".")[1] for a in node.names if a.name.startswith("isotome.")]
            else:
                continue
            for other in own:
                if other in graph and other != name:
                    graph[name].setdefault(other, f"{name}.py:{node.lineno}")
    return graph


def check_python(args, graph):
    yield from circles(imported(args.root), "python")


def check_flat(args, graph):
    count = {}
    for file in walk(args.root, "src", "papers", "bench", "tests", "scripts", "docs"):
        folder = os.path.dirname(file)
        if not folder.startswith("tests/data"):
            count[folder] = count.get(folder, 0) + 1
    for folder, n in sorted(count.items()):
        if n > MOST_FILES:
            yield f"flat: {folder} has {n} files, at most {MOST_FILES}"


def check_names(args, graph):
    places = {}
    for file in graph:
        if not file.startswith("include/"):
            places.setdefault(os.path.basename(file), []).append(file)
    for _, files in sorted(places.items()):
        if len(files) > 1:
            yield f"names: one name twice: {', '.join(sorted(files))}"


def check_lines(args, graph):
    n = sum(read(args.root, f).count("\n") for f in walk(args.root, "src") if f.endswith(CODE))
    if n > MOST_LINES:
        yield f"lines: src has {n} lines of code, at most {MOST_LINES}"


CHECKS = {name[len("check_"):]: f for name, f in list(globals().items()) if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    parser.add_argument("--build", help="a folder in which all was built: its objects are looked at too")
    parser.add_argument("--checks", help="those to make, with commas between, or all")
    args = parser.parse_args()
    now = [n for n in CHECKS if n not in BY_HAND]
    names = list(CHECKS) if args.checks == "all" else args.checks.split(",") if args.checks else now
    unknown = [n for n in names if n not in CHECKS]
    if unknown:
        parser.error(f"no check {unknown[0]}; there are {', '.join(CHECKS)}")
    graph = included(args.root)
    findings = [line for name in names for line in CHECKS[name](args, graph)]
    for line in findings:
        print(line)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
