# SPDX-License-Identifier: BSD-3-Clause
"""isotome.norm: efficiencies with which events were simulated are found again; what is refused."""

import json

import numpy as np
import pytest

import isotome

RING = """kind: cylinder
radius_mm: 80
rings: 2
ring_pitch_mm: 8
crystals_per_ring: 48
crystal_mm: [9.5, 8, 10]
block: {crystals: 6, gap_mm: 1}
min_crystal_distance: 8
"""
SHAPE = "cylinder:0,0,0,45,40"


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("norm")
    (folder / "ring.yaml").write_text(RING)
    grid = isotome.Grid((48, 48, 20), (2, 2, 2))
    x, y = np.meshgrid(np.arange(48) * 2 - 47, np.arange(48) * 2 - 47)
    image = isotome.Image(np.broadcast_to(np.hypot(x, y) < 45, grid.shape).astype("f4"), grid)
    eff = np.random.default_rng(2).normal(1, 0.15, 96).clip(0.4).astype("f4")
    eff[5] = 0
    scanner = isotome.Scanner(folder / "ring.yaml")
    events = isotome.simulate(image, scanner, counts=2e5, eff=eff, seed=3)
    return folder, scanner, events, image, eff


def test_efficiencies_are_found(scan):
    folder, scanner, events, image, eff = scan
    norm = isotome.norm(scanner, events, SHAPE, relative=True)
    assert norm.crystals[5] == 0 and norm.found["dead"] == 1
    alive = eff > 0
    off = norm.crystals[alive] / norm.crystals[alive].mean() * eff[alive].mean() / eff[alive] - 1
    assert 0.6 < np.sqrt(np.mean((off / norm.sd[alive]) ** 2)) < 1.6
    assert len(norm.place) == 2 and abs(norm.place[0]) < 5 * norm.place_sd[0]
    assert norm.transaxial == {} and norm.axial == {}
    assert norm.pair(1, 25) == pytest.approx(norm.crystals[1] * norm.crystals[25])
    norm.save(folder / "a.norm.json")
    assert json.loads((folder / "a.norm.json").read_text())["kind"] == "norm"
    with pytest.raises(isotome.ArgumentError, match="exists"):
        norm.save(folder / "a.norm.json")


def test_components(scan):
    folder, scanner, events, image, eff = scan
    norm = isotome.norm(scanner, events, image, components="crystal,transaxial,axial", place="given")
    assert set(norm.axial) == {0, 1, 3}
    assert norm.place == ()
    k = min(norm.transaxial)
    assert k == 8 and norm.transaxial[k] > 0


def test_simulated_factors_of_pairs(scan):
    folder, scanner, events, image, eff = scan
    norm = isotome.norm(scanner, events, image, components="crystal,transaxial,axial", place="given")
    thin = isotome.simulate(image, scanner, counts=2e5, norm=norm, seed=3)
    assert thin.info.thinned > 0
    assert len(thin) == thin.info.trues - thin.info.thinned

    whole = isotome.simulate(image, scanner, counts=2e5, eff=norm.crystals.astype("f4"), seed=3)

    def of_rings(e):  # counts of pairs of rings 0-0, 0-1, 1-1
        return np.bincount((e.crystal // 48).sum(axis=1), minlength=3)

    before, after = of_rings(whole), of_rings(thin)
    expected = np.array([norm.axial[key] for key in (0, 1, 3)])
    share = after / before / expected
    assert share == pytest.approx(share.mean(), rel=5 / np.sqrt(after.min()))
    with pytest.raises(isotome.ArgumentError, match="given eff and norm"):
        isotome.simulate(image, scanner, counts=10, eff=eff, norm=norm)


def test_resumed(scan, tmp_path):
    folder, scanner, events, image, eff = scan
    whole = isotome.norm(scanner, events, SHAPE)
    steps = []

    def stop(told):
        if told.stage == "fit" and told.done > 0:
            steps.append(told.done)
            return len(steps) == 3
        return False

    with pytest.raises(isotome.Cancelled):
        isotome.norm(scanner, events, SHAPE, checkpoint=tmp_path / "a.ckpt", progress=stop)
    norm = isotome.norm(scanner, events, SHAPE, checkpoint=tmp_path / "a.ckpt", resume=True)
    assert np.array_equal(norm.crystals, whole.crystals) and norm.place == whole.place
    assert norm.found["resumed_from"] == steps[-1]
    with pytest.raises(isotome.InputError, match="checkpoint of other inputs"):
        isotome.norm(scanner, events, SHAPE, rays=3, checkpoint=tmp_path / "a.ckpt", resume=True)


def test_without_tables(scan):
    folder, scanner, events, image, eff = scan
    whole, rows = (isotome.norm(scanner, events, SHAPE, place="given", tables=t) for t in (True, False))
    assert np.array_equal(whole.crystals, rows.crystals) and whole.found == rows.found
    with pytest.raises(isotome.ArgumentError, match="without tables"):
        isotome.norm(scanner, events, image, place="given", tables=False)


def test_share_of_pairs(scan):
    folder, scanner, events, image, eff = scan
    whole, part = (isotome.norm(scanner, events, SHAPE, place="given", pair_share=f) for f in (0, 0.5))
    assert 0.4 < part.found["all_counts"] / whole.found["all_counts"] < 0.6
    both = (whole.sd > 0) & (part.sd > 0)
    off = np.log(part.crystals[both] / whole.crystals[both]) / part.sd[both]
    assert np.sqrt(np.mean(off**2)) < 1


def test_what_is_refused(scan):
    folder, scanner, events, image, eff = scan
    with pytest.raises(isotome.ArgumentError, match="wanted some of crystal,transaxial,axial"):
        isotome.norm(scanner, events, SHAPE, components="block")
    with pytest.raises(isotome.ArgumentError, match="wanted 'fit'"):
        isotome.norm(scanner, events, SHAPE, place="here")
    with pytest.raises(isotome.ArgumentError, match="expected 5 numbers"):
        isotome.norm(scanner, events, "cylinder:1,2")


def test_castor(scan):
    folder, scanner, events, image, eff = scan
    norm = isotome.norm(scanner, events, SHAPE, relative=True, place="given")
    with pytest.raises(isotome.ArgumentError, match="'scanner' says which"):
        norm.save(folder / "c.Cdh")
    norm.save(folder / "c.Cdh", scanner=scanner)
    lines = np.fromfile(folder / "c.Cdf", dtype=[("factor", "<f4"), ("a", "<u4"), ("b", "<u4")])
    assert len(lines) > 100 and 5 not in lines["a"] and 5 not in lines["b"]
    for line in lines[:: len(lines) // 50]:
        assert norm.pair(int(line["a"]), int(line["b"])) * line["factor"] == pytest.approx(1, rel=1e-6)
    with pytest.raises(isotome.ArgumentError, match="exists"):
        norm.save(folder / "c.Cdh", scanner=scanner)
    assert norm.found["scattered"] == 0
