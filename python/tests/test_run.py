# SPDX-License-Identifier: BSD-3-Clause
"""The program by its own words: what it prints, how it fails, Ctrl-C; which program is run."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import isotome
from isotome import _abi, program

LIBRARY = Path(_abi.lib._name)


@pytest.fixture(autouse=True)
def _there():
    if program._own() is None:
        pytest.skip(f"no program beside {_abi.lib._name}")


@pytest.fixture
def fresh():
    """find() forgets what it found, before and after."""
    program.find.cache_clear()
    yield
    program.find.cache_clear()


def test_a_line_or_a_list_of_words(tmp_path, capfd):
    done = isotome.run("phantom sphere -o 'a b.nii' --grid 9,8,7 --voxel 4", cwd=tmp_path)
    assert done.words[2:4] == ("-o", "a b.nii")
    assert repr(done) == "<isotome.Run phantom sphere -o 'a b.nii' --grid 9,8,7 --voxel 4>"
    image = isotome.read(tmp_path / "a b.nii")
    assert image.shape == (7, 8, 9)
    capfd.readouterr()
    words = ["isotome", "measure", "roi", tmp_path / "a b.nii", "--sphere", "0,0,0,9"]
    told = isotome.run(words)
    assert capfd.readouterr().out == told.stdout and told.stdout.startswith("region ")
    mean = isotome.run([*words, "--json"], quiet=True).json["results"]["regions"][0]["mean"]
    assert np.isclose(mean, isotome.measure.roi(image, sphere=(0, 0, 0, 9)).mean)
    assert capfd.readouterr() == ("", "")


def test_messages_are_shown_as_they_come(tmp_path, capfd):
    done = isotome.run("phantom sphere -o x.nii --grid 9,8,7 --voxel 4 -v", cwd=tmp_path)
    assert done.stdout == "" and capfd.readouterr().err == done.stderr


@pytest.mark.parametrize(
    "words, kind, message",
    [
        ("viw x.nii", isotome.ArgumentError, "isotome: unknown command 'viw'; did you mean 'view'"),
        ("view none.nii -o x.png", isotome.InputError, "isotome view: none.nii: No such file"),
        ("info --colour", isotome.ArgumentError, "isotome info: .*--colour"),
        ("phantom sphere -o x.nii --device cuda:77", isotome.DeviceError, "(?i)cuda"),
        ("phantom sphere -o x.nii --memory-limit 1e-6", isotome.errors.MemoryError, "memory"),
        ("phantom sphere -o none/x.nii", isotome.IsotomeError, "No such file"),
        ("measure diff y.npy y.npy --below 0", isotome.IsotomeError, "not below 0"),
        ("view 'x.nii", isotome.ArgumentError, "words: given .*No closing quotation"),
        (["info", 3], isotome.ArgumentError, "words: given"),
        (["info", b"x"], isotome.ArgumentError, "words: given"),
        (["info", "a\0b"], isotome.ArgumentError, "without zeros"),
        (None, isotome.ArgumentError, "words: given None"),
        (7, isotome.ArgumentError, "words: given 7"),
    ],
)
def test_failures_are_the_exceptions_of_the_library(tmp_path, words, kind, message):
    isotome.write(tmp_path / "y.npy", np.ones(3))
    with pytest.raises(kind, match=message) as raised:
        isotome.run(words, cwd=tmp_path, quiet=True)
    assert type(raised.value) is kind or kind is not isotome.IsotomeError
    assert not (tmp_path / "x.nii").exists()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(isotome.errors.IOError, match="none"):
        isotome.run("info x.nii", cwd=tmp_path / "none")


def test_ctrl_c_ends_the_program(tmp_path, monkeypatch):
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            started.append(self)
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()

    program.find()
    monkeypatch.setattr(subprocess, "Popen", Popen)
    with pytest.raises(KeyboardInterrupt):
        isotome.run("phantom derenzo-meng -o x.nii --samples 40", cwd=tmp_path, quiet=True)
    assert started[-1].returncode in (130, -signal.SIGINT)  # the latter where it had not begun
    assert not any(tmp_path.iterdir())


# ---- which program ----


def test_the_program_of_the_library_in_use():
    assert program.find().parent in (LIBRARY.parent, LIBRARY.parent / "bin", LIBRARY.parent.parent / "bin")


def test_one_of_another_version_is_refused(fresh, tmp_path, monkeypatch):
    other = tmp_path / "isotome"
    other.write_text("#!/bin/sh\necho isotome 0.0.1\n")
    other.chmod(0o755)
    monkeypatch.setattr(program, "_own", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    with pytest.raises(isotome.IsotomeError, match=r"says 'isotome 0\.0\.1', the library has version"):
        isotome.run("info x.nii")
    other.write_text("no program")
    with pytest.raises(isotome.IsotomeError, match="Exec format|says ''"):
        isotome.run("info x.nii")
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(isotome.IsotomeError, match="neither beside .* nor in PATH"):
        isotome.run("info x.nii")


def test_the_command_of_the_package_is_the_program(tmp_path):
    command = [sys.executable, "-c", "from isotome.program import main; main()"]
    told = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert told.stdout == f"isotome {_abi.version}\n" and told.returncode == 0
    failed = subprocess.run([*command, "info", tmp_path / "none.nii"], capture_output=True, text=True)
    assert failed.returncode == 3 and "none.nii" in failed.stderr
