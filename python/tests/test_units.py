# SPDX-License-Identifier: BSD-3-Clause
"""Calibrations, Bq/ml and SUV of a problem, PET-BIDS."""

import json

import numpy as np
import pytest
from conftest import make_lines

import isotome

RUN = {"grid": (8, 8, 4), "voxel": 10, "sens": "none", "iterations": 2, "isotope": "F-18", "duration_s": 100}


@pytest.fixture
def phantom(tmp_path):
    """The file of an image in counts/mm, and the events it is of."""
    events = make_lines(500)
    isotome.ray(events, **RUN, started_at="10:00").reconstruct(tmp_path / "phantom.nii")
    return tmp_path / "phantom.nii", events


def test_branching():
    assert isotome.branching("f-18") == 0.9673
    with pytest.raises(isotome.ArgumentError, match="did you mean F-18"):
        isotome.branching("F-19")


def test_a_calibration_gives_its_phantom_back(phantom, tmp_path):
    path, events = phantom
    box = "box:-20,20,-20,20,-10,10"
    made = isotome.calibrate(path, 5000, box)
    assert made.error > 0 and made.scanner == ""
    made.write(tmp_path / "k.json")
    with pytest.raises(isotome.ArgumentError, match="exists"):
        made.write(tmp_path / "k.json")
    read = isotome.Calibration(tmp_path / "k.json")
    assert read.k == pytest.approx(made.k, rel=1e-12) and f"{made.k:.6g}" in repr(read)
    # a half life earlier it was twice as much
    earlier = isotome.calibrate(path, 10000, box, at="08:10:13.8")
    assert earlier.k == pytest.approx(made.k, rel=1e-9)

    image = isotome.ray(events, **RUN, calibration=str(tmp_path / "k.json")).reconstruct()
    assert image.unit == "Bq/mL"
    assert image[1:3, 2:6, 2:6].mean() == pytest.approx(5000, rel=1e-4)
    times = {"injected_at": "23:30", "started_at": "00:30"}
    suv = isotome.ray(
        events, **RUN, calibration=made.k, suv=True, weight_kg=70, dose_mbq=350, **times
    ).reconstruct()
    assert suv.unit == "g/mL"
    dose = 350e6 * 2 ** (-3600 / isotome.half_life("F-18"))
    np.testing.assert_allclose(suv, image * np.float32(70e3 / dose), rtol=1e-3)
    with pytest.raises(isotome.ArgumentError, match="'projector' slice, this run has joseph"):
        isotome.ray(events, **RUN, projector="joseph", calibration=str(tmp_path / "k.json")).reconstruct()


def test_bids(phantom, tmp_path):
    path, events = phantom
    with pytest.raises(isotome.InputError, match="counts/mm"):
        isotome.bids(path, tmp_path / "study", "01")
    times = {"injected_at": "09:00", "started_at": "10:00"}
    isotome.ray(events, **RUN, calibration=3.0, **times).reconstruct(tmp_path / "b.nii")
    with pytest.raises(isotome.ArgumentError, match="'tracer-name'"):
        isotome.bids(tmp_path / "b.nii", tmp_path / "study", "01")
    with pytest.raises(isotome.ArgumentError, match="Tracer: wanted one of"):
        isotome.bids(tmp_path / "b.nii", tmp_path / "study", "01", Tracer="FDG")
    place = isotome.bids(
        tmp_path / "b.nii",
        tmp_path / "study",
        "01",
        Manufacturer="us",
        ManufacturersModelName="lines",
        TracerName="FDG",
        InjectedRadioactivity=185,
        InjectedMass="n/a",
        SpecificRadioactivity="n/a",
        ModeOfAdministration="bolus",
    )
    assert place == tmp_path / "study" / "sub-01" / "pet" / "sub-01_pet.nii.gz"
    sidecar = json.loads((place.parent / "sub-01_pet.json").read_text())
    assert sidecar["InjectedRadioactivity"] == 185 and sidecar["InjectionStart"] == -3600
    assert isotome.read(place).unit == "Bq/mL"
