#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds turns of phrase that readers stumble over in README.md, docs/, the help texts and the public headers.

    plain-words.py [PROGRAM] [--root DIR]     check everything; PROGRAM adds the help of each of its commands
    plain-words.py --readme                   check the length of README.md
    plain-words.py --list                     print the banned turns
    plain-words.py --self-test                check this script: each turn is caught, good sentences pass

Prints file, line, sentence and what to write instead, and ends with 1 if there is a finding. A page in ALLOWED is not
rewritten yet: it may have as many findings as its number says, and not one more.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_WORDS_README = 700
MOST_WORDS_SENTENCE = 45

#: The banned turns. (name, expression, why, what to write instead, a sentence that has the turn).
#: Expressions see one sentence without its code (`...` is CODE), and ignore case.
TURNS = (
    ("of-first", r"^of (?!course\b)[^,]{1,60},", "the subject comes too late",
     "begin with the subject: 'The record has ...'", "Of a name with several parts, the last counts."),
    ("of-clause", r"[;:] of (?!course\b)\w+", "a clause that begins with 'of' has no subject",
     "name the case: 'For panels, ...'", "The picture shows crystals; of panels the heads."),
    ("two-colons", r":\s[^;]*:(\s|$)", "two colons in one sentence", "two sentences, or a list",
     "There are two ways: the first: by hand."),
    ("found", r"\bwhere (it|they) (is|are|was|were) found\b", "says neither who finds nor what happens otherwise",
     "'if the library is installed'", "HDF5, where it is found, reads IPASC files."),
    ("what-is-there", r"\b(what is there|what there is|that there are|(that|which) (is|are) there)\b",
     "names nothing", "name the thing: 'the existing files'", "The run continues what is there."),
    ("not-there", r"\b(is|are|was|were) not there\b", "names no place",
     "'is missing', 'does not exist'", "The folder is made if it is not there."),
    ("where-if", r"\bwhere ((it|they) (is|are|was|were|has|have|does|do|did|can|can't|holds?|fails?|brings?)|there (is|are)|none|neither|nothing|nobody|that is so)\b",
     "'where' stands for 'if'", "'if ...'", "The duration is 0 where nobody knows it."),
    ("those-that", r"\b(those|that) (that|which|of which|whose)\b", "the reader must look up what 'those' are",
     "repeat the noun: 'the penalties that ...'", "Penalty i of those that follow."),
    ("of-which", r",? of which (the|a|up|all|some|each|nine|two|three|only|it|they)\b", "a clause inside a clause",
     "a sentence of its own", "Rows of which the last value is a time are events."),
    ("first-it", r"^(it|they|those|them)\b", "no noun stands before it in this paragraph, row or item",
     "name the thing", None),
    ("comes-again", r"\bcomes? again counts?\b|\bcounts? as (it|they) comes?\b", "reads as a riddle",
     "'If a key appears twice, the last value is used.'", "A key that comes again counts as it comes last."),
    ("holds-from", r"\bholds? from\b", "a limit does not hold from somewhere", "'covers ...'",
     "The limit holds from the first input on."),
    ("besides", r"\bbesides([.;:,)]|$)", "an adverb that ends a clause reads as unfinished", "'also'",
     "Ranks need another option besides."),
    ("need-be", r"\bneed be (said|given|told)\b", "old-fashioned", "'You need no other option.'",
     "Nothing else need be said."),
    ("what-else", r"\b(what|whatever) else\b", "names nothing", "name the thing: 'anything else'",
     "What else does not fit is refused."),
    ("is-told", r"\b(is|are|was|were) told\b", "says not who tells whom", "'Isotome prints ...', 'A warning says ...'",
     "The radius is told in a warning."),
    ("is-a-warning", r"\b(is|are|becomes?) a warning\b", "a value is not a warning", "'Isotome warns if ...'",
     "Values above 2000 are a warning."),
    ("so-many", r"\bso (many|much) (a|of|of them|at|seconds|events|times|iterations|voxels|decays|elements)\b",
     "'so many' without 'that'", "'this many'", "Keep so many a column."),
    ("ones-own", r"\bof (one's own|yours|our own)\b", "stilted", "'your own', 'Isotome's own'",
     "A scanner of one's own must have as many crystals."),
    ("unless-said", r"\bunless (said|told)\b", "says not who says it", "'The default is ...'",
     "It is cut at 3 sigma unless said otherwise."),
    ("being", r", (\w+|CODE) being (its|the|a|an|in|of)\b", "a clause without a verb", "'..., where X is its ...'",
     "It reads NAME.hscan, NAME being the scanner's."),
    ("participle-first", r"^(read|written|taken|kept|told|given|counted|used|accepted|needed) (is|are)\b",
     "the subject comes last", "'Isotome reads ...'", "Read are columns of numbers."),
    ("held-against", r"\bheld against\b", "unclear", "'compared with'", "The image was held against the truth."),
    ("but-for", r"\bbut for\b", "old-fashioned", "'except'", "All are refused, but for spectra."),
    ("anew", r"\banew\b", "old-fashioned", "'again'", "The image is written anew."),
    ("wants", r"\bwants? (a|an|the|to be|more|CODE)\b", "programs do not want", "'needs'", "The full scale wants a GPU."),
    ("gone-on", r"\bgone on\b", "unclear", "'continued'", "A killed run can be gone on from."),
    ("are-of", r"\b(is|are) of (the|a|an|its|these|those|that|this|all|one|his)\b",
     "'to be of' hides the verb", "'comes from', 'belongs to', 'shows'", "The pictures are of one scan."),
    ("by-then", r"\b(by now|by then|the while)\b", "unclear", "name the moment", "It ends with what was read by then."),
)

#: Faults of the shape of a sentence that no expression sees.
LONG = ("long", f"more than {MOST_WORDS_SENTENCE} words in a sentence", "one idea a sentence; a list or a table")
NO_SUBJECT = ("no-subject", "a paragraph behind a block of code that begins in the middle of a sentence",
              "begin with the subject: 'This command prints ...'")

#: Pages that are not rewritten yet -> the findings that they may have.
ALLOWED = {
    "docs/python-api.md": 55,
    "docs/validation.md": 15,
}

GOOD = (
    "If a key appears twice, the last value is used.",
    "Isotome streams the events from disk if they do not fit in memory.",
    "There are two ways: in the model, and before it.",
    "Kernel eq7: second order in the angle; tan: in its tangent; gauss: a plain Gaussian.",
    "Of course you can stop a run.",
    "The table says what each option does. It has four columns.",
    "It costs nothing, because CODE is short.",  # as the second sentence of a paragraph
)


# ---- from files to sentences: (line, sentence, whether it begins a block, the block before it was code) ----


def bare(text):
    """Text of Markdown without code, links, pictures and tags."""
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "CODE", text)
    text = re.sub(r"<!--.*?-->|</?[A-Za-z][^>]*>", "", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"https?://\S+", "CODE", text)
    return text.replace("**", "").replace("\\", "")


def split(text):
    """Sentences of a text; "e.g." and "..." end none."""
    text = re.sub(r"\b(e\.g|i\.e|eq|Eq|et al|vs|cf|Fig|Sec|No|approx)\.", lambda m: m[0].replace(".", "\0"), text)
    parts = re.split(r"(?<=[.!?])(?<!\.\.)\s+|(?<=[.!?][)'\"])\s+(?=[A-Z])", text)
    return [" ".join(p.replace("\0", ".").split()) for p in parts if p.strip()]


def sentences(line, text, after_code=False):
    for k, sentence in enumerate(split(bare(text))):
        yield line, sentence, k == 0, after_code and k == 0


def blocks(text):
    """(line, text, whether a fenced block stands right before) of paragraphs, items and cells of a page."""
    found, lines, start, fence, listed, after = [], [], 0, None, False, False

    def end():
        nonlocal lines, after
        if lines:
            found.append((start, " ".join(lines), after))
            lines, after = [], False

    for number, line in enumerate(text.split("\n"), 1):
        mark = line.strip()
        if fence:
            if mark == fence:
                fence, after = None, True
        elif mark.startswith("```"):
            end()
            fence = "```"
        elif not mark or mark.startswith("<!--") or set(mark) <= set("|-: "):
            end()
        elif mark.startswith("|"):
            end()
            found += [(number, cell, False) for cell in re.split(r"(?<!\\)\|", mark.strip("|"))]
        elif mark.startswith("#"):
            end()
            listed = after = False
        elif re.match(r"([-*]|\d+\.) ", mark):
            end()
            listed, start, lines = True, number, [re.sub(r"^([-*]|\d+\.) ", "", mark)]
        elif line.startswith("    ") and not lines and not listed:
            after = False  # a formula or output, set in by four blanks
        else:
            listed = listed and (bool(lines) or line.startswith(" "))
            if not lines:
                start = number
            lines.append(mark)
    end()
    return found


def page_sentences(text):
    for line, block, after in blocks(text):
        yield from sentences(line, block, after and block[0].islower())


def header_sentences(text):
    """Of the comments of a C header; an empty line ends a paragraph, and so does a line of a list."""
    for comment in re.finditer(r"/\*(.*?)\*/", text, re.S):
        line = text[: comment.start()].count("\n") + 1
        for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:- |\t{2}|    ))", comment[1]):
            if "----" not in paragraph and not re.search(r"SPDX|[;{}]\s*$", paragraph):
                yield from sentences(line, re.sub(r"'\w+'", "CODE", paragraph))
            line += paragraph.count("\n") + 1


def help_sentences(text):
    """Of the help of a command: the words before the usage, and the text of each option."""
    about, _, rest = text.partition("\n\nusage: ")
    yield from sentences(1, about)
    line, option = about.count("\n") + 3, ""
    for row in rest.partition("\n\nExamples:")[0].split("\n"):
        if row[:28].strip() or not row.strip():
            yield from sentences(line - 1, re.sub(r"--[a-z][\w-]*", "CODE", option))
            option = re.sub("^  +\\S.*?  +", "", row) if row.startswith("  ") and "  " in row.strip() else ""
        else:
            option += " " + row.strip()
        line += 1
    yield from sentences(line, option)


# ---- the checks ----


def plain(sentence):
    """Without what stands in parentheses, and without a label such as "voxel: " in front."""
    while (short := re.sub(r"\([^()]*\)", "", sentence)) != sentence:
        sentence = short
    return re.sub(r"^\w+(, \w+)*: (?=.*:)", "", sentence)


def findings(found):
    """(line, name, why, instead, sentence) of an iterable of sentences."""
    for line, sentence, first, after_code in found:
        short = plain(sentence)
        for name, expression, why, instead, _ in TURNS:
            if (name != "first-it" or first) and re.search(expression, short, re.I):
                yield line, name, why, instead, sentence
        if len(re.findall(r"[A-Za-z]\w*", short)) > MOST_WORDS_SENTENCE:
            yield line, *LONG, sentence
        if after_code:
            yield line, *NO_SUBJECT, sentence


def ask(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def helps(program):
    """(name, help) of the program, of its commands, and of their kinds and models where these have help of their own."""
    yield "isotome --help", ask(program, "--help")
    for command in [line.split("\t")[0] for line in ask(program, "--help=next:").splitlines()]:
        whole = ask(program, command, "--help")
        yield f"isotome {command} --help", whole
        said = set(whole.split("\n\n"))
        for kind in [line.split("\t")[0] for line in ask(program, command, "--help=next:").splitlines()]:
            text = ask(program, command, kind, "--help") if kind[:1] not in ("-", "@", "") else whole
            about, _, rest = text.partition("\n\nusage: ")
            new = [section for section in rest.split("\n\n")[1:] if section not in said]
            if text != whole and (new or about not in said):
                yield f"isotome {command} {kind} --help", "\n\n".join([about + "\n\nusage: ", *new])
                said.update(new)


def sources(root, program):
    """(name, sentences) of all that is checked."""
    for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        yield str(path.relative_to(root)), page_sentences(path.read_text(encoding="utf-8"))
    if root == ROOT:
        yield "scripts/keys.py", page_sentences(ask(sys.executable, ROOT / "scripts" / "keys.py"))
    for path in sorted((root / "include").rglob("*.h")):
        yield str(path.relative_to(root)), header_sentences(path.read_text(encoding="utf-8"))
    for name, text in helps(program) if program else ():
        yield name, help_sentences(text)


def check(root, program):
    """Prints the findings beyond ALLOWED; the number of sources that have too many."""
    failed, allowed = 0, dict(ALLOWED) if root == ROOT else {}
    for name, found in sources(root, program):
        many, most = list(findings(found)), allowed.pop(name, 0)
        if len(many) > most:
            failed += 1
            for line, turn, why, instead, sentence in many:
                print(f"{name}:{line}: {turn}: {why}\n    {sentence}\n    write: {instead}")
            if most:
                print(f"{name}: {len(many)} findings, ALLOWED in {Path(__file__).name} has {most}")
        elif len(many) < most:
            print(f"{name}: {len(many)} findings; lower its number in ALLOWED from {most}")
    for name in allowed:
        if not name.startswith("isotome ") or program:
            failed += 1
            print(f"{name}: is in ALLOWED, and is nothing that is checked")
    return failed


def readme(root):
    """Whether README.md is short: words as a reader counts them, without code blocks, pictures and addresses."""
    text = re.sub(r"```.*?```", "", (root / "README.md").read_text(encoding="utf-8"), flags=re.S)
    n = len(re.findall(r"\w[\w'.-]*", bare(text)))
    print(f"README.md: {n} words, at most {MOST_WORDS_README}")
    return n > MOST_WORDS_README


def self_test():
    """Each banned turn is caught in each kind of source, and good sentences pass."""
    wrong = 0

    def expect(name, found):
        nonlocal wrong
        names = {turn for _, turn, *_ in findings(found)}
        if (name not in names) if name else names:
            wrong += 1
            print(f"self-test: expected {name or 'nothing'}, found {', '.join(sorted(names)) or 'nothing'}")

    for name, _, _, _, example in TURNS:
        if example:
            expect(name, page_sentences(f"# Title\n\nA sentence before. {example}\n"))
            expect(name, page_sentences(f"| a | b |\n| --- | --- |\n| `x` | {example} |\n"))
            expect(name, header_sentences(f"/* {example} */\nint x;\n"))
            expect(name, help_sentences(f"Do.\n\nusage: isotome x\n\nArguments:\n  --option N                {example}\n"))
    expect("first-it", page_sentences("# Title\n\nIt is short.\n"))
    expect("long", page_sentences("# Title\n\n" + "word " * (MOST_WORDS_SENTENCE + 1) + "\n"))
    expect("no-subject", page_sentences("```sh\nisotome info x\n```\n\nprints a line.\n"))
    expect(None, page_sentences("# Of X, a title\n\n" + "A sentence before. " + " ".join(GOOD) + "\n"))
    expect(None, page_sentences("```sh\n# Of X, what is there: a: b\n```\n\n    Of X, a formula\n\nThe end.\n"))
    expect(None, header_sentences("/* " + "A sentence before. " + " ".join(GOOD) + " */\n"))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", nargs="?", help="the program isotome, to check its help as well")
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--readme", action="store_true", help="check the length of README.md alone")
    parser.add_argument("--list", action="store_true", help="print the banned turns")
    parser.add_argument("--self-test", action="store_true")
    given = parser.parse_args()
    if given.list:
        for name, _, why, instead, example in TURNS:
            print(f"{name}: {why}; write: {instead}" + (f"\n    not: {example}" if example else ""))
        return 0
    if given.self_test:
        return 1 if self_test() else 0
    return 1 if (readme(given.root) if given.readme else check(given.root, given.program)) else 0


if __name__ == "__main__":
    sys.exit(main())
