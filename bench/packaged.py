#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How much a packaged build, for any processor of this kind, is slower than one for this processor.

    bench/packaged.py [--rounds N] [--threads N] FOLDER

Builds both in FOLDER, as CMake does for itself and as pyproject.toml does, and runs the benchmarks of all models
on the CPU by both in turn. Prints the least time of each row over the rounds, and packaged over native. On x86-64
also every level by itself (cmake/levels.cmake), but any x86-64, which few have, only for its bits: all of them
must write the same files in one small run of every command.
"""
import argparse
import filecmp
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILDS = {"native": ["-DISO_NATIVE=ON"], "packaged": ["-DISO_NATIVE=OFF", "-DISO_LEVELS=ON"]}
COMMON = ["-DCMAKE_BUILD_TYPE=Release", "-DISO_CUDA=OFF", "-DISO_MPI=OFF", "-DISO_HDF5=OFF", "-DISO_TESTS=OFF"]
BENCHES = [
    "ray --case 128 --events 300000 --repeats 3",
    "ray --case 256 --events 100000 --repeats 3 --projector joseph",
    "strip --events 300000 --repeats 3",
    "srm --per-column 1000 --strategy correlation --repeats 3",
    "srm --per-column 200 --strategy row --repeats 3",
    "oat --grid 64,64,64 --repeats 3",
]


def build(folder: Path) -> None:
    for name, options in BUILDS.items():
        where = folder / name
        configure = ["cmake", "-S", ROOT, "-B", where, *COMMON, *options]
        subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
        make = ["cmake", "--build", where, "-j", str(os.cpu_count()), "--target", "isotome_program", "isotome-bench"]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)


def first_in_path(folder: Path) -> dict[str, str]:
    others = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{folder}:{others}" if others else str(folder)}


def ways(folder: Path) -> dict[str, tuple[Path, dict[str, str]]]:
    """name -> program and environment. A folder of LD_LIBRARY_PATH stands before the program's own RUNPATH."""
    packaged = folder / "packaged"
    found: dict[str, tuple[Path, dict[str, str]]] = {n: (folder / n / "isotome", {}) for n in BUILDS}
    levels = sorted(packaged.glob("glibc-hwcaps/*"))
    for level in levels:
        found[level.name] = (packaged / "isotome", first_in_path(level))
    if levels:
        any_processor = folder / "any"
        any_processor.mkdir(exist_ok=True)
        for old in any_processor.iterdir():
            old.unlink()
        for library in packaged.glob("libisotome.so*"):  # under each of its names
            (any_processor / library.name).symlink_to(library.resolve())
        found["any"] = (packaged / "isotome", first_in_path(any_processor))
    for name, (program, more) in found.items():
        said = subprocess.check_output([program, "--built-with"], text=True, env={**os.environ, **more})
        print(f"{name:12} {said}", end="")
    return found


def time_rows(program: Path, more: dict[str, str], bench: str, threads: list[str]) -> dict[str, float]:
    command = [program, "bench", *bench.split(), "--device", "cpu", "--json", "-q", *threads]
    done = json.loads(subprocess.check_output(command, env={**os.environ, **more}))
    return {f"{bench.split()[0]} {row['problem']}": row["least_s"] for row in done["results"]["rows"]}


def compare_times(found: dict, rounds: int, threads: list[str]) -> None:
    names = [n for n in found if n != "any"]
    print(f"\n{'':34}" + "".join(f"{n + ' ms':>14}" for n in names) + f"{'packaged/native':>18}")
    for bench in BENCHES:
        least: dict[str, dict[str, float]] = {}
        for turn in range(rounds):
            for name in names if turn % 2 else reversed(names):
                for row, seconds in time_rows(*found[name], bench, threads).items():
                    times = least.setdefault(row, {})
                    times[name] = min(seconds, times.get(name, seconds))
        for row, times in least.items():
            each = "".join(f"{1000 * times[n]:14.2f}" for n in names)
            print(f"{row:34}{each}{times['packaged'] / times['native']:18.3f}", flush=True)


def same_files(found: dict, folder: Path) -> bool:
    """Whether small runs of each way leave the files of the first; but for records and what is measured."""
    script = ROOT / "tests" / "robust" / "small_runs.py"
    measured = re.findall(r"^([\w-]+)!?~", script.read_text(), flags=re.M)
    same, first = True, None
    for name, (program, more) in found.items():
        work, name_in_files = folder / f"small_runs_{name}", folder / "small_runs"
        subprocess.run(["rm", "-rf", work, name_in_files], check=True)
        # some runs fail in builds without HDF5: in all alike
        subprocess.run([sys.executable, script, program, ROOT, name_in_files], env={**os.environ, **more},
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        name_in_files.rename(work)
        files = sorted(p.relative_to(work) for p in work.rglob("*") if p.is_file() and p.suffix != ".json"
                       and p.relative_to(work).parts[0] not in ("in", *measured))
        if first is None:
            first = (work, files)
        differ = [f for f in files if not filecmp.cmp(first[0] / f, work / f, shallow=False)]
        print(f"{name:12} {len(files)} files, {len(differ)} differ from {next(iter(found))}", *differ[:8])
        same = same and files == first[1] and not differ
    return same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads")
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    build(given.folder)
    found = ways(given.folder)
    same = same_files(found, given.folder)
    compare_times(found, given.rounds, ["--threads", given.threads] if given.threads else [])
    sys.exit(0 if same else "the files differ")


if __name__ == "__main__":
    main()
