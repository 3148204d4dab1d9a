#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Isotome beside GPAIR (github.com/ddffwyb/GPAIR, MIT) on one GPU: the same positions, grid and traces for both.

    git clone https://github.com/ddffwyb/GPAIR
    python3 bench/gpair.py --gpair GPAIR --case 256        # also 512: seconds of an iteration
    python3 bench/gpair.py --gpair GPAIR --case vessels --csv vessels.csv --plot vessels.svg

GPAIR is not part of Isotome. Its code comes from the checkout, unchanged: the cells of its notebook Vessel_64, up to
the one that runs them, become a module, of which only the sides of the image are set. It needs PyTorch and Triton.

Cases 256 and 512: a plane of 32 x 32 points, 102.4 mm wide, 25.5 mm above the centre of 256 x 256 x 128 or
512 x 512 x 256 voxels of 0.1 mm; 4096 samples at 40 MHz; 1.5 mm/us. Forward and adjoint are medians of device events,
the codes taking turns. `rest` is what an iteration takes beside them: GPAIR's is one of Adam with its penalty,
Isotome's one of least squares without negative values. The errors are those of forward projections of 32 x 32 x 32
voxels to 16 transducers against direct sums, each code in its own model: Gaussians and spheres. The images are white
noise, and a smooth ball, whose high frequencies are 0 but for the errors of a kernel.

Case vessels: GPAIR's 64 traces of simulated vessels, its notebook's rates and its 120 iterations. The residual
rho = min over a of |u - a H x| / |u| counts all of the traces' power, also above the highest line of Isotome's model.
GPAIR's seconds begin when all is compiled, tuned and on the device, and end on the device. Isotome's begin with
traces on the host and end with the image there, set-up and everything else included.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.util
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import types
import warnings
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple

import numpy as np

import isotome

SPEED, RATE, SAMPLES = 1.5, 40.0, 4096  # mm/us, MHz
WIDTH, HEIGHT = 102.4, 25.5  # of the plane of transducers, mm
NOTEBOOK = "gpair_v7_Vessel_64.ipynb"
TRACES, PLACES = "sensor_Vessel_data_matrix_64.mat", "sensor_Vessel_location_64.mat"
ACCURACIES = 2e-2, 1e-3
METHODS = {  # of Isotome, for the residual against time
    "cg": {"method": "cg"},
    "cg --nonneg": {"method": "cg", "nonneg": True},
    "nncg": {"method": "nncg"},
    "nncg --precondition image": {"method": "nncg", "precondition": "image"},
}


class Case(NamedTuple):
    """What both codes are given. Lengths are mm."""

    positions: np.ndarray  # (transducers, 3)
    grid: tuple[int, int, int]  # voxels along x, y, z
    voxel: float
    fmax_mhz: float  # of Isotome's lines

    @property
    def low(self) -> list[float]:
        """Where GPAIR's first voxel lies: not its corner, its centre."""
        return [-n * self.voxel / 2 for n in self.grid]

    @property
    def centre(self) -> tuple[float, float, float]:
        return (-self.voxel / 2,) * 3

    def part(self) -> Case:
        """Its middle, and 16 of its transducers."""
        some = np.linspace(0, len(self.positions) - 1, 16).round().astype(int)
        return self._replace(positions=self.positions[some], grid=(32, 32, 32))


def plane(size: int, shrink: int) -> Case:
    side = max(4, 32 // shrink)
    at = (np.arange(side) - side / 2) * WIDTH / side
    x, y = np.meshgrid(at, at)
    positions = np.stack([x.ravel(), y.ravel(), np.full(x.size, HEIGHT)], 1)
    grid = (size // shrink, size // shrink, size // 2 // shrink)
    return Case(positions, grid, 0.1 * shrink, 10 / shrink)


# ---- time ----


class Clock:
    """Marks in the stream of a device, or on the host where there is none."""

    def __init__(self, cuda: bool):
        self.torch: Any = importlib.import_module("torch") if cuda else None

    def mark(self) -> Any:
        if not self.torch:
            return time.perf_counter()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, first: Any, last: Any) -> float:
        if not self.torch:
            return last - first
        last.synchronize()
        return first.elapsed_time(last) / 1e3

    def of(self, work: Callable[[], Any]) -> float:
        first = self.mark()
        work()
        return self.seconds(first, self.mark())


def gpu_words() -> str:
    """Name and clocks, as the driver tells them now."""
    ask = ["nvidia-smi", "--query-gpu=name,clocks.sm,clocks.max.sm,driver_version", "--format=csv,noheader"]
    try:
        name, now, most, driver = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split(", ")
        return f"{name}, {now} of {most}, driver {driver.strip()}"
    except (OSError, ValueError, subprocess.CalledProcessError):
        return "no GPU"


# ---- GPAIR ----


@contextlib.contextmanager
def stand_ins(*names: str) -> Iterator[None]:
    """Empty modules for what a notebook imports for its pictures, where it is missing."""
    made = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = types.ModuleType(name)
            made.append(name)
    for module, attribute in (("gapat.algorithms", "recon"), ("gapat.processings", "negetive_processing")):
        if module in made:
            setattr(sys.modules[module], attribute, None)
    try:
        yield
    finally:
        for name in made:
            del sys.modules[name]


def cells(folder: Path) -> str:
    """The notebook's code up to the cell that runs it."""
    parts: list[str] = []
    for cell in json.loads((folder / NOTEBOOK).read_text())["cells"]:
        code = "".join(cell["source"])
        if "# Main program" in code:
            return "\n\n".join(parts)
        parts.append(code)
    raise SystemExit(f"{folder / NOTEBOOK}: no cell begins with '# Main program'; this script knows GPAIR's version 7")


def settings(folder: Path) -> dict[str, float]:
    """Iterations and rates of the notebook's run."""
    code = "".join("".join(cell["source"]) for cell in json.loads((folder / NOTEBOOK).read_text())["cells"])
    run = code[code.index("# Main program") :]
    names = "max_iterations", "learning_rate", "lambda_reg", "T_0", "T_mult", "eta_min"
    found = {name: float(re.search(rf"{name}=([-+.\de]+)", run)[1]) for name in names}  # type: ignore[index]
    return {k: int(v) if v == int(v) and k in ("max_iterations", "T_0", "T_mult") else v for k, v in found.items()}


class Gpair:
    """The notebook as a module, for one case. Arrays are flat PyTorch tensors, voxels in the order x, y, z."""

    count = 0

    def __init__(self, folder: Path, case: Case, traces: np.ndarray, clock: Clock):
        from scipy.io import savemat

        code = cells(folder)
        for axis, low in zip("xyz", case.low):
            code = re.sub(rf"(?m)^{axis}_range = .*$", f"{axis}_range = [{low * 1e-3!r}, {-low * 1e-3!r}]", code)
        code = re.sub(r"(?m)^res = .*$", f"res = {case.voxel * 1e-3!r}", code)
        self._clock, self._place = clock, tempfile.TemporaryDirectory()  # Triton reads the source again: it stays
        place = Path(self._place.name)
        (place / "data").mkdir()
        savemat(place / "data" / PLACES, {"detector_locations": (case.positions * 1e-3).astype(np.float32)})
        savemat(place / "data" / TRACES, {"simulation_data": traces.astype(np.float32)})
        Gpair.count += 1
        name = f"gpair_cells_{Gpair.count}"
        (place / f"{name}.py").write_text(code)
        self._cells = self._load(name, place)

    @staticmethod
    def _load(name: str, place: Path) -> Any:
        spec = importlib.util.spec_from_file_location(name, place / f"{name}.py")
        assert spec and spec.loader
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        before = os.getcwd()
        os.chdir(place)
        try:
            with stand_ins("matplotlib", "matplotlib.pyplot", "gapat", "gapat.algorithms", "gapat.processings"):
                spec.loader.exec_module(module)
        finally:
            os.chdir(before)
        return module

    @property
    def traces(self) -> Any:
        """As the notebook scales and sorts them."""
        return self._cells.simulation_data.flatten().contiguous()

    def forward(self, x: Any) -> Any:
        return self._cells.forward_operator_triton(x)

    def adjoint(self, y: Any) -> Any:
        return self._cells.transpose_operator_triton(y)

    def image(self, values: np.ndarray) -> Any:
        """(nz, ny, nx) as the notebook has it."""
        torch = self._cells.torch
        return torch.from_numpy(np.ascontiguousarray(values.transpose(2, 1, 0))).to(self._cells.DEVICE).flatten()

    def iterate(self, how: dict[str, float]) -> tuple[list[float], list[float], Any]:
        """Seconds since the beginning and rho of each image, the last one's too; and that image."""
        torch, u, own = self._cells.torch, self.traces, self._cells.A_operator_triton
        marks: list[Any] = []
        sums: list[Any] = []

        def watched(x: Any) -> Any:
            marks.append(self._clock.mark())
            y = own(x)
            with torch.no_grad():
                sums.append((u @ y, y @ y))
            return y

        self._cells.A_operator_triton = watched
        try:
            first = self._clock.mark()
            with contextlib.redirect_stdout(None):
                x, _ = self._cells.gradient_descent_reconstruction_nonnegative(u, **how)
            marks.append(self._clock.mark())
        finally:
            self._cells.A_operator_triton = own
        y = self.forward(x.detach())
        sums.append((u @ y, y @ y))
        size = float(u @ u)
        rho = [math.sqrt(max(0.0, 1 - float(uy) ** 2 / (size * float(yy)))) if yy > 0 else 1.0 for uy, yy in sums]
        return [self._clock.seconds(first, m) for m in marks], rho, x

    def errors(self, case: Case) -> list[float]:
        """Of forward projections, against the sums of its Gaussians' waves without rounded delays."""
        places = 1e3 * self._cells.detector_locations.cpu().numpy().astype(np.float64)
        axes = [low + case.voxel * np.arange(n) for low, n in zip(case.low, case.grid)]
        self.forward(self.image(small_images()[0]))  # Triton tries kernels, all of which add to the result
        found = []
        for values in small_images():
            y = self.forward(self.image(values)).cpu().numpy().reshape(len(places), -1)
            want = np.stack([gaussian_waves(p, axes, values, y.shape[1]) for p in places])
            want *= np.vdot(want, y) / np.vdot(want, want)  # its constants are its own
            found.append(relative(y, want))
        return found


def small_images() -> tuple[np.ndarray, np.ndarray]:
    """Noise, and a ball; (32, 32, 32)."""
    at = np.arange(32) - 15.5
    ball = np.exp(-(at**2 + at[:, None] ** 2 + at[:, None, None] ** 2) / 50)
    return np.random.default_rng(1).standard_normal(ball.shape, np.float32), ball.astype(np.float32)


def relative(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


def gaussian_waves(place: np.ndarray, axes: list[np.ndarray], values: np.ndarray, samples: int) -> np.ndarray:
    """Sum over voxels of (d - c t) exp(-(d - c t)^2 / (2 s^2)) / d, with s the edge of a voxel."""
    x, y, z = axes
    d = np.sqrt((x - place[0]) ** 2 + (y[:, None] - place[1]) ** 2 + (z[:, None, None] - place[2]) ** 2).ravel()
    a, sigma, step = values.ravel().astype(np.float64), x[1] - x[0], SPEED / RATE
    first, trace = np.floor(d / step).astype(int), np.zeros(samples)
    for m in range(-math.ceil(6 * sigma / step), math.ceil(6 * sigma / step) + 1):
        k = first + m
        s = d - k * step
        heard = (k >= 0) & (k < samples)
        trace += np.bincount(k[heard], (a / d * s * np.exp(-((s / sigma) ** 2) / 2))[heard], samples)
    return trace


# ---- Isotome ----


class Isotome:
    """Model svoxel, of one case."""

    def __init__(self, case: Case, context: isotome.Context, folder: str):
        np.save(f"{folder}/places.npy", case.positions)
        self.case, self.context, self.scanner = case, context, f"{folder}/array.yaml"
        Path(self.scanner).write_text(
            f"{{kind: transducers, positions: places.npy, speed_mm_per_us: {SPEED}, sampling_mhz: {RATE}, "
            f"first_sample_us: 0, samples: {SAMPLES}}}"
        )

    def problem(self, traces: np.ndarray, **more: Any) -> isotome.Problem:
        case = self.case
        return isotome.svoxel(
            traces, scanner=self.scanner, grid=case.grid, voxel=case.voxel, centre=case.centre,
            fmax_mhz=case.fmax_mhz, **{"context": self.context, **more},
        )  # fmt: skip

    def errors(self, accuracy: float) -> list[float]:
        """Of forward projections, against sums line by line."""
        silent = np.zeros((len(self.case.positions), SAMPLES), np.float32)
        direct = {"transform": "direct", "context": isotome.Context("cpu")}
        want, got = (self.problem(silent, **how).operator() for how in (direct, {"accuracy": accuracy}))
        return [relative(got(values), want(values)) for values in small_images()]

    def run(self, traces: np.ndarray, **more: Any) -> tuple[list[float], list[float], float]:
        """From traces to image on the host: seconds and rho of the start and each iteration, and seconds in all."""
        marks: list[float] = []

        def look(p: Any) -> None:
            if p.done == len(marks) + 1 and p.total == more["iterations"] and not p.brief:
                marks.append(time.perf_counter() - begin)

        begin = time.perf_counter()
        problem = self.problem(traces, **more)
        problem.reconstruct(progress=look)
        took = time.perf_counter() - begin
        cost = np.array(problem.record["results"]["cost"])
        power = float(np.sum(traces.astype(np.float64) ** 2)) * SAMPLES / RATE**2  # of the lines of all frequencies
        return [0.0, *marks], list(np.sqrt((cost + power - cost[0]) / power)), took


# ---- an iteration ----


def traces_of(case: Case, folder: str) -> np.ndarray:
    """What the array hears of some spheres, in closed form: neither code's model."""
    random = np.random.default_rng(7)
    half = np.array(case.grid) * case.voxel / 2
    places, radii = (random.random((24, 3)) - 0.5) * 1.5 * half, 3 * case.voxel * (1 + random.random((24, 1)))
    spheres = np.concatenate([places, radii, np.ones((24, 1))], 1)
    return np.asarray(isotome.simulate_traces(spheres, f"{folder}/array.yaml", smooth_fwhm=2 * case.voxel), np.float32)


def compare(args: argparse.Namespace, context: isotome.Context, folder: str) -> None:
    case = plane(int(args.case), args.shrink)
    clock, ours = Clock(context.is_cuda), Isotome(case, context, folder)
    traces = traces_of(case, folder)
    works: dict[str, dict[str, Callable[[], Any]]] = {}
    gpair = Gpair(args.gpair, case, traces, clock) if args.gpair else None
    if gpair:
        image, data = gpair.image(np.random.default_rng(2).random(case.grid[::-1], np.float32)), gpair.traces
        works["GPAIR"] = {"forward": lambda: gpair.forward(image), "adjoint": lambda: gpair.adjoint(data)}
    operators = {e: ours.problem(traces, accuracy=e).operator() for e in args.accuracy}
    kept = []
    for e, A in operators.items():
        x, y = np.random.default_rng(2).random(A.in_shape, np.float32), np.ones(A.out_shape, np.float32)
        if clock.torch:
            x, y = (clock.torch.from_numpy(v).to("cuda") for v in (x, y))
        to_y, to_x = (clock.torch.empty_like(v) if clock.torch else np.empty_like(v) for v in (y, x))
        kept += [x, y, to_y, to_x]
        works[f"Isotome {e:g}"] = {
            "forward": lambda A=A, x=x, out=to_y: A(x, out=out),
            "adjoint": lambda A=A, y=y, out=to_x: A.adjoint(y, out=out),
        }
    taken = {name: {way: [] for way in ways} for name, ways in works.items()}
    for turn in range(2 + args.repeats):  # two to warm up
        for name, ways in works.items():
            for way, work in ways.items():
                seconds = clock.of(work)
                if turn >= 2:
                    taken[name][way].append(seconds)
    table = {name: {way: statistics.median(t) for way, t in ways.items()} for name, ways in taken.items()}
    for turn in range(2):
        if gpair:
            marks, _, _ = gpair.iterate({**settings(args.gpair), "max_iterations": 2 + args.repeats})
            table["GPAIR"]["iteration"] = statistics.median(np.diff(marks)[2:])
        for e in args.accuracy:
            marks, _, _ = ours.run(traces, accuracy=e, iterations=2 + args.repeats, **args.iteration)
            table[f"Isotome {e:g}"]["iteration"] = statistics.median(np.diff(marks)[2:])
    small, errors = Isotome(case.part(), context, f"{folder}/part"), {}
    for e in args.accuracy:
        errors[f"Isotome {e:g}"] = small.errors(e)
    if gpair:
        none = np.zeros((16, SAMPLES), np.float32)
        errors["GPAIR"] = Gpair(args.gpair, case.part(), none, clock).errors(case.part())
    tell(case, table, errors)


def tell(case: Case, table: dict[str, dict[str, float]], errors: dict[str, list[float]]) -> None:
    print(f"{' x '.join(map(str, case.grid))} voxels, {len(case.positions)} transducers; {gpu_words()}")
    print("| | forward, ms | adjoint, ms | rest, ms | iteration, ms | times faster than GPAIR | error: noise, ball |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, row in table.items():
        rest = row["iteration"] - row["forward"] - row["adjoint"]
        figures = [f"{1e3 * v:.2f}" for v in (row["forward"], row["adjoint"], rest, row["iteration"])]
        faster = f"{table['GPAIR']['iteration'] / row['iteration']:.2f}" if "GPAIR" in table else ""
        print(f"| {name} | {' | '.join(figures)} | {faster} | {', '.join(f'{v:.2g}' for v in errors[name])} |")


# ---- residual against time ----


def vessels(args: argparse.Namespace, context: isotome.Context, folder: str) -> None:
    from scipy.io import loadmat

    if not args.gpair:
        raise SystemExit("--case vessels: the traces are GPAIR's, so give --gpair FOLDER")
    places = loadmat(args.gpair / "data" / PLACES)["detector_locations"].astype(np.float64) * 1e3
    traces = loadmat(args.gpair / "data" / TRACES)["simulation_data"]
    n = args.shrink
    case = Case(places, (512 // n, 512 // n, 256 // n), 0.1 * n, args.fmax_mhz / n)
    curves: dict[str, tuple[list[float], list[float]]] = {}
    goal = 0.0
    if not args.alone:
        gpair, how = Gpair(args.gpair, case, traces, Clock(context.is_cuda)), settings(args.gpair)
        gpair.iterate({**how, "max_iterations": 3})  # compiles and tunes
        seconds, rho, _ = gpair.iterate(how)
        curves["GPAIR"], goal = (seconds, rho), rho[-1]
        n = how["max_iterations"]
        print(f"GPAIR, {n} iterations: {seconds[-1]:.3f} s on the device, rho {rho[-1]:.4f}", flush=True)
    ours = Isotome(case, context, folder)
    for name, method in METHODS.items():
        for e in args.accuracy:
            more = {**method, "accuracy": e}
            ours.run(traces, iterations=2, **more)
            seconds, rho, took = ours.run(traces, iterations=args.iterations, **more)
            curves[f"Isotome {name}, {e:g}"] = seconds, rho
            print(f"Isotome {name}, accuracy {e:g}, {args.iterations} iterations: {took:.3f} s, rho {rho[-1]:.4f}")
            enough = next((i for i, r in enumerate(rho) if r <= goal), None)
            if enough:
                took = statistics.median(ours.run(traces, iterations=enough, **more)[2] for _ in range(3))
                print(f"    not above GPAIR's rho after {enough} iterations: {took:.3f} s from host to host")
    print(gpu_words())
    write(curves, args)


def write(curves: dict[str, tuple[list[float], list[float]]], args: argparse.Namespace) -> None:
    with open(args.csv, "w", newline="") if args.csv else contextlib.nullcontext(sys.stdout) as file:
        rows = csv.writer(file)
        rows.writerow(["code", "iteration", "seconds", "rho"])
        for name, (seconds, rho) in curves.items():
            rows.writerows([name, i, f"{s:.5f}", f"{r:.5f}"] for i, (s, r) in enumerate(zip(seconds, rho)))
    if args.plot:
        Path(args.plot).write_text(drawing(curves))


def drawing(curves: dict[str, tuple[list[float], list[float]]]) -> str:
    """rho against seconds, both on logarithmic axes, as SVG."""
    points = [(s, r) for t, rho in curves.values() for s, r in zip(t, rho) if s > 0 and r > 0]
    low_s, high_s = (10 ** f(math.log10(v)) for f, v in ((math.floor, min(points)[0]), (math.ceil, max(points)[0])))
    low_r = min(r for _, r in points) * 0.9
    x = lambda s: 60 + 560 * math.log(s / low_s) / math.log(high_s / low_s)  # noqa: E731
    y = lambda r: 20 + 320 * math.log(1 / r) / math.log(1 / low_r)  # noqa: E731
    parts = ["<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 640 380' font-family='sans-serif' font-size='12'>"]
    parts.append("<rect width='640' height='380' fill='#ffffff'/><g fill='#5a6675'>")
    decades = range(round(math.log10(low_s)), round(math.log10(high_s)) + 1)
    for s in (10.0**k for k in decades):
        parts.append(f"<path d='M{x(s):.1f} 20V340' stroke='#dde3ea'/><text x='{x(s):.1f}' y='356'>{s:g} s</text>")
    for r in (v for v in (1, 0.5, 0.2, 0.1, 0.05, 0.02) if v >= low_r):
        parts.append(f"<path d='M60 {y(r):.1f}H620' stroke='#dde3ea'/><text x='20' y='{y(r) + 4:.1f}'>{r:g}</text>")
    parts.append("<text x='20' y='14'>rho</text></g>")
    colours = "#111111", "#c4500a", "#f0a050", "#0a6cc4", "#60b0f0", "#1a8a3a", "#80c890", "#8a2a8a", "#c890c8"
    for i, (name, (seconds, rho)) in enumerate(curves.items()):
        line = " ".join(f"{x(s):.1f},{y(r):.1f}" for s, r in zip(seconds, rho) if s > 0 and r > 0)
        colour = colours[i % len(colours)]
        parts.append(f"<polyline points='{line}' fill='none' stroke='{colour}' stroke-width='1.5'/>")
        parts.append(f"<text x='72' y='{334 - 15 * i}' fill='{colour}'>{name}</text>")
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpair", type=Path, help="folder of GPAIR's repository; without it only Isotome is timed")
    parser.add_argument("--case", choices=("256", "512", "vessels"), default="256")
    parser.add_argument("--accuracy", type=lambda s: [float(v) for v in s.split(",")], default=list(ACCURACIES))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=60, help="of Isotome's curves of the case vessels")
    parser.add_argument("--fmax-mhz", type=float, default=10, help="highest line of the case vessels")
    parser.add_argument("--csv", help="file for the curves; without it they are printed")
    parser.add_argument("--plot", help="file for a drawing of the curves, .svg")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--shrink", type=int, default=1, help="so many times larger voxels, for a try on a CPU")
    parser.add_argument("--alone", action="store_true", help="the case vessels by Isotome alone")
    args = parser.parse_args()
    args.iteration = METHODS["nncg"]
    warnings.simplefilter("ignore", isotome.IsotomeWarning)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/part")
        context = isotome.Context(args.device)
        (vessels if args.case == "vessels" else compare)(args, context, folder)


if __name__ == "__main__":
    main()
