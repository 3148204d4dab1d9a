# SPDX-License-Identifier: BSD-3-Clause
"""What every page must show in a browser, and what a page of hostile records must not."""
import re
from html.parser import HTMLParser

from hostile import HUGE, NAME, PAYLOADS

WIDTHS = (1280, 390)


class Wrong(AssertionError):
    """A check that did not hold."""


def must(holds, what):
    if not holds:
        raise Wrong(what)


class Addresses(HTMLParser):
    """What a page would load or lead to."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [v or "" for k, v in attrs
                       if k in ("src", "href", "srcset", "data", "action", "poster", "xlink:href")]


def stands_alone(path):
    """By its text: no address but data, whatever the browser would do with it."""
    text = open(path, encoding="utf-8").read()
    p = Addresses()
    p.feed(text)
    outside = [a for a in p.found if not a.startswith(("data:", "#"))]
    must(not outside, f"{path}: addresses {outside[:3]}")
    must("url(" not in text and "@import" not in text, f"{path}: its style loads something")


# Backgrounds and letters of the body, and the contrast of one with the other (WCAG 2).
CONTRAST = """(() => {
    const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(v => v / 255)
            .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b; };
    const s = getComputedStyle(document.body), a = light(s.color), b = light(s.backgroundColor);
    return { dark: b < a, contrast: (Math.max(a, b) + .05) / (Math.min(a, b) + .05) };
})()"""

# Elements that reach beyond the window, but for those inside of a part that scrolls by itself.
TOO_WIDE = """[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1
    && !e.closest('.scroll, svg, [hidden]')).map(e => e.outerHTML.slice(0, 80)).slice(0, 3)"""


# ---- rules of an open page: each takes where it is for the message, and whether it is dark ----

def has_title(page, where, dark):
    must(page.value("document.querySelectorAll('h1').length == 1 && document.body.innerText.length > 200"),
         f"{where}: no title, or no text")


def fits_the_window(page, where, dark):
    must(page.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth"),
         f"{where}: scrolls sideways: {page.value(TOO_WIDE)}")


def can_be_read(page, where, dark):
    colours = page.value(CONTRAST)
    must(colours["dark"] == dark and colours["contrast"] > 7, f"{where}: {colours}")


def shows_its_pictures(page, where, dark):
    unseen = page.value("[...document.images].filter(i => !i.complete || i.naturalWidth == 0).map(i => i.alt)")
    must(not unseen, f"{where}: pictures that do not show: {unseen[:3]}")


def asks_for_nothing(page, where, dark):
    asked = page.requests()
    must(not asked, f"{where}: asks for {asked[:3]}")


def is_quiet(page, where, dark):
    complaints = page.complaints()
    must(not complaints, f"{where}: {complaints[:3]}")


RULES = [has_title, fits_the_window, can_be_read, shows_its_pictures, asks_for_nothing, is_quiet]


def ready(page):
    """Once its script, where there is one, has drawn what it draws first."""
    page.value("window.isotome ? isotome.ready : 0")


def looks_right(page, path, width, dark, scripts=True):
    """Opened at a width, light or dark: quiet, readable, no wider than the window."""
    page.look(width=width, dark=dark, scripts=scripts)
    page.open(path)
    where = f"{path} at {width} px, {'dark' if dark else 'light'}{'' if scripts else ', without scripts'}"
    ready(page)
    for rule in RULES:
        rule(page, where, dark)


def prints(page, path):
    page.look()
    page.open(path)
    pdf = page.pdf()
    must(pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF"), f"{path}: no PDF")
    must(len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 1, f"{path}: a PDF without pages")


# All that can be read of a page, or be read out: texts, and values of attributes.
READABLE = """(() => {
    const copy = document.documentElement.cloneNode(true);
    copy.querySelectorAll('script, style, img').forEach(e => e.remove());
    return copy.textContent + [...copy.querySelectorAll('*')].flatMap(e => [...e.attributes].map(a => a.value)).join('\\n');
})()"""

# Names of elements and attributes that a page has.
MARKUP = """[...new Set([...document.querySelectorAll('*')].flatMap(e =>
    [e.localName, ...e.getAttributeNames().map(a => e.localName + ' ' + a)]))]"""


def markup(page, *paths):
    found = set()
    for path in paths:
        page.open(path)
        ready(page)
        found |= set(page.value(MARKUP))
    return found


def is_text(page, path, plain, shown):
    """Nothing of it runs, or becomes an element or attribute that is not in `plain`; `shown` can be read."""
    page.open(path)
    ready(page)
    must(page.value("typeof hostile") == "undefined", f"{path}: a script ran: {page.value('String(window.hostile)')}")
    more = set(page.value(MARKUP)) - plain
    must(not more, f"{path}: has become {sorted(more)[:5]}")
    must(page.value("document.querySelectorAll('#hostile, iframe, [onerror], [onload]').length") == 0,
         f"{path}: a record made an element")
    text = page.value(READABLE)
    for part in shown:
        must(part in text, f"{path}: lacks the text {part!r}")
    odd = set(re.findall("[\0-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text))
    must(not odd, f"{path}: characters that change how text is shown: {sorted(map(hex, map(ord, odd)))}")
    must(HUGE not in text or page.value("document.body.innerText.length") < 200000, f"{path}: a long text is shown whole")


TEXTS = [p for p in PAYLOADS if p.isascii() and p.isprintable()]
NAME_TEXT = NAME.replace("\u202e", "\ufffd")
