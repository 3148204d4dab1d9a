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
