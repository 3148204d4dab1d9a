#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the page of description files, their keys, from the tables in the source that read them. The site has it as
descriptions.md.

A table is a `struct conf_key` array (src/text/conf.h); what is said of a key is the comment above its row.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

HEAD = """# Description files

Made from the tables that read them by `scripts/keys.py`.

Scanners, phantoms and places of regions are described in YAML, or in JSON where the name ends in `.json`; a raw array has a `.raw.json` beside it. A file is at most 1 MiB, an unknown key is an error that names the nearest known one, and files that a description names lie beside it or in folders below. Lengths are mm. `isotome info FILE` says what was understood. Ready ones are in `examples/scanners`.
"""

#: Title, text, and the tables of a part: (file, function, table, heading; "" for none).
PARTS = [
    (
        "Scanners",
        "`kind` says which, `name` is what it is called in messages (default: the name of the file).",
        [
            ("src/scanner/cylinder.c", "read_cylinder", "keys", "kind: cylinder"),
            ("src/scanner/cylinder.c", "read_block", "keys", "block of a cylinder"),
            ("src/scanner/detectors.c", "read_detectors", "keys", "kind: detectors"),
            ("src/scanner/modules.c", "read_modules", "keys", "kind: modules"),
            ("src/scanner/modules.c", "read_ring", "keys", "one of rings of modules"),
            ("src/scanner/modules.c", "read_module", "keys", "module of modules"),
            ("src/scanner/modules.c", "read_pairs", "keys", "pairs of modules"),
            ("src/scanner/modules.c", "read_detector", "keys", "detector of modules or of a cylinder"),
            ("src/scanner/modules.c", "read_matter", "keys", "material, cover and gap of a detector"),
            ("src/scanner/panels.c", "read_panels", "keys", "kind: panels"),
            ("src/scanner/panels.c", "read_material", "keys", "material of panels"),
            ("src/scanner/panels.c", "read_energy", "keys", "energy of panels"),
            ("src/scanner/energy.c", "iso_scanner_read_energy", "keys", "energy of a cylinder or of detectors"),
            ("src/scanner/strips.c", "read_strips", "keys", "kind: strips"),
            ("src/scanner/barrel.c", "read_barrel", "keys", "kind: barrel"),
            ("src/scanner/barrel_strips.c", "read_group", "keys", "one of strips of a barrel"),
            ("src/scanner/barrel.c", "read_time", "keys", "time of a barrel"),
            ("src/scanner/transducers_read.c", "read_transducers", "keys", "kind: transducers"),
            ("src/scanner/transducers_read.c", "read_rings", "keys", "sphere of transducers"),
            ("src/scanner/tissue_read.c", "iso_tissue_read", "keys", "tissue of transducers"),
            ("src/scanner/scanner.c", "read_times", "tof_keys", "tof, of every kind"),
            ("src/scanner/scanner.c", "read_times", "time_keys", "time, of every kind"),
        ],
    ),
    (
        "Isotopes",
        "`isotome simulate --isotope FILE`: positrons and photons of a decay.",
        [
            ("src/physics/decay/isotope.c", "read_map", "keys", ""),
            ("src/physics/decay/isotope.c", "read_daughter", "keys", "daughter"),
            ("src/physics/decay/isotope.c", "read_later", "keys", "later"),
            ("src/physics/decay/isotope.c", "read_branch", "keys", "one of branches"),
        ],
    ),
    (
        "Materials of an object",
        "The table of `isotome simulate --materials`: a list with one entry for each label of the image. Label 0 is empty unless the table has it.",
        [("src/physics/transport/crystal_object.c", "read_label", "keys", "")],
    ),
    (
        "Phantoms",
        "`isotome phantom FILE`, and wherever the name of a phantom may stand.",
        [
            ("src/image/shapes_read.c", "iso_shapes_read", "keys", ""),
            ("src/image/shapes_read.c", "read_keys", "all", "a shape"),
            ("src/image/shapes_read.c", "read_grid", "keys", "grid"),
        ],
    ),
    (
        "Raw arrays: .raw.json",
        "Alone in the file, or under `array` in the record beside a file that Isotome wrote.",
        [("src/io/raw.c", "get_description", "keys", "")],
    ),
    (
        "Regions of the NEMA phantom",
        "`isotome measure nema` and `isotome report --spheres`, if the spheres are not those of the phantom itself.",
        [
            ("src/image/nema.c", "read_all", "keys", ""),
            ("src/image/nema.c", "read_sphere", "keys", "one of spheres"),
            ("src/image/nema.c", "read_background", "keys", "one of background"),
            ("src/image/nema.c", "read_lung", "keys", "lung"),
        ],
    ),
    (
        "Figures after NEMA",
        "`isotome nema`: runs of sensitivity, counting and accuracy, places of `quality --mouse`, and the numbers of `--standard`.",
        [
            ("src/commission/nema/nema_read.c", "read_series", "keys", ""),
            ("src/commission/nema/nema_read.c", "read_run", "keys", "one of runs"),
            ("src/commission/nema/nema_read.c", "read_empty", "keys", "background"),
            ("src/commission/nema/nema_read.c", "read_phantom", "keys", "phantom"),
            ("src/commission/nema/nema_read.c", "read_mouse", "keys", "places of --mouse"),
            ("src/commission/nema/nema_read.c", "read_uniform", "keys", "uniform"),
            ("src/commission/nema/nema_read.c", "read_places", "keys", "rods and cold"),
            ("src/commission/nema/nema_read.c", "read_rod", "keys", "one of rods"),
            ("src/commission/nema/nema_read.c", "read_chamber", "keys", "one of cold"),
            ("src/commission/nema/nema_read.c", "read_standard", "keys", "numbers of --standard"),
            ("src/commission/nema/nema_read.c", "read_counting", "keys", "counting"),
            ("src/commission/nema/nema_read.c", "read_resolution", "keys", "resolution"),
            ("src/commission/nema/nema_read.c", "read_accuracy", "keys", "accuracy"),
            ("src/commission/nema/nema_read.c", "read_mouse_quality", "keys", "mouse_quality"),
            ("src/commission/nema/nema_read.c", "read_point", "keys", "point"),
        ],
    ),
]

KINDS = {"CONF_REAL": "number", "CONF_INT": "whole number", "CONF_TEXT": "text", "CONF_BOOL": "true or false"}
LISTS = {"CONF_REALS": "numbers", "CONF_INTS": "whole numbers"}


# ---- the source ----


class Source:
    """A file of C, with what it and its headers call numbers."""

    def __init__(self, path):
        self.text = (ROOT / path).read_text()
        self.constants = {}
        for header in (ROOT / "src/scanner/scanner.h", ROOT / path):
            for name, value in re.findall(r"^#define (\w+) ([-\w.+]+)", header.read_text(), re.M):
                self.constants[name] = value
            for body in re.findall(r"^enum \{(.*?)\};", header.read_text(), re.M | re.S):
                for name, value in re.findall(r"(\w+) = ([-\w.+ <]+)", body):
                    self.constants[name] = value
        self.macros = {
            name: (arguments.split(", "), body)
            for name, arguments, body in re.findall(r"^#define (\w+)\(([\w, ]+)\) (\".*)$", self.text, re.M)
        }

    def number(self, text):
        """Of a bound; None: there is none."""
        text = self.constants.get(text, text).strip()
        sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
        text = self.constants.get(text, text)
        if text in ("DBL_MAX", "DBL_MIN", "INT32_MAX"):
            return {"DBL_MAX": None, "DBL_MIN": 0.0, "INT32_MAX": 2**31 - 1}[text]
        return sign * float(eval(text)) if re.fullmatch(r"[-\w.+ <]+", text) else None

    def function(self, name):
        """The text of a function."""
        found = re.search(rf"^(?:static )?int {name}\(.*?^}}", self.text, re.M | re.S)
        if not found:
            sys.exit(f"no function {name}: PARTS of scripts/keys.py names it")
        return found[0]

    def words(self, function, key):
        """That a key may hold; []: any."""
        for where in (function, self.text):
            found = re.search(rf'iso_conf_word\([^;]*?, "{key}", (\w+)\)', where)
            if found:
                array = re.search(rf"\*const {found[1]}\[\] = \{{(.*?)\}};", self.text, re.S)
                return re.findall(r'"([^"]+)"', array[1])
        return []

    def expand(self, row):
        """A row with the macros of the file put in."""
        for name, (arguments, body) in self.macros.items():
            found = re.search(rf"\b{name}\((.*)\)", row)
            if found:
                for a, v in zip(arguments, found[1].split(", ")):
                    body = re.sub(rf"\b{a}\b", v, body)
                row = row.replace(found[0], body)
        return row


def rows(source, function, table):
    """(comment, row) of a table in a function."""
    text = source.function(function)
    found = re.search(rf"\b{table}\[\] = \{{\n(.*?)\n\t\}};", text, re.S)
    body = found[1] if found else re.search(r"\(const struct conf_key\[\]\)\{(.*?)\}\)", text, re.S)[1]
    for comment, row in re.findall(
        r"(?:/\* ((?:(?!\*/).)*?)\.? \*/\s*)?(\{(?:[^{}]|\{[^{}]*\})*\})", body, re.S
    ):
        yield " ".join(comment.split()), source.expand(" ".join(row.split()))


def fields(row):
    """{name: text} of an initialiser, by place or by name."""
    places = ("name", "kind", "dst", "count", "min", "max", "required")
    got, place = {}, 0
    for part in re.split(r", (?![^(\[{]*[)\]}])", row.strip("{} ")):
        named = re.match(r"\.(\w+) = (.*)", part)
        if named:
            got[named[1]] = named[2]
        elif place < len(places):
            got[places[place]] = part
        place += 1
    return got


# ---- the page ----


def value(source, function, f, key):
    words = source.words(function, key)
    if words:
        return " or ".join(f"`{w}`" for w in words)
    kind = f.get("kind", "CONF_REAL")
    if kind in LISTS:
        count = f.get("count", "")
        return f"{count if count.isdigit() else 'a list of'} {LISTS[kind]}"
    if kind not in KINDS and kind != "CONF_NODE":
        return "number, or numbers"
    return KINDS.get(kind, "a map or list, below")


def shown(v):
    return f"{int(v)}" if v == int(v) and abs(v) < 1e5 else f"{v:g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def bounds(source, f):
    if f.get("kind") in ("CONF_TEXT", "CONF_NODE", "CONF_BOOL") or "min" not in f:
        return ""
    low, high = source.number(f["min"]), source.number(f["max"])
    if low is None and high is None:
        return ""
    if high is None:
        return "above 0" if low == 0 else f"from {low:g}"
    return f"{shown(low)} to {shown(high)}" if low != high else shown(low)


def types_of(source, mask):
    """Of the shapes' table: the types that have the key; "": all."""
    text = source.function("read_shape")
    names = re.findall(r'"(\w+)"', re.search(r"\bnames\[\] = \{(.*?)\}", text, re.S)[1])
    types = re.findall(r"SHAPE_\w+", re.search(r"\btype\[\] = \{(.*?)\}", text, re.S)[1])
    known = {name: k for k, name in enumerate(dict.fromkeys(types))} | {"OF": lambda k: 1 << k}
    for name, body in re.findall(r"^#define ([A-Z]+) (\(.*\))$", source.text, re.M):
        known[name] = eval(body, dict(known))
    has = [n for n, t in zip(names, types) if eval(mask, dict(known)) >> known[t] & 1]
    return "" if has == names else ", ".join(has)


def part(title, about, tables):
    yield f"## {title}\n"
    yield about + "\n"
    for path, function, table, heading in tables:
        source = Source(path)
        if heading:
            yield f"### {heading}\n"
        yield "| key | value | range | needed | |"
        yield "| --- | --- | --- | --- | --- |"
        for comment, row in rows(source, function, table):
            of = re.match(r"\{ (.*?), \{(.*)\} \}$", row)  # of the shapes' table
            f = fields(of[2] if of else row)
            named = re.search(r'"(\w+)"', f.get("name", ""))  # a condition may stand before it
            if not named:
                continue
            key = named[1]
            types = types_of(source, of[1]) if of else ""
            words = source.words(source.function(function), key)
            needed = {"true": "yes", "source": "of point and line"}.get(f.get("required", ""), "")
            if key == "type" and words:  # read by iso_conf_word, without a default
                needed = "yes"
            said = f"({types}) " * bool(types) + comment
            yield f"| `{key}` | {value(source, source.function(function), f, key)} | {bounds(source, f)} | {needed} | {said} |"
        yield ""


def page():
    yield HEAD
    for title, about, tables in PARTS:
        yield from part(title, about, tables)


def unlisted():
    """Tables of the source that no part has."""
    known = {(path, function) for _, _, tables in PARTS for path, function, _, _ in tables}
    for path in sorted((ROOT / "src").rglob("*.c")):
        text = path.read_text()
        for found in re.finditer(r"struct conf_key (?:\w+\[\] =|key;)|\(const struct conf_key\[\]\)", text):
            function = re.findall(r"^(?:static )?int (\w+)\(", text[: found.start()], re.M)[-1:]
            where = str(path.relative_to(ROOT))
            if function and (where, function[0]) not in known:
                yield f"{where}: the table in {function[0]} is in no part of scripts/keys.py"


def main():
    print("\n".join(page()).rstrip())
    for line in (missing := list(unlisted())):
        print(line, file=sys.stderr)
    sys.exit(1 if missing else 0)


main()
