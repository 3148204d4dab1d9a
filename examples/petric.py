#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reconstructs a folder of PETRIC, the PET Rapid Image reconstruction Challenge, as it is:

    prompts.hs  mult_factors.hs  additive_term.hs    counts y, factors m, additive term r/m (Interfile)
    OSEM_image.hv  kappa.hv  penalisation_factor.txt start, weights of the penalty, beta (default 1/700)
    PETRIC/reference_image.hv  PETRIC/VOI_*.hv       converged image, masks; without them no figures are printed

and prints after each pass how far the image is from the converged one, by PETRIC's figures. The penalty is PETRIC's: relative
differences, gamma 2, epsilon 1e-3 of the maximum of the OSEM image.

    python3 examples/petric.py Siemens_mMR_NEMA_IQ -o x.nii
"""

import argparse
import time
from pathlib import Path

import isotome


class Table:
    """A line for each pass, and the first from which on all figures stay within PETRIC's thresholds."""

    def __init__(self, folder, unit):
        self.folder, self.unit, self.began, self.within = folder, unit, time.perf_counter(), None
        self.regions = folder.regions
        self.whole = folder.reference is not None and folder.whole is not None
        if self.whole:
            print("  pass   seconds   RMSE_W  RMSE_Bg", *(f"{'AEM ' + name:>14}" for name in self.regions))

    def __call__(self, step):
        seconds = time.perf_counter() - self.began
        if not self.whole:
            return
        f = isotome.measure.petric(
            step.image / self.unit,
            self.folder.reference,
            whole=self.folder.whole,
            background=self.folder.background,
            regions=list(self.regions.values()),
        )
        print(
            f"{step.iteration:6d} {seconds:9.2f} {f.rmse_whole:8.4f} {f.rmse_background:8.4f}",
            *(f"{a:14.4f}" for a in f.aem),
            flush=True,
        )
        self.within = (self.within or step.iteration) if f.converged else None
        self.began += time.perf_counter() - self.began - seconds  # figures are not part of the run

    def end(self):
        if self.whole and self.within:
            print(f"within PETRIC's thresholds from pass {self.within} on")
        elif self.whole:
            print("not within PETRIC's thresholds: 0.01, 0.01 and 0.005")


def main():
    parser = argparse.ArgumentParser(description="reconstruct a folder of PETRIC and print its figures")
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", help="image to write (.nii, .hv), in the folder's unit")
    parser.add_argument("--method", default="svrg", help="svrg, saga, bsrem or lbfgs")
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--subsets", type=int)
    parser.add_argument("--tolerance", type=float, default=0, help="end where the image changes less than this")
    parser.add_argument("--unit", type=float, help="counts/mm of a value of 1 in the folder's images")
    parser.add_argument("--device", default="auto")
    of = parser.parse_args()

    folder = isotome.petric.read(of.folder)
    unit, problem = isotome.petric.problem(
        folder,
        method=of.method,
        passes=of.passes,
        tolerance=of.tolerance,
        unit=of.unit,
        device=of.device,
        **({"subsets": of.subsets} if of.subsets else {}),
    )
    print(f"unit of the folder's images: {unit:.6g} of ours; beta {folder.beta:.6g}")
    table = Table(folder, unit)
    image = problem.reconstruct(callback=table)
    table.end()
    if of.output:
        isotome.write(of.output, isotome.Image(isotome.petric.in_its_unit(image, unit), folder.start.grid))


if __name__ == "__main__":
    main()
