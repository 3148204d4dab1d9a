# SPDX-License-Identifier: BSD-3-Clause
"""What mkdocs does besides for this site (hooks of mkdocs.yml).

Pages made of the C headers, of what the program says of itself and of the tables of keys, and files beside docs/ that pages link to (CONTRIBUTING.md, examples/) are added; links and
lists that read well in a repository are turned into what mkdocs wants; headings get the anchors that they have
there; the words of all pages are kept for the search, which needs no server.
"""

import html
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mkdocs.structure.files import File

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
import c_api  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
C_API = "c-api"
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
FENCE = re.compile(r"^ *(```|~~~)")
#: A link of Markdown, or the source of an image in HTML: what stands before, the target, its anchor.
LINK = re.compile(r'(\]\(|<img [^>]*?src=")(?!https?:|mailto:|#)([^)#"\s]+)(#[^)"\s]*)?')

made = tempfile.TemporaryDirectory()
words = []  # of the search: [address, title, text, words that the section answers to]
#: A comment in a page, behind a heading: words that users type for what stands there.
ANSWERS = re.compile(r"<!-- search: (.*?) -->")


def slug(text, separator="-"):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def c_pages():
    """{path in the site: text}"""
    return {f"{C_API}/{name}": text for name, text in c_api.pages(ROOT / "include").items()}


def make_pages():
    """Pages that scripts write, of the program that ISOTOME names, or of build/isotome."""
    program = os.environ.get("ISOTOME", ROOT / "build" / "isotome")
    subprocess.run([sys.executable, ROOT / "scripts" / "commands.py", program, Path(made.name, "commands")], check=True)
    with open(Path(made.name, "descriptions.md"), "w") as page:
        subprocess.run([sys.executable, ROOT / "scripts" / "keys.py"], stdout=page, check=True)


def spread(entry):
    """An entry of the navigation; a folder, `commands/`, stands for its pages."""
    (title, value), = entry.items()
    if isinstance(value, list):
        return {title: [spread(e) for e in value]}
    if not value.endswith("/"):
        return entry
    names = c_pages() if value == C_API + "/" else [f"{value}{p.name}" for p in Path(made.name, value).glob("*.md")]
    pages = sorted(name for name in names if not name.endswith("/index.md"))
    return {title: [{"All of them": value + "index.md"}] + [{Path(p).stem: p} for p in pages]}


def on_config(config):
    make_pages()
    config["nav"] = [spread(entry) for entry in config["nav"]]
    config["mdx_configs"].setdefault("toc", {})["slugify"] = slug
    return config


def add(files, config, path, folder):
    files.append(File(path, str(folder), config["site_dir"], config["use_directory_urls"]))


def on_files(files, config):
    for file in [f for f in files if f.src_path.startswith("api/")]:  # Doxygen's
        files.remove(file)
    for path, text in c_pages().items():
        place = Path(made.name, path)
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    for path in sorted(Path(made.name).rglob("*.md")):
        add(files, config, str(path.relative_to(made.name)), made.name)
    for name in BESIDE:
        add(files, config, name, ROOT)
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.is_file() and not {"__pycache__", "notebooks"} & set(path.parts):
            add(files, config, str(path.relative_to(ROOT)), ROOT)
    return files


def in_site(page, target):
    """A link as it stands in the repository, as seen from the page in the site: docs/ is the root there."""
    beside = page in BESIDE
    here = "." if beside else os.path.join("docs", os.path.dirname(page))
    place = os.path.normpath(os.path.join(here, target))
    return os.path.relpath(re.sub("^docs/", "", place), os.path.dirname(page) or ".")


def lists(lines):
    """What belongs to an item of a list is set in by 4 spaces, and a list has a blank line before it."""
    width, before, fenced = 0, "", False
    for line in lines:
        item = re.match(r"(- |\d+\. )", line)
        fenced ^= bool(FENCE.match(line))
        if fenced or FENCE.match(line):
            yield line if not width or not line.startswith(" ") else " " * 4 + line[width:]
        elif item:
            if before and not width and not re.match(r"(- |\d+\. )", before):
                yield ""
            width = len(item[0])
            yield line
        elif width and line.startswith(" " * width):
            yield " " * 4 + line[width:]
        else:
            if line.strip():
                width = 0
            yield line
        before = line


def on_page_markdown(markdown, page, config, files):
    name = page.file.src_path
    fenced, lines = False, []
    for line in markdown.split("\n"):
        fenced ^= bool(FENCE.match(line))
        if not fenced and not line.startswith("    "):
            line = LINK.sub(lambda m: m[1] + in_site(name, m[2]) + (m[3] or ""), line)
        lines.append(line)
    return "\n".join(lists(lines))


def text_of(piece):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", piece)).replace("\u00b6", " ").split())


def on_page_content(content, page, config, files):
    parts = re.split(r'<h[123] id="([^"]+)">(.*?)</h[123]>', content, flags=re.S)
    title = text_of(parts[2]) if len(parts) > 2 else page.title
    words.append([page.url, title, text_of(parts[0]), ""])
    for anchor, heading, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        name = text_of(heading)
        asked = ", ".join(ANSWERS.findall(body))
        words.append([f"{page.url}#{anchor}", name if name == title else f"{title}: {name}", text_of(body), asked])
    return content


def on_post_build(config):
    data = json.dumps([w for w in words if w[1] or w[2]], ensure_ascii=False).replace("</", "<\\/")
    Path(config["site_dir"], "words.js").write_text(f"const WORDS = {data};\n")
    for name in ("sitemap.xml", "sitemap.xml.gz"):  # of no use without an address, and dated
        Path(config["site_dir"], name).unlink(missing_ok=True)
    made.cleanup()
