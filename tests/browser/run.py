# SPDX-License-Identifier: BSD-3-Clause
"""All checks of pages, in one browser.

    run.py CHROMIUM FOLDER      FOLDER has the pages that browser.sh makes
"""
import os
import sys
import time

import pages
import viewer_input
import viewer_values
from devtools import Browser, Failed

FULL = os.environ.get("ISO_TEST_FULL") == "1"
PAGES = ["two.html", "one.html", "spheres.html", "hostile.html", "over.html", "series.html"]
DAMAGED = [f"damaged-{kind}.html" for kind in ("nul", "surrogate", "bytes", "deep")]


def looks(i):
    """Width and darkness of what is opened: in full every pair, as a sample two of them in turn."""
    return [(w, d) for w in pages.WIDTHS for d in (False, True)] if FULL else [((1280, False), (390, True))[i % 2]]


def every_page_stands_alone(page):
    for path in PAGES + DAMAGED + ["names.html"]:
        pages.stands_alone(path)


def every_look(page):
    sample = ["two.html", "hostile.html", "over.html", "two.html", "names.html", "over.html"]
    for i, path in enumerate([*PAGES, "names.html", *DAMAGED] if FULL else sample):
        for width, dark in looks(i):
            pages.looks_right(page, path, width, dark)


def without_scripts(page):
    for i, path in enumerate(PAGES if FULL else ["two.html", "over.html"]):
        for width, dark in looks(i):
            pages.looks_right(page, path, width, dark, scripts=False)


def on_paper(page):
    for path in PAGES if FULL else ["two.html"]:
        pages.prints(page, path)


def records_are_text(page):
    page.look()
    plain = pages.markup(page, "plain.html", "two.html")
    pages.is_text(page, "hostile.html", plain, pages.TEXTS)
    pages.is_text(page, "names.html", plain, [pages.NAME_TEXT])
    for path in DAMAGED if FULL else DAMAGED[1::2]:
        pages.is_text(page, path, plain, ["nothing of it is shown"])


def notes_are_folded(page):
    """Closed at first, opened by a key, and open on paper."""
    shown = "document.querySelector('.notes li').checkVisibility()"
    page.look()
    page.open("plain.html")
    pages.must(not page.value(shown), "notes are open at first")
    page.value("document.querySelector('.notes summary').focus()")
    page.key("Enter")
    pages.must(page.value(shown), "notes do not open by Enter")
    page.open("plain.html")
    page.call("Emulation.setEmulatedMedia", media="print")
    pages.must(page.value(shown), "notes are not printed")


# Breaks every rule.
BAD = """<!doctype html><title>x</title><h1>x</h1><style>body { background: #777; color: #888; }</style>
<img alt='gone' src='http://localhost/x.png'><div style='width: 2000px'>wide \u202e</div>
<iframe id='hostile'></iframe><script>hostile = 1; nowhere()</script>"""


def checks_can_fail(page):
    """A page that is wrong in all ways is refused by each check."""
    with open("bad.html", "w", encoding="utf-8") as f:
        f.write(BAD)
    refused("addresses", pages.stands_alone, "bad.html")
    page.look()
    page.open("bad.html")
    for rule in pages.RULES:
        refused(rule.__name__, rule, page, "bad.html", False)
    refused("a script ran", pages.is_text, page, "bad.html", set(), [])


def refused(what, check, *arguments):
    try:
        check(*arguments)
    except pages.Wrong:
        return
    raise pages.Wrong(f"nothing was said of a bad page: {what}")


def viewer_checks():
    """Each at every look; as a sample each at one of the looks, in turn."""
    for i, check in enumerate(viewer_values.CHECKS + viewer_input.CHECKS):
        for width, dark in looks(i):
            def one(page, check=check, width=width, dark=dark):
                check(page, width=width, dark=dark)
                pages.is_quiet(page, check.__name__, dark)
                pages.asks_for_nothing(page, check.__name__, dark)
            one.__name__ = f"{check.__name__} at {width} px, {'dark' if dark else 'light'}"
            yield one


CHECKS = [checks_can_fail, every_page_stands_alone, every_look, without_scripts, on_paper, notes_are_folded, records_are_text]


def main():
    program, folder = sys.argv[1:]
    os.chdir(folder)
    failed = 0
    with Browser(program, os.getcwd()) as browser:
        page = browser.page()
        for check in [*CHECKS, *viewer_checks()]:
            begin = time.monotonic()
            try:
                check(page)
                word = "passed"
            except (pages.Wrong, Failed) as e:
                word, failed = f"FAILED: {e}", failed + 1
            print(f"{time.monotonic() - begin:6.1f} s  {check.__name__}: {word}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
