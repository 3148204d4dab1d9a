# SPDX-License-Identifier: BSD-3-Clause
"""The code of docs/python.md and of the README runs; the reference is of the docstrings."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT, package_environment

BLOCK = re.compile(r"(?P<skip><!-- not run: [^\n]*? -->\n\n?)?^```python\n(?P<code>.*?)^```$", re.S | re.M)


def blocks(page):
    """The blocks of code of a page that are run, each behind empty lines, so that errors name its lines."""
    text = (ROOT / page).read_text()
    for found in BLOCK.finditer(text):
        if not found["skip"]:
            yield "\n" * text[: found.start("code")].count("\n") + found["code"]


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
@pytest.mark.parametrize("page", ["docs/python.md", "docs/tutorials/methods-in-python.md", "README.md"])
def test_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names = {"__name__": "docs"}
    run = [exec(compile(code, page, "exec"), names) for code in blocks(page)]
    assert run
    assert list(tmp_path.glob("*.png"))


def test_the_page_of_pytorch_runs():
    pytest.importorskip("torch")
    names = {"__name__": "docs"}
    run = [exec(compile(code, "docs/python-torch.md", "exec"), names) for code in blocks("docs/python-torch.md")]
    assert run


def test_links_lead_somewhere():
    for page in ("docs/python.md", "docs/python-torch.md", "python/README.md"):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text()):
            assert ((ROOT / page).parent / link).exists(), f"{page}: {link}"


def test_the_reference_is_current():
    pytest.importorskip("torch")  # part of it is of isotome.torch
    if sys.version_info[:2] != (3, 11):
        pytest.skip("it was made by Python 3.11: others write some signatures otherwise")
    script = [sys.executable, ROOT / "scripts" / "python-api.py", "--check"]
    run = subprocess.run(script, text=True, capture_output=True, env=package_environment())
    assert run.returncode == 0, run.stderr
