# SPDX-License-Identifier: BSD-3-Clause
"""Links of the documentation: links.py SOURCE SITE prints what is wrong, and ends with 1 if anything is.

- In the site every link leads to a file, and to an anchor where it names one; every page is in the list of pages, and
  every example in a page.
- Nothing of the site is fetched from elsewhere: pictures, scripts and styles are files of it, and no script or style
  names an address. Links that a reader may follow to other places are no requests.
- In the repository itself the links of all Markdown files lead to files, and to headings.
"""

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "video": "src", "audio": "src",
           "object": "data", "embed": "src"}
ADDRESS = re.compile(r"""https?:|["'(]//\w|@import|\bfetch\(|XMLHttpRequest|WebSocket|EventSource|\bimport\(""")


class Page(HTMLParser):
    """What a page has: ids, links, what it fetches, the links of its list of pages."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.fetched, self.listed, self.inline, self.in_nav = set(), [], [], set(), [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.in_nav += tag == "nav"
        if a.get("id"):
            if a["id"] in self.ids:
                self.inline.append(f"the id '{a['id']}' stands twice")
            self.ids.add(a["id"])
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
            if self.in_nav:
                self.listed.add(a["href"])
        if tag in FETCHED and a.get(FETCHED[tag]) and not a[FETCHED[tag]].startswith("data:"):
            self.fetched.append(a[FETCHED[tag]])
        for name, value in attributes:
            if name.startswith("on") or name == "srcset" or name == "style" and "url(" in (value or ""):
                self.inline.append(f"<{tag} {name}>")

    def handle_endtag(self, tag):
        self.in_nav -= tag == "nav"


def target(site, page, link):
    """(file of the site, anchor) of a link, or None if it leads out of the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = os.path.normpath(os.path.join(os.path.dirname(page), unquote(parts.path))) if parts.path else page
    return path, unquote(parts.fragment)


def of_page(site, pages, name):
    page = pages[name]
    for link in page.links:
        to = target(site, name, link)
        if to is None:
            if not re.match(r"(https?|mailto):", link):
                yield f"{name}: the link {link}"
        elif not (site / to[0]).is_file():
            yield f"{name}: {link} leads to no file"
        elif to[1] and (to[0] not in pages or to[1] not in pages[to[0]].ids):
            yield f"{name}: {link} leads to no anchor"
    for link in page.fetched:
        to = target(site, name, link)
        if to is None or not (site / to[0]).is_file():
            yield f"{name}: {link} is not a file of the site"
    for what in page.inline:
        yield f"{name}: {what}"


def of_site(source, site):
    pages = {str(p.relative_to(site)): Page(p.read_text()) for p in sorted(site.rglob("*.html"))}
    if len(pages) < 20:
        yield f"{len(pages)} pages are no site"
        return
    for name in pages:
        yield from of_page(site, pages, name)
    listed = {target(site, "index.html", link)[0] for link in pages["index.html"].listed}
    for name in pages.keys() - listed:
        yield f"{name} is not in the list of pages"
    linked = {to[0] for name in pages for to in [target(site, name, k) for k in pages[name].links] if to}
    for path in sorted((source / "examples").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and str(path.relative_to(source)) not in linked:
            yield f"no page links to {path.relative_to(source)}"
    for path in [*site.rglob("*.css"), *(p for p in site.rglob("*.js") if p.name != "words.js")]:
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if ADDRESS.search(line):
                yield f"{path.relative_to(site)}:{number} may ask elsewhere: {line.strip()[:80]}"


# ---- the repository ----


def slug(text):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.S | re.M))


def of_repository(source):
    files = [*source.glob("*.md"), *(source / "docs").rglob("*.md"), *(source / "python").glob("*.md")]
    for path in sorted(files):
        name = path.relative_to(source)
        for link in re.findall(r'\]\(([^)\s]+)\)|<img [^>]*?src="([^"]+)"', without_code(path.read_text())):
            parts = urlsplit(link[0] or link[1])
            if parts.scheme:
                continue
            to = (path.parent / parts.path).resolve() if parts.path else path
            if parts.path.endswith(".md") and "c-api/" in parts.path:
                continue  # made with the site
            if not to.exists():
                yield f"{name}: {parts.path} leads nowhere"
            elif parts.fragment and to.suffix == ".md":
                heads = re.findall(r"^#+ (.*)$", re.sub(r"^ *```.*?^ *```$", "", to.read_text(), flags=re.S | re.M), re.M)
                if parts.fragment not in map(slug, heads):
                    yield f"{name}: {parts.path}#{parts.fragment} leads to no heading"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: links.py SOURCE SITE")
    source, site = (Path(p).resolve() for p in sys.argv[1:])
    wrong = [*of_site(source, site), *of_repository(source)]
    print("\n".join(wrong) if wrong else "no broken link")
    sys.exit(bool(wrong))


main()
