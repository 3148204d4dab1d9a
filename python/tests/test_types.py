# SPDX-License-Identifier: BSD-3-Clause
"""What type checkers see: the stub of the tables is current, a user's code passes, wrong code does not."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

from isotome import _abi

HERE = ROOT / "python" / "tests"


def test_the_stub_is_current():
    script = ROOT / "scripts" / "python-stubs.py"
    # the package may be an installed one; the script imports that of the tree, which has no library
    library = {**os.environ, "ISOTOME_LIBRARY": _abi.lib._name}
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, env=library)
    assert done.returncode == 0, done.stdout[:2000] + done.stderr


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """mypy --strict on files, as that of somebody who uses the package; what it says."""
    api = pytest.importorskip("mypy.api")
    cache = tmp_path_factory.mktemp("mypy")
    config = cache / "mypy.ini"
    config.write_text(
        f"[mypy]\nmypy_path = {ROOT / 'python'}\n[mypy-isotome.*]\nfollow_imports = silent\n"
        "[mypy-torch.*]\nfollow_imports = skip\n"  # of which isotome.torch is made: it takes minutes
    )

    def check(*files):
        how = ["--strict", "--cache-dir", str(cache), "--config-file", str(config)]
        return api.run([*how, *map(str, files)])[0]

    return check


def test_a_users_code_passes_strictly(mypy):
    assert mypy(HERE / "typed_use.py").startswith("Success")


def test_wrong_code_is_found(mypy, tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import isotome\n"
        "isotome.ray('a.Cdh', voxl=2)\n"
        "isotome.ray('a.Cdh', projector='round')\n"
        "isotome.ray('a.Cdh', iterations='many')\n"
        "isotome.raz('a.Cdh')\n"
        "isotome.em(3)\n"
        "isotome.ray('a.Cdh').reconstruct(callback=3)\n"
    )
    found = mypy(wrong)
    for line, word in enumerate(("voxl", "projector", "iterations", "raz", "em", "reconstruct"), 2):
        assert any(f"wrong.py:{line}:" in told and word in told for told in found.splitlines()), found
