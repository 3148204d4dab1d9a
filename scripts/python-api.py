#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/python-api.md from the docstrings of the package: --write, or --check whether it is current.

`import isotome` must find the package, installed or by PYTHONPATH=python and ISOTOME_LIBRARY=build.
"""

import importlib
import inspect
import re
import sys
from pathlib import Path

import isotome

PAGE = Path(__file__).resolve().parents[1] / "docs" / "python-api.md"
HEAD = """# Python: reference

Made from the docstrings by `scripts/python-api.py --write`. [python.md](python.md) is the page to begin with.
"""
#: Modules in the order of the page; others follow by name.
ORDER = (
    "problem steps following live operator algorithms priors torch image files units drawing pages filters measure phantoms scanner "
    "simulation panel_simulation sound_simulation events eventfiles matrix transport transducers "
    "recordings grid context program errors"
).split()

#: What functions and attributes of `isotome` give, and users do not make by name: module -> classes.
GIVEN = {
    "following": ("Stream",),
    "operator": ("Adjoint", "Chain", "Sum", "Multiple"),
    "scanner": ("Strips", "Panels"),
    "system_matrix": ("MatrixInfo",),
    "drawing": ("PictureInfo",),
    "simulation": ("Simulated",),
    "tracking": ("Registered", "Tracked"),
    "errors": ("MemoryError", "IOError"),
}


#: Modules for other packages, which this page does not load: docs/howto/frameworks.md has them.
FRAMEWORKS = ("cil", "deepinv")


# ---- words ----


def signature(what, skip_self=False):
    """As it is written in the source, without the quotes of annotations."""
    text = str(inspect.signature(what))
    text = re.sub(r"(:|->) '([^']*)'", r"\1 \2", text)
    text = re.sub(r"<function .*?>|<class '(?:\w+\.)*(\w+)'>", r"\1", text)
    text = re.sub(r"\b(?:isotome\.\w+|typing|collections\.abc|numpy)\.", "", text)
    return re.sub(r"^\((?:self|cls)(?:, )?", "(", text) if skip_self else text


def escaped(line):
    """A line without Markdown of its own, outside `code`."""
    parts = re.split("(`[^`]*`)", line)
    return "".join(p if p.startswith("`") else re.sub(r"([*<])", r"\\\1", p) for p in parts)


def prose(docstring):
    """A docstring as Markdown: `name: what it is` become items, indented lines after a gap stay code."""
    lines = []
    for line in inspect.cleandoc(docstring or "").splitlines():
        code = line.startswith("    ") and lines and (not lines[-1] or lines[-1].startswith("    "))
        item = re.match(r"^(\w+(?:, \w+)*): ", line)
        if item and lines and lines[-1] and not re.match(r"^(- | )", lines[-1]):
            lines.append("")
        if item:
            lines.append(f"- **{item[1]}**: {escaped(line[item.end():])}")
        else:
            lines.append(line if code else escaped(line))
    return "\n".join(lines)


def one_line(text):
    return " ".join(text.split()).replace("|", "\\|")


# ---- models: from their tables of parameters ----


def parameters(model):
    """Rows (name, kind, unit, default, help) of a model."""
    table = isotome.Problem(model)._table
    return [(p.name, p.kind, p.unit, p.default, one_line(p.help)) for p in table.values()]


def rows(found):
    yield "| keyword | takes | default | |"
    yield "| --- | --- | --- | --- |"
    for name, kind, unit, default, text in found:
        takes = one_line(kind) + (f", {unit}" if unit else "")
        yield f"| `{name}` | {takes} | {one_line(default)} | {text} |"


def models():
    tables = {model: parameters(model) for model in isotome.models}
    common = [row for row in next(iter(tables.values())) if all(row in table for table in tables.values())]
    yield "## Models\n"
    yield "A function a model makes an `isotome.Problem`. Its keywords are the options of `isotome recon MODEL`"
    yield "with `_` in place of `-`; `context=` besides is the Context to compute with, and"
    yield "`like=` the record of an earlier run that sets what is not given. `isotome.models` has their names. Of every model:\n"
    yield from rows(common)
    for model, table in tables.items():
        first = next(iter(inspect.signature(getattr(isotome, model)).parameters))
        yield f"\n### isotome.{model}({first}, ...)\n"
        yield from rows([row for row in table if row not in common])
    yield ""


# ---- classes and functions ----


def members(kind):
    """Its public methods and properties, in the order of the source."""
    for name, value in vars(kind).items():
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        getter = getattr(value, "fget", None) or getattr(value, "func", None)  # of a property
        if name.startswith("_") or not (getter or inspect.isfunction(plain)):
            continue
        said = prose((getter or plain).__doc__)
        if said:
            called = "" if getter else signature(plain, True)
            yield f"`.{name}{called}`: " + said.replace("\n", "\n  ")


def fields(kind):
    """Of a NamedTuple, with the comments of the source."""
    source = inspect.getsource(kind)
    for field in kind._fields:
        said = re.search(rf"^    {field}: .*?(?:  # (.*))?$", source, re.M)
        yield f"- `.{field}`" + (f": {escaped(said[1])}" if said and said[1] else "")


def is_called(kind):
    """Whether users make one by calling it."""
    if issubclass(kind, (BaseException, tuple)) or not ({"__init__", "__new__"} & set(vars(kind))):
        return False
    return not re.search(r"\b_[A-Za-z]", signature(kind))


def heading(name, called):
    yield f"### isotome.{name}\n"
    if called:
        yield f"```python\nisotome.{name}{called}\n```\n"


def class_entry(name, kind):
    yield from heading(name, signature(kind) if is_called(kind) else "")
    if issubclass(kind, BaseException):
        bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
        yield f"{prose(kind.__doc__)} This class derives from {bases}.\n"
        return
    yield prose(kind.__doc__) + "\n"
    found = [*fields(kind)] if issubclass(kind, tuple) else []
    found += [f"- {text}" for text in members(kind)]
    if found:
        yield "\n".join(found) + "\n"


def entry(name, value):
    if inspect.isclass(value):
        yield from class_entry(name, value)
    else:
        yield from heading(name, signature(value))
        yield prose(value.__doc__) + "\n"


def public_of(module):
    """Names of a module that is used as one: isotome.measure.roi."""
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        if own and not name.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
            yield name, value


def sections():
    """Module name -> entries (name, value)."""
    found = {}
    for name in dict.fromkeys([*isotome.__all__, "open", *isotome._LATER]):
        if name in isotome.models or name == "models" or name in FRAMEWORKS:
            continue
        value = getattr(isotome, name)
        if inspect.ismodule(value):
            module = value.__name__.rpartition(".")[2]
            entries = [] if module == "errors" else [(f"{module}.{n}", v) for n, v in public_of(value)]
            found.setdefault(module, []).extend(entries)
        elif callable(value):
            found.setdefault(value.__module__.rpartition(".")[2], []).append((name, value))
    for module, names in GIVEN.items():
        source = importlib.import_module(f"isotome.{module}")
        found.setdefault(module, []).extend((f"{module}.{name}", getattr(source, name)) for name in names)
    order = {module: k for k, module in enumerate(ORDER)}
    return dict(sorted(found.items(), key=lambda item: (order.get(item[0], len(ORDER)), item[0])))


def page():
    yield HEAD
    yield from models()
    for module, entries in sections().items():
        if not entries:
            continue
        summary = inspect.cleandoc(importlib.import_module(f"isotome.{module}").__doc__).partition("\n")[0]
        title, _, rest = re.sub(r"[:.] ", "\n", summary.rstrip("."), count=1).partition("\n")
        yield f"## {title}\n"
        if rest:
            words = re.match("[a-z]+ [a-z]|[a-z]+,", rest)  # not a formula, nor a suffix
            yield escaped(rest[0].upper() + rest[1:] if words else rest) + ".\n"
        for name, value in entries:
            yield from entry(name, value)


def main():
    if sys.argv[1:] not in (["--write"], ["--check"]):
        sys.exit(f"usage: {sys.argv[0]} --write|--check")
    text = re.sub("\n{3,}", "\n\n", "\n".join(page())).strip() + "\n"
    if sys.argv[1] == "--write":
        PAGE.write_text(text)
    elif not PAGE.is_file() or PAGE.read_text() != text:
        sys.exit("docs/python-api.md is not of the docstrings: scripts/python-api.py --write")


main()
