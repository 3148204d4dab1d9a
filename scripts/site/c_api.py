# SPDX-License-Identifier: BSD-3-Clause
"""The C interface as Markdown: pages(folder of the headers) -> {name of a page: its text}.

A header is a page. Its first comment opens the page; a comment like `/* ---- words ---- */` is a section; declarations
up to the next blank line are an entry, with the comment before them as its text.
"""

import re
from pathlib import Path

LEFT_OUT = re.compile(r"^(#ifndef ISOTOME|#define ISOTOME\w*_H$|#include|#endif$|ISO_(BEGIN|END)_C$)")


def chunks(text):
    """Parts between blank lines that are in no comment and in no braces."""
    part, depth, comment = [], 0, False
    for line in text.split("\n"):
        if not line.strip() and not comment and depth == 0:
            if part:
                yield "\n".join(part)
            part = []
            continue
        if LEFT_OUT.match(line) and not comment and depth == 0:
            continue
        part.append(line)
        code = re.sub(r'/\*.*?\*/|"[^"]*"', "", line)
        if comment and "*/" in code:
            comment, code = False, code.split("*/", 1)[1]
        if not comment:
            code, opened, _ = code.partition("/*")
            comment = bool(opened)
            depth += code.count("{") - code.count("}")
    if part:
        yield "\n".join(part)


def split(chunk):
    """The comment at the beginning of a chunk, without its marks, and the code behind it."""
    found = re.match(r"/\*(.*?)\*/[ \t]*\n?", chunk, re.S)
    if not found:
        return "", chunk
    return found[1].strip(), chunk[found.end():].strip("\n")


def escaped(line):
    """A line without Markdown of its own, outside `code`."""
    pieces = re.split("(`[^`]*`)", line)
    return "".join(p if p.startswith("`") else re.sub(r"([*_<|\[\]])", r"\\\1", p) for p in pieces)


def prose(comment):
    """Lines of a comment as Markdown: those set in by a tab, or by more than the others, are code."""
    lines = []
    for line in comment.split("\n"):
        code = line.startswith("\t") or re.match(r" {5,}\S", line) and not (lines and re.match(r"- |  ", lines[-1]))
        text = line.strip()
        if code:
            lines.append("    " + text)
        elif text.startswith("- "):
            lines.extend([""] * bool(lines and not lines[-1].startswith(("- ", "  "))) + ["- " + escaped(text[2:])])
        elif lines and lines[-1].startswith(("- ", "  ")) and text and not lines[-1].startswith("    "):
            lines.append("  " + escaped(text))
        else:
            lines.append(escaped(text))
    return "\n".join(lines)


def title(code):
    """What an entry declares: the first function, struct, enum, type or macro of it."""
    for pattern, form in (
        (r"^(?:struct|enum) (\w+) \{", "{0}"),
        (r"^(?:ISO_CHECKED )?[a-z][\w \t*]*?\b(iso_\w+)\(", "{0}"),
        (r"^typedef .*?\b(iso_\w+)(?:\[|;|\))", "{0}"),
        (r"^#\s*define (\w+)", "{0}"),
        (r"^extern .*?\b(iso_\w+)", "{0}"),
        (r"^(?:struct|enum) (\w+);", "{0}"),
    ):
        found = re.search(pattern, code, re.M)
        if found:
            kind = re.match(r"(struct|enum) ", found[0])
            return (kind[0] if kind else "") + form.format(found[1])
    return ""


def entry(comment, code):
    named = title(code)
    if named:
        yield f"### {named}\n"
    if comment:
        yield prose(comment) + "\n"
    yield f"```c\n{code.expandtabs(4)}\n```\n"


def page(name, text):
    """Of a header: the text behind its licence line."""
    first, *rest = chunks(text.split("\n", 1)[1])
    comment, code = split(first)
    yield f"# isotome/{name}\n"
    yield "Made from the header, `include/isotome/" + name + "`.\n"
    yield prose(comment) + "\n"
    for chunk in ([code] if code.strip() else []) + rest:
        comment, code = split(chunk)
        section = re.fullmatch(r"-+ (.*?) -+", comment, re.S)
        if section:
            yield f"## {section[1][:1].upper()}{section[1][1:]}\n"
            comment = ""
        if code.strip():
            yield from entry(comment, code)
        elif comment and not section:
            yield prose(comment) + "\n"


def index(folder, names):
    comment, _ = split(next(chunks((folder / "isotome.h").read_text().split("\n", 1)[1])))
    yield "# C interface\n"
    yield prose(comment) + "\n"
    yield "[abi.md](../abi.md) says what stays as it is from version to version; `examples/c` has whole programs.\n"
    yield "| header | |\n| --- | --- |"
    for name in names:
        about, _ = split(next(chunks((folder / "isotome" / name).read_text().split("\n", 1)[1])))
        sentence = re.split(r"(?<=\.)\s", " ".join(about.split()) + " ", maxsplit=1)[0]
        yield f"| [{name}]({name[:-2]}.md) | {escaped(sentence)} |"


def pages(folder):
    folder = Path(folder)
    names = sorted(path.name for path in (folder / "isotome").glob("*.h"))
    made = {"index.md": index(folder, names)}
    made.update({f"{n[:-2]}.md": page(n, (folder / "isotome" / n).read_text()) for n in names})
    return {name: "\n".join(lines).rstrip() + "\n" for name, lines in made.items()}
