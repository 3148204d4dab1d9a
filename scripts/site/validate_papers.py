# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the papers' studies for the page of validation: sections(program, scale, folder) runs them and yields Markdown.

A study is a function of its results.json that yields rows (what, found, what it should be or the paper has).
"""

import json
import subprocess
import sys


def number(v):
    return "not measured here" if v is None else f"{v:.3g}"


def bialas(r):
    figure = r["figure_3"]
    yield "NRMSE against the phantom, direct image", number(figure["direct_nrmse"]), ""
    for x in figure["images"]:
        if x["form"] == "ml":
            yield f"the same, maximum likelihood, {x['iterations']} iterations", number(x["nrmse"]), "less than the direct image"
    for kernel in ("eq7", "gauss", "tan"):
        worst = max((x for x in r["total_variation"] if x["kernel"] == kernel), key=lambda x: x["interior"])
        yield (f"total variation between kernel {kernel} and simulated events, the worst of five places", number(worst["interior"]),
               f"noise alone: {number(worst['noise_interior'])}")


def vangendt(r):
    for x in r["table_3"]:
        other = x.get("cuda_from_cpu")
        yield (f"NRMSE against the phantom: {x['algorithm']}", number(x["nrmse"]),
               f"CUDA differs from the CPU by {number(other)}" if other is not None else "")


def wang(r):
    for x in r["study"]:
        if x["rmse"] is not None:  # else a row of times
            yield f"RMSE against the phantom: {x['method']}, {x['data']} transducers", number(x["rmse"]), ""


def rods(found):
    return ", ".join(f"{x['diameter_mm']:g} mm: {number(x['valley_to_peak'])}" for x in found)


def meng(r):
    for x in r["tables_3_and_4"]:
        yield (f"difference of the image from `combined` on the CPU, %: `{x['strategy']}`, {x['device']}", number(x["diff_percent"]),
               "the paper, GPU against CPU: 0.006 to 0.55")
    yield "valley to peak of the rods", rods(r["derenzo"]["rods"]), "resolved below 0.735; the paper: 1.2 mm and larger"
    for x in r["table_6"]["matrices"]:
        yield f"floor of the noise, %: {x['matrix']}", number(x["floor_percent"]), f"the paper: {r['table_6']['paper_floor_percent']}"


def chou(r):
    for x in r["derenzo"]["images"]:
        yield f"valley to peak of the rods after {x['iterations']} iterations", rods(x["rods"]), "resolved below 0.735"


def nema(r):
    yield "expected scatter over that of the scan", number(r["scan"]["expected_over_scanned"]), "1"
    for x in r["image_quality"]:
        how = f"{x['form']}, {'with' if x['tof'] else 'without'} time of flight"
        yield f"background over the truth: {how}", number(x["background"]), "more than 1" if x["form"] == "none" else "1"
        yield f"lung, % of the background: {how}", number(x["lung"]), "0"
    for x in r["cylinder"]["rows"]:
        yield (f"uniform cylinder, annuli from the middle out: {x['form']}", ", ".join(map(number, x["annuli"])),
               "more than 1" if x["form"] == "none" else "1")


def priors(r):
    for x in r["convergence"]:
        yield (f"passes until the image is converged, {x['method']}", number(x["passes"]) if x["reached"] else "not reached",
               "svrg in about ten")
        yield f"error of the whole object after that, {x['method']}", number(x["rmse_whole"]), ""
    for x in r["references"]:
        yield "KKT residual of a reference image", number(x["kkt"]), "0"


STUDIES = {
    "vangendt2021": ("Van Gendt et al. 2021, list-mode PET", vangendt, ()),
    "bialas2015": ("Bialas et al. 2015, two-strip J-PET", bialas, ()),
    "meng2019": ("Meng et al. 2019, dual-head PET", meng, ()),
    "chou2012": ("Chou et al. 2012, dual-head PET", chou, ()),
    "wang2013": ("Wang et al. 2013, optoacoustics", wang, ("--only", "study")),
    "nema": ("Image quality after NEMA NU 2, with and without scatter correction", nema, ()),
    "priors": ("Penalised likelihood", priors, ()),
}


def sections(program, scale, folder):
    yield "## Papers and physical checks\n"
    yield (f"Studies of `isotome reproduce`, here with `--scale {scale}`"
           + (", a rehearsal: sizes and counts are so small that the figures show that the studies work, not what they find" * (scale == "tiny"))
           + ". The figures at the papers' own sizes, measured on an NVIDIA H200, are on the pages of the models: "
           "[list mode](list-mode.md#how-fast-and-why), [dual heads](dual-head.md#the-papers-measured-here), [strips](jpet.md#kernels), "
           "[optoacoustics](optoacoustic.md#the-papers-arrays-and-experiments), [scatter](scatter.md#how-it-was-verified).\n")
    for name, (title, figures, words) in STUDIES.items():
        done = subprocess.run([program, "reproduce", name, "--scale", scale, *words, "-q", "-o", folder / name],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"isotome reproduce {name}: {done.stderr.strip()}")
        results = json.loads((folder / name / "results.json").read_text())["results"]
        yield f"### {title}\n"
        yield f"<!-- not run: scripts/validate.sh does -->\n\n```sh\n{' '.join(['isotome reproduce', name, '--scale', scale, *words, '-o', name])}\n```\n"
        yield "| what | found | should be, or the paper |\n| --- | --- | --- |"
        yield from (f"| {what} | {found} | {other} |" for what, found, other in figures(results))
        yield ""
