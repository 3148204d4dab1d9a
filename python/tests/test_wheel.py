# SPDX-License-Identifier: BSD-3-Clause
"""Wheels: what scripts/wheel_licences.py lets in, and the library that stands for those of all processors."""

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

from isotome import _abi, _library

CC = shutil.which("cc")
TEXT = Path("/usr/share/doc/zlib1g/copyright")


def licences(tmp_path, *libraries):
    wheel, out = tmp_path / "isotome-0-py3-none-any.whl", tmp_path / "out"
    out.mkdir()
    with zipfile.ZipFile(wheel, "w") as z:
        for name in ("isotome/bin/isotome", *(f"isotome.libs/{n}" for n in libraries), "isotome-0.dist-info/RECORD"):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o755 << 16
            z.writestr(entry, "x")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "wheel_licences.py", wheel, out], capture_output=True, text=True
    )
    return done, out / wheel.name


def test_a_library_under_the_gpl_is_refused(tmp_path):
    done, wheel = licences(tmp_path, "libz-12345678.so.1", "libfftw3f-0a1b2c3d.so.3.6.10")
    assert done.returncode and "libfftw3f in the wheel" in done.stderr
    assert not wheel.exists()


@pytest.mark.skipif(not TEXT.exists(), reason="no Debian")
def test_licences_are_added(tmp_path):
    done, wheel = licences(tmp_path, "libz-12345678.so.1")
    assert not done.returncode, done.stderr
    with zipfile.ZipFile(wheel) as z:
        assert TEXT.read_text() in z.read("isotome-0.dist-info/licenses/libz.txt").decode()
        assert z.getinfo("isotome/bin/isotome").external_attr >> 16 & 0o111
        assert "isotome-0.dist-info/licenses/libz.txt,sha256=" in z.read("isotome-0.dist-info/RECORD").decode()


@pytest.mark.skipif(not CC, reason="no C compiler")
def test_the_front_gives_the_functions_of_the_library(tmp_path):
    library = Path(_abi.lib._name)
    command = [CC, "-shared", "-x", "c", "/dev/null", "-x", "none", "-Wl,--no-as-needed", library]
    command += [f"-Wl,-rpath,{library.parent}", "-o", tmp_path / _library.FRONT]
    subprocess.run(command, check=True)
    found = _library._in_folder(tmp_path)
    assert found is not None
    found.iso_version.restype = ctypes.c_char_p
    assert found.iso_version().decode() == _abi.version


@pytest.mark.skipif(not CC, reason="no C compiler")
@pytest.mark.parametrize("version", ["", "0.1.0"])
def test_a_cuda_half_of_another_version_is_refused(tmp_path, version):
    beside = Path(_abi.lib._name).resolve().parent / "libisotome_cuda.so"
    if beside.exists() or importlib.util.find_spec("isotome_cuda13"):
        pytest.skip("the CUDA half is there")
    source = tmp_path / "half.c"
    source.write_text(f'const char iso_half_version[] = "{version}";\n' if version else "int nothing;\n")
    subprocess.run([CC, "-shared", "-fPIC", source, "-o", tmp_path / "libisotome_cuda.so"], check=True)
    done = subprocess.run(
        [sys.executable, "-c", "import isotome; print(isotome.devices()[-1].reason)"],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    said = f"libisotome_cuda.so is of {'version 0.1.0' if version else 'no version'}, libisotome.so of version"
    assert said in done.stdout, done.stdout + done.stderr


# ---- what a build tells ----


@pytest.fixture
def stages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging" / "pip"))
    return importlib.import_module("isotome_stages")


LOG = [
    "*** scikit-build-core 0.11.5 using CMake 3.25.1 (wheel)",
    "*** Configuring CMake...",
    "-- The C compiler identification is GNU 12.2.0",
    "*** Building project with Ninja...",
    "[0/2] Re-checking globbed directories...",
    *(f"[{k}/40] Building C object {k}.c.o" for k in range(1, 41)),
    "*** Installing project into wheel...",
    "*** Created isotome-0.2.0-py3-none-linux_aarch64.whl",
]


def test_a_build_tells_its_stages(stages):
    told = []
    seen = stages.Stages(told.append)
    for line in LOG:
        seen.see(line + "\n")
    assert [words.partition(":")[0] for words in told if words.startswith("stage")] == [f"stage {k} of 3" for k in (1, 2, 3)]
    assert "40 files" in told[1] and "pip -v" in told[1]
    assert [words.partition(",")[0] for words in told[2:-1]] == [f"{4 * k} of 40 files" for k in range(1, 11)]


def test_stages_go_to_the_terminal_and_output_to_pip(stages, tmp_path):
    terminal = tmp_path / "terminal"
    terminal.touch()
    script = (
        "import os, subprocess, sys; sys.path.insert(0, sys.argv[1]); import isotome_stages\n"
        "with isotome_stages.told(sys.argv[2], sys.argv[4] == 'quiet'): subprocess.run(['cat', sys.argv[3]], check=True)\n"
        "print('after', flush=True)"
    )
    log = tmp_path / "log"
    log.write_text("\n".join(LOG) + "\n")

    def run(to, how):
        command = [sys.executable, "-c", script, ROOT / "packaging" / "pip", to, log, how]
        return subprocess.run(command, check=True, capture_output=True, text=True)

    done = run(terminal, "")
    assert done.stdout == log.read_text() + "after\n" and not done.stderr
    lines = terminal.read_text().split("\n")
    assert lines[1].startswith("  isotome, stage 1 of 3: ") and lines[-1].startswith("  isotome, stage 3 of 3: ")
    for to, how in ((tmp_path / "no" / "terminal", ""), (tmp_path / "other", "quiet")):
        none = run(to, how)
        assert none.stdout == done.stdout and not none.stderr and not to.exists()


def test_pip_that_is_quiet_is_heeded(stages):
    script = "import sys; sys.path.insert(0, sys.argv[1]); import isotome_stages; print(isotome_stages._quiet())"
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1], sys.argv[2]], check=True)"
    for words, quiet in (([], "False"), (["-q"], "True"), (["-qq"], "True"), (["--quiet"], "True"), (["-v"], "False")):
        command = [sys.executable, "-c", child, script, ROOT / "packaging" / "pip", *words]
        assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == quiet


def test_the_cuda_half_is_an_extra():
    text = (ROOT / "pyproject.toml").read_text()
    version = _abi.version
    assert f'cuda13 = ["isotome-cuda13=={version}"' in text and 'cuda = ["isotome[cuda13]"]' in text
    half = (ROOT / "python" / "cuda13" / "pyproject.toml").read_text()
    assert 'name = "isotome-cuda13"' in half and f'version = "{version}"' in half and f"isotome=={version}" in half


def test_the_cuda_wheel_has_its_own_component():
    """That of the Debian package would put the libraries into the wheel a second time, in site-packages/lib."""
    half = (ROOT / "python" / "cuda13" / "pyproject.toml").read_text()
    assert 'install.components = ["python_cuda"]' in half
    assert "python_cuda" in (ROOT / "cmake" / "python.cmake").read_text()
    assert "python_cuda" not in (ROOT / "cmake" / "install.cmake").read_text()
