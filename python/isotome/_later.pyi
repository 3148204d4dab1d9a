# SPDX-License-Identifier: BSD-3-Clause
# Written by scripts/python-stubs.py --write.
"""What `isotome` has besides what its __init__.py imports, for type checkers and editors."""

import os
from collections.abc import Sequence
from typing import Any, Literal, Union

import numpy as np
from numpy.typing import NDArray

from .kinetics import Basis as Basis
from .kinetics import BloodInput as BloodInput
from .units import Calibration as Calibration
from .kinetics import Curve as Curve
from .kinetics import FrameFit as FrameFit
from .live import Live as Live
from .system_matrix import Matrix as Matrix
from .normalisation import Norm as Norm
from .drawing import Picture as Picture
from .motion import Poses as Poses
from .priors import Prior as Prior
from .priors import PriorValues as PriorValues
from .filters import Psf as Psf
from .recordings import Recording as Recording
from .dynamic import Replicates as Replicates
from .scanner import Scanner as Scanner
from .algorithms import Solution as Solution
from .transducers import Transducers as Transducers
from .transport import Transport as Transport
from .warps import Warp as Warp
from .kinetics import basis as basis
from .units import bids as bids
from .kinetics import blood as blood
from .units import branching as branching
from .units import calibrate as calibrate
from .algorithms import cg as cg
from . import cil as cil
from . import deepinv as deepinv
from .algorithms import em as em
from .filters import filter as filter
from .algorithms import fista as fista
from .kinetics import fit_frames as fit_frames
from .unmixing import fluence_depth as fluence_depth
from .simulation import half_life as half_life
from .lifetimes import lifetime as lifetime
from .kinetics import logan as logan
from . import measure as measure
from .ct import mu as mu
from . import nema as nema
from .normalisation import norm as norm
from .dynamic import part as part
from . import petric as petric
from .phantoms import phantom as phantom
from .phantoms import phantom_names as phantom_names
from .drawing import picture as picture
from .drawing import pictures as pictures
from .commissioning import rates as rates
from .files import read as read
from .eventfiles import read_events as read_events
from .recordings import read_recording as read_recording
from .eventfiles import read_strip_events as read_strip_events
from .tracking import register as register
from .dynamic import replicates as replicates
from .program import run as run
from .drawing import show as show
from .simulation import simulate as simulate
from .panel_simulation import simulate_panels as simulate_panels
from .simulation import simulate_singles as simulate_singles
from .simulation import simulate_strip as simulate_strip
from .sound_simulation import simulate_traces as simulate_traces
from . import sirf as sirf
from .commissioning import timing as timing
from . import torch as torch
from .tracking import track as track
from .unmixing import unmix as unmix
from .warps import warp as warp
from .transducers import water_speed as water_speed
from .dynamic import weights as weights
from .files import write as write
from .eventfiles import write_events as write_events
from .recordings import write_recording as write_recording
from .pages import write_report as write_report
from .eventfiles import write_strip_events as write_strip_events
from .pages import write_viewer as write_viewer
from .context import Context
from .events import Events
from .grid import Grid
from .problem import Problem

_File = Union[str, os.PathLike[str]]
_Array = Union[_File, NDArray[np.float32]]  # a file, or values in its place
_Events = Union[_Array, Events]
_Text = Union[str, float, Sequence[float]]
_Float = Union[float, Sequence[float], NDArray[np.floating[Any]]]
_Int = Union[int, Sequence[int], NDArray[np.integer[Any]]]


def ray(
    events: _Events | None = ...,
    *,
    context: Context | None = ...,
    like: _File | None = ...,
    preset: Literal["quick", "clinical", "converged", "none"] | None = ...,
    method: Literal["mlem", "osem", "svrg", "saga", "bsrem", "lbfgs", "depierro", "pdhg", "spdhg", "kem", "fbp"] | None = ...,
    iterations: int | None = ...,
    subsets: int | None = ...,
    subset_rule: Literal["interleaved", "blocks", "random", "mod", "groups"] | None = ...,
    seed: int | None = ...,
    sens: _Array | None = ...,
    sens_floor: float | None = ...,
    start: _Array | None = ...,
    filter: _Text | None = ...,
    filter_every: int | None = ...,
    save_every: int | None = ...,
    psf: _Float | None = ...,
    data: _Events | None = ...,
    scanner: _File | None = ...,
    scanner_differs: bool | None = ...,
    gate_mask: _Text | None = ...,
    trues_only: bool | None = ...,
    tree: _Text | None = ...,
    bins: Literal["counts", "line-integrals"] | None = ...,
    no_multiplicity: bool | None = ...,
    negative: Literal["clip", "keep", "refuse"] | None = ...,
    swap_dt: bool | None = ...,
    grid: _Int | Grid | None = ...,
    voxel: _Float | None = ...,
    centre: _Float | None = ...,
    projector: Literal["slice", "joseph"] | None = ...,
    rays: int | None = ...,
    response: _File | None = ...,
    response_lines: int | None = ...,
    tof_fwhm_ps: float | None = ...,
    tof_bin_ps: float | None = ...,
    tof_truncate: float | None = ...,
    times: _File | None = ...,
    mu: _Array | None = ...,
    precorrected: bool | None = ...,
    norm: _Array | None = ...,
    norm_inverse: bool | None = ...,
    additive: _Array | float | None = ...,
    additive_over_m: bool | None = ...,
    delayed: _Events | None = ...,
    singles: _Array | None = ...,
    coincidence_ns: float | None = ...,
    duration_s: float | None = ...,
    sens_share: float | None = ...,
    sens_seed: int | None = ...,
    cache: _File | None = ...,
    window: _Text | None = ...,
    no_cache: bool | None = ...,
    scatter: Literal["sss+mc", "sss", "mc"] | None = ...,
    scatter_rounds: int | None = ...,
    scatter_scale: _Text | None = ...,
    scatter_seed: int | None = ...,
    scatter_error: float | None = ...,
    scatter_extend: bool | None = ...,
    scatter_poses_mm: float | None = ...,
    scatter_save: _File | None = ...,
    energy_window: _Float | None = ...,
    energy_resolution: float | None = ...,
    poses: _Array | None = ...,
    poses_rule: Literal["linear", "step"] | None = ...,
    poses_inverse: bool | None = ...,
    poses_axes: _File | None = ...,
    reference: _File | None = ...,
    bed: _Array | None = ...,
    bed_inverse: bool | None = ...,
    gantry: _Array | None = ...,
    mu_fixed: _Array | None = ...,
    mu_bed: _Array | None = ...,
    sens_error: float | None = ...,
    sens_budget: int | None = ...,
    event_times: _File | None = ...,
    gates: _Array | None = ...,
    gate_shares: _Text | None = ...,
    fields: _Array | None = ...,
    field_axes: Literal["auto", "ras", "lps"] | None = ...,
    warp_mass: bool | None = ...,
    from_s: float | None = ...,
    to_s: float | None = ...,
    frames: _Text | None = ...,
    isotope: _Text | None = ...,
    half_life_s: float | None = ...,
    live_share: _Text | None = ...,
    rates: _File | None = ...,
    penalty: _Text | None = ...,
    tolerance: float | None = ...,
    curve: _File | None = ...,
    kappa: _Array | None = ...,
    unseen: Literal["drop", "keep"] | None = ...,
    bowsher: _Array | None = ...,
    step: float | None = ...,
    relax: float | None = ...,
    kernel: _Array | None = ...,
    resume: bool | None = ...,
    checkpoint_minutes: float | None = ...,
    stop_after: float | None = ...,
    stream: bool | None = ...,
    block: int | None = ...,
    scratch: _File | None = ...,
    force: bool | None = ...,
    calibration: _File | None = ...,
    branching: float | None = ...,
    started_at: _Text | None = ...,
    suv: bool | None = ...,
    weight_kg: float | None = ...,
    dose_mbq: float | None = ...,
    residual_mbq: float | None = ...,
    injected_at: _Text | None = ...,
    nonneg: bool | None = ...,
    weigh: Literal["equal", "area"] | None = ...,
    precondition: Literal["none", "image"] | None = ...,
    replicates: int | None = ...,
    replicates_seed: int | None = ...,
    replicates_save: _File | None = ...,
    replicates_batch: int | None = ...,
    regions: _Array | None = ...,
    fisher: bool | None = ...,
    kinetics: _Text | None = ...,
    input: _File | None = ...,
    input_zero_s: float | None = ...,
    input_delay_s: float | None = ...,
    input_decay: Literal["corrected", "raw"] | None = ...,
    input_unit: _Text | None = ...,
    plasma_ratio: float | None = ...,
    unitless: bool | None = ...,
    basis: _File | None = ...,
    inner: int | None = ...,
    accept: _Text | None = ...,
) -> Problem:
    """A problem of model ray: `.reconstruct()` makes the image, `.operator()` the operator.

    context: the Context to compute with; None: that of the process.
    like: the record of an earlier run, a JSON file: sets what is not given here, but not what is written.

    Reconstruction
    --------------
    preset: 'quick' or 'clinical' or 'converged' or 'none'; default quick in the command recon, unless one of 'method', 'iterations', 'subsets', 'grid', 'voxel', 'filter' and their like is given; else none
        method, subsets, voxels and filter chosen from counts and crystals: quick (osem for a
        first look), clinical (osem with a point spread function and a narrow filter), converged
        (svrg with penalty rdp). What is given besides wins; none chooses nothing
    method: 'mlem' or 'osem' or 'svrg' or 'saga' or 'bsrem' or 'lbfgs' or 'depierro' or 'pdhg' or 'spdhg' or 'kem' or 'fbp'; default mlem
        mlem: maximum likelihood, from all data in each update. osem: the same from 'subsets' in
        turn, which is quicker. svrg: with a 'penalty', converges in about ten passes. saga: as
        svrg, which it is seldom better than. bsrem: with a 'penalty', by steps that shrink.
        lbfgs: with a 'penalty', from all data in each update (the reference). depierro: EM with
        a 'penalty', which never makes the image worse, but is slow. pdhg: total variation that
        is not smoothed, from all data in each update. spdhg: the same from 'subsets', which is
        quicker. kem: EM with a 'kernel' of other images. fbp: filtered back-projection of
        single-slice sinograms, for NEMA's resolution
    iterations: int; default 10
        passes over all data: 10; 20 for svrg, saga, bsrem; 400 for lbfgs; 100 for depierro,
        spdhg; 500 for pdhg. 'tolerance' may end a run earlier. With a penalty, the start counts
        as a pass
    subsets: int; default 1; 8 for osem; 4 to 32, each of 1000 counts or more, for svrg, saga, bsrem, lbfgs, spdhg
        parts of the data, taken in turn
    subset_rule: 'interleaved' or 'blocks' or 'random' or 'mod' or 'groups'; default interleaved
        interleaved: subset b holds events b, b+K, b+2K, ...; blocks: consecutive events;
        random: events drawn at random. For srm the rule is for directions: mod, groups (4 x 4
        neighbours together) or random
    seed: int; default 1
        seed of 'subset-rule' random, and of methods that take subsets in random order
    sens: file or array; default from 'scanner'
        sensitivity image, without 'psf'; none: 1 everywhere
    sens_floor: float; default 0.2
        a voxel that hardly any line crosses gets no activity. Its sensitivity is below F of its
        neighbours' and of its plane's median; 0: all voxels get some
    start: file or array; default 1 everywhere; one pass of osem for svrg, saga, bsrem, lbfgs, depierro, pdhg, spdhg
        start image
    filter: text
        gaussian:MM, gaussian:X,Y,Z, median:N or none, after the last iteration
    filter_every: int; default once, at the end
        filter after every N iterations; the next iteration starts from the filtered image
    save_every: int; default 0
        also write the image after every N iterations (x_it005.nii)

    Image
    -----
    psf: 3 x float, mm; default none
        FWHM in mm of the point spread function of the image, one for all axes or one each

    Model ray
    ---------
    events: file, array or Events
        list-mode events, or a histogram of lines with counts (lmdT .lmdT, CASToR .Cdh, PETLINK
        .l.hdr .l, PETSIRD .petsird, NumPy rows .npy, GATE text .dat .txt, CSV .csv, Interfile
        .hs, GATE ROOT .root, GATE HDF5 .hdf5); with 'fields' a histogram for each gate,
        FILE,FILE,...
    data: file, array or Events
        the same as 'events'
    scanner: file; default the one in the events' file; if the file has none, a cylinder through the end points of the events
        scanner description (YAML or JSON), or a CASToR .hscan or .geom
    scanner_differs: bool; default false
        use 'scanner' although the events' file brings another one; crystal numbers then count
        in 'scanner'
    gate_mask: text
        GATE text: the 18 column switches, "1 1 0 ...", if some are off
    trues_only: bool; default false
        GATE: keep only pairs of one decay whose photons did not scatter in the phantom
    tree: text
        GATE's ROOT and HDF5 files: name of the tree or table (default Coincidences)
    bins: 'counts' or 'line-integrals'; default what the values look like
        projection data: values are counts, which grow with the number of crystal pairs of a
        bin, or line-integrals, which do not
    no_multiplicity: bool; default false
        projection data: the same as 'bins' line-integrals
    negative: 'clip' or 'keep' or 'refuse'; default clip if their sum is at most 1 % of the others', otherwise refuse
        projection data with values below 0: clip them to 0, keep them (recon then refuses), or
        refuse the file
    swap_dt: bool; default false
        turn the sign of the file's time differences
    grid: 3 x int or Grid; default the grid of the image, if one is given, or else the scanner's field of view
        number of voxels
    voxel: 3 x float, mm; default that of the image, or else about half a crystal
        size of a voxel, mm
    centre: 3 x float, mm; default 0,0,0, or the centre of the scanner if its field of view is used
        centre of the image, mm
    projector: 'slice' or 'joseph'; default slice
        slice: exact chords through box voxels; joseph: bilinear samples, smooth inside
    rays: int; default 1
        lines per event, spread over its two crystals (needs crystal_mm of the scanner)
    response: file
        table of isotome response: lines of an event lie where its crystals record photons, and
        pairs of crystals weigh as these respond
    response_lines: int; default 25
        lines per event with 'response'
    tof_fwhm_ps: float, ps; default the events' or the scanner's
        time-of-flight resolution; 0: do not use time of flight
    tof_bin_ps: float, ps; default the events', or the scanner's if all times are centres of its bins
        width of a bin of t1 - t2; 0: times are not binned
    tof_truncate: float; default 3
        cut the TOF kernel at K sigma; 0: do not cut
    times: file
        time offsets of the crystals, by 'isotome timing': the time differences of all events
        are corrected
    mu: file or array
        attenuation map, 1/mm; with 'fields' also a list of maps, one per gate
    precorrected: bool; default false
        divide events by their attenuation instead of putting it into the model
    norm: file or array
        efficiencies per crystal, or factors per event (the length says which), or projection
        data on the bins of 'events', or NAME.norm.json of isotome norm, or a normalisation file
        of CASToR (.Cdh)
    norm_inverse: bool; default false
        'norm' holds 1/efficiency, as STIR's norm factors do
    additive: file or array or float
        expected counts of randoms and scatter in the whole scan: a file with one value per
        event, one number for all, or projection data on the bins of 'events'. With TOF the
        values are per mm, or per bin of 'tof-bin-ps'
    additive_over_m: bool; default false
        'additive' was divided by the factors m, as PETRIC's additive_term is
    delayed: file, array or Events; default the delayed events in the events' file, if it has any
        events of the delayed window, from which randoms are estimated and added
    singles: file or array
        single counts per crystal, from which randoms are estimated and added
    coincidence_ns: float, ns; default the scanner's
        two photons at most this far apart form a pair; used for 'singles', and for randoms with
        TOF
    duration_s: float, s; default what the events' file says
        how long the scan took
    sens_share: float; default all pairs of a cylinder, otherwise up to 2e7 (CPU) or 3e8 (CUDA)
        share of the crystal pairs that is drawn for the sensitivity; 1: all pairs
    sens_seed: int; default 1
        seed of that draw
    cache: folder; default $ISOTOME_CACHE, else $XDG_CACHE_HOME/isotome, else ~/.cache/isotome
        folder that keeps the sensitivity for the next run of the same scanner, grid and
        factors; none: compute it again
    window: text; default none
        window of the ramp: (1 + cos(pi f/(C f_N)))/2 below C times the Nyquist frequency f_N, 0
        above; C at most 1
    no_cache: bool; default false
        the same as 'cache' none
    scatter: 'sss+mc' or 'sss' or 'mc'; default none
        estimate the scattered coincidences of a ring from coarse images of the scan; needs
        'mu'. sss+mc: single scatter by formula and multiple scatter by Monte Carlo; sss: single
        scatter alone; mc: all by Monte Carlo
    scatter_rounds: int; default 3
        largest number of rounds, each an image and an estimate
    scatter_scale: text; default 1
        factor on the estimate, which is already in counts. fit: the factor that lines beside
        the object ask for, if it is within 5 sigma of the estimate; fit-anyway: that factor in
        any case
    scatter_seed: int; default 1
        seed of the Monte Carlo
    scatter_error: float; default 0.01
        statistical error of the Monte Carlo, as a share of the scatter
    scatter_extend: bool; default false
        repeat the last planes of image and map beyond their ends
    scatter_poses_mm: float, mm; default 10
        an estimate serves all poses of an object that moves in which no corner of the image is
        farther than this from its first pose; at most 32 are made
    scatter_save: file
        write the last estimate as a table over sample detectors and time of flight
    energy_window: 2 x float, keV; default the scanner's
        energies that the scanner counts
    energy_resolution: float; default the scanner's
        FWHM at 511 keV, as a share of 511 keV
    poses: file or array
        where the object is at each time (.csv, .npy, or YRT-PET's motion .csv); every event is
        moved with the object, and the sensitivity is that of all poses. The image shows the
        object where its pose is the identity
    poses_rule: 'linear' or 'step'; default the file's
        linear: poses are interpolated between rows; step: a row holds until the next
    poses_inverse: bool; default false
        the rows map the scanner to the object, as those of YRT-PET do
    poses_axes: file
        3 x 4 matrix C from the tracker's axes to the scanner's, x_scanner = C x_tracker; a pose
        P becomes C P C^-1
    reference: file or float
        the pose that is to be the identity: the pose at this time in s, the mean pose of the
        scan, or a table of one row. The image and 'mu' show the object as it lay then
    bed: file or array
        where the bed is at each time: a table as 'poses', or one of time_s and z_mm
    bed_inverse: bool; default false
        the rows of 'bed', or the bed's transforms in the events' file, map the scanner to the
        bed
    gantry: file or array
        where the crystals are at each time: a table as 'poses', or one of time_s and angle_deg
        around z
    mu_fixed: file or array
        attenuation map of what stays with the scanner, such as coils, 1/mm
    mu_bed: file or array
        attenuation map of what moves with the bed, 1/mm
    sens_error: float; default 0.005
        wanted relative error of a voxel of the sensitivity, where each crystal pair is taken at
        some of the poses
    sens_budget: int; default 2e8 (CPU) or 3e9 (CUDA)
        the sensitivity takes all crystal pairs at all poses if these are at most N lines; 0:
        never
    event_times: file
        time of each event, for formats that have no times: integers in ms, or floating point
        numbers in s
    gates: file or array
        which state of its breathing or heartbeat the object was in: a table of times (.csv,
        from isotome gate), or an .npy of one whole number an event, -1 for none. The result is
        a 4-D image with one image per gate
    gate_shares: text
        share of the time of each gate, if 'gates' has a number an event, or 'events' names a
        histogram for each gate
    fields: file or array
        displacement field of each gate (.nii, .nii.gz, .npy; none: the gate lies as the image
        does). The result is one image of the events of all gates
    field_axes: 'auto' or 'ras' or 'lps'; default auto
        which way the components of 'fields' point, auto as the files say
    warp_mass: bool; default false
        activity moves with the tissue, so that its sum is kept; else the concentration does

    Times, in s since the start of the scan
    ---------------------------------------
    from_s: float, s; default the first
        use only events from this time on
    to_s: float, s; default the last
        use only events before this time
    frames: text
        edges of frames in s, in rising order. FIRST:STEP:LAST stands for many edges, as in
        0:10:600 or 0:5:60,120,180. The result is a 4-D image with one image per frame, at most
        100000
    isotope: text
        correct for the decay of this isotope to the start of the scan: F-18, C-11, O-15, N-13,
        Ga-68, Cu-64, Zr-89, Rb-82 or I-124
    half_life_s: float, s; default the isotope's
        correct for decay with this half-life
    live_share: text; default 1
        live share of the time, above 0 to 1, one for all frames or one each
    rates: file
        dead time of the scanner, by 'isotome rates': the live share of each frame follows from
        its own events, in place of 'live-share'

    Penalties and kernels
    ---------------------
    penalty: text
        quadratic:BETA (squared differences), rdp:BETA[,gamma=2,epsilon=E] (relative
        differences), logcosh:BETA[,s=S] (logarithm of the hyperbolic cosine),
        huber:BETA[,delta=D] (squares, straight beyond delta), tv:BETA[,eta=E] (total variation,
        smoothed by eta), ggd:BETA[,p=1.2,delta=D] (generalised Gaussian, a power p of
        differences); rel=B in place of BETA is a strength without unit, 0.05 to 0.5 are usual.
        pdhg and spdhg: tv:BETA, not smoothed
    tolerance: float; default 0.005; 0.0005 for depierro; 0.0001 for pdhg, spdhg
        stop when the image changes by less than this share over two passes of all subsets;
        lbfgs: when the gradient divided by the sensitivity is below this (KKT); pdhg, spdhg:
        when the duality gap is below this share of the counts; 0: never
    curve: file
        write the objective, its parts and the gradient, or the duality gap, on the way
    kappa: file or array; default 1 everywhere
        image that weights the penalty; each pair of voxels is weighted by both values. auto:
        computed from the data, so that the resolution is nearly the same everywhere
    unseen: 'drop' or 'keep'; default drop
        what to do with voxels without sensitivity. drop: they are no neighbours of any voxel;
        keep: they are neighbours of value 0, as in STIR without kappa
    bowsher: file or array
        anatomical image on the grid. Only the N neighbours of a voxel that are most alike in
        this image count (7 of 26; 3 of 8 in one plane)
    step: float; default 1
        length of a step of svrg, saga, bsrem
    relax: float; default the step falls to a fiftieth by the last pass
        for bsrem: shrink the step as 1/(1 + E passes); 0: do not shrink the step. By default
        bsrem came within 1 % of the maximum in 60 passes with 13 counts a voxel or more; with 4
        counts a voxel it came within 3 to 5 %, where svrg took 21 to 35 passes
    kernel: file or array
        for kem: images of features on the grid, from which Isotome makes each voxel's kernel.
        Then k=48 (voxels of a kernel), radius=3 (of the window), sigma=1, each after a comma

    Interruption
    ------------
    resume: bool; default false
        continue from OUTPUT.ckpt; start from the beginning if the file does not exist
    checkpoint_minutes: float, min; default 10
        shortest time between two checkpoints; 0: write one after every update
    stop_after: float, min; default 0
        after M minutes write a checkpoint and stop with exit code 143; 0: never

    Events that do not fit memory
    -----------------------------
    stream: bool; default false
        leave the events on disk, even if they fit in memory, and read them in blocks
    block: int; default chosen by the memory
        like 'stream', with N events at a time
    scratch: folder; default chosen by memory and disk
        like 'stream', from a copy in FOLDER that is sorted by subset and has all factors. The
        copy takes at most 40 bytes an event, and is removed at the end. Without this option
        Isotome makes such a copy if events do not fit in memory, the copy saves reading, and a
        disk has room; none: it never does

    Output
    ------
    force: bool; default false
        replace an existing output

    Units
    -----
    calibration: file or float; default none: the image is in counts/mm
        calibration of the scanner, for an image in Bq/ml at the start of the scan: a file of
        'isotome calibrate', its number K, or the word events for the factor in the events' file
    branching: float; default the isotope's
        positrons per decay
    started_at: text
        when the scan started: 14:30:15, or with the date 2026-11-16T14:30:15
    suv: bool; default false
        make standardised uptake values by body weight, g/ml, instead of Bq/ml
    weight_kg: float, kg; default not known
        weight of the body
    dose_mbq: float, MBq; default not known
        activity in the syringe at the time 'injected-at'
    residual_mbq: float, MBq; default 0
        activity that stayed in the syringe, at the time 'injected-at'
    injected_at: text
        time of the injection; without a date Isotome takes the time within 12 hours of
        'started-at', also across midnight

    Least squares
    -------------
    nonneg: bool; default false
        allow no voxel below 0
    weigh: 'equal' or 'area'; default equal
        equal: all data count alike; area: data count by the surface of their transducer. area
        needs fewer iterations if an array is denser in some places, as rings are at the poles
    precondition: 'none' or 'image'; default none
        image: a step goes farther where the image is bright. This needs fewer iterations if few
        transducers see an image that is mostly dark, as vessels are

    Error bars
    ----------
    replicates: int; default none
        also reconstruct R replicates of the scan, and write their mean and standard deviation
        (x_mean.nii, x_sd.nii). A replicate counts each event 0, 1, 2, ... times, by a Poisson
        number of mean 1. It shows the statistical error, and no bias
    replicates_seed: int; default 1
        seed of these numbers
    replicates_save: file
        also write all R images, as one 4-D image. 'isotome measure roi --replicates' reads it
    replicates_batch: int; default 4
        replicates that share one pass over the rays. More take more memory; the images do not
        change
    regions: file or array
        image of labels on the grid (0: none; 1, 2, ...). Each label gets a mean with its 95 %
        interval (x_regions.tsv), and their covariance (x_regions_cov.npy). With 'kinetics',
        also whether the curves fit (x_scores.tsv)
    fisher: bool; default false
        standard deviation and covariance of 'regions' from the second derivatives at the image,
        without replicates (x_regions.tsv, x_regions_cov.npy)

    Kinetics
    --------
    kinetics: text; default none
        reconstruct images of kinetic parameters from the events: patlak;
        spectral:beta=FROM/TO/N[,blood][,zero]; srtm2:k2p=V,beta=FROM/TO/N; bspline:T0/T1/...;
        basis. Rates are in 1/s. 'frames' gives the edges of the time bins. The image is 4-D:
        the coefficients; x_Ki.nii and so on are the maps
    input: file
        the curve of the blood, or of a reference tissue: PET-BIDS samples (*_blood.tsv), a
        table with the columns time and one more, or the mean of frames over a mask
    input_zero_s: float, s; default 0
        time of the scan at which the curve has its time 0: -2400 where the scan began 40
        minutes after the injection
    input_delay_s: float, s; default 0
        the curve comes so much later in the tissue than in the samples
    input_decay: 'corrected' or 'raw'; default corrected
        whether the samples are corrected for decay to their own time 0
    input_unit: text; default from the .json beside it
        unit of the samples: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL
    plasma_ratio: float; default 1 for FRAMES:MASK
        plasma over whole blood, if the input is whole blood alone
    unitless: bool; default false
        take the samples as they stand: coefficients in whatever unit comes of it
    basis: file
        curves of the model basis: a table with the column time and one for each curve
    inner: int; default 4
        fits of the coefficients behind each subset

    Checks
    ------
    accept: text; default none
        checks that only warn instead of refusing, separated by commas; a refusal names its
        check
    """


def strip(
    events: _Array | None = ...,
    *,
    context: Context | None = ...,
    like: _File | None = ...,
    method: Literal["mlem", "osem", "svrg", "saga", "bsrem", "lbfgs", "depierro", "pdhg", "spdhg", "direct"] | None = ...,
    iterations: int | None = ...,
    subsets: int | None = ...,
    subset_rule: Literal["interleaved", "blocks", "random", "mod", "groups"] | None = ...,
    seed: int | None = ...,
    sens: _Array | None = ...,
    sens_floor: float | None = ...,
    start: _Array | None = ...,
    filter: _Text | None = ...,
    filter_every: int | None = ...,
    save_every: int | None = ...,
    psf: _Float | None = ...,
    data: _Array | None = ...,
    scanner: _File | None = ...,
    event_unit_mm: float | None = ...,
    dl_is_time: bool | None = ...,
    grid: _Int | None = ...,
    pixel: float | None = ...,
    kernel: Literal["eq7", "tan", "gauss"] | None = ...,
    edge: bool | None = ...,
    gamma: float | None = ...,
    form: Literal["ml", "raw", "eq3"] | None = ...,
    sens_rule: Literal["center", "5point"] | None = ...,
    strategy: Literal["fast", "warp", "thread"] | None = ...,
    from_s: float | None = ...,
    to_s: float | None = ...,
    frames: _Text | None = ...,
    isotope: _Text | None = ...,
    half_life_s: float | None = ...,
    live_share: _Text | None = ...,
    rates: _File | None = ...,
    penalty: _Text | None = ...,
    tolerance: float | None = ...,
    curve: _File | None = ...,
    kappa: _Array | None = ...,
    unseen: Literal["drop", "keep"] | None = ...,
    bowsher: _Array | None = ...,
    step: float | None = ...,
    relax: float | None = ...,
    resume: bool | None = ...,
    checkpoint_minutes: float | None = ...,
    stop_after: float | None = ...,
    follow: bool | None = ...,
    block: int | None = ...,
    every_s: float | None = ...,
    idle_s: float | None = ...,
    picture: _File | None = ...,
    force: bool | None = ...,
    calibration: _File | None = ...,
    branching: float | None = ...,
    started_at: _Text | None = ...,
    suv: bool | None = ...,
    weight_kg: float | None = ...,
    dose_mbq: float | None = ...,
    residual_mbq: float | None = ...,
    injected_at: _Text | None = ...,
    nonneg: bool | None = ...,
    weigh: Literal["equal", "area"] | None = ...,
    precondition: Literal["none", "image"] | None = ...,
    replicates: int | None = ...,
    replicates_seed: int | None = ...,
    replicates_save: _File | None = ...,
    replicates_batch: int | None = ...,
    regions: _Array | None = ...,
    fisher: bool | None = ...,
    kinetics: _Text | None = ...,
    input: _File | None = ...,
    input_zero_s: float | None = ...,
    input_delay_s: float | None = ...,
    input_decay: Literal["corrected", "raw"] | None = ...,
    input_unit: _Text | None = ...,
    plasma_ratio: float | None = ...,
    unitless: bool | None = ...,
    basis: _File | None = ...,
    inner: int | None = ...,
    accept: _Text | None = ...,
) -> Problem:
    """A problem of model strip: `.reconstruct()` makes the image, `.operator()` the operator.

    context: the Context to compute with; None: that of the process.
    like: the record of an earlier run, a JSON file: sets what is not given here, but not what is written.

    Reconstruction
    --------------
    method: 'mlem' or 'osem' or 'svrg' or 'saga' or 'bsrem' or 'lbfgs' or 'depierro' or 'pdhg' or 'spdhg' or 'direct'; default mlem
        mlem: maximum likelihood, from all data in each update. osem: the same from 'subsets' in
        turn, which is quicker. svrg: with a 'penalty', converges in about ten passes. saga: as
        svrg, which it is seldom better than. bsrem: with a 'penalty', by steps that shrink.
        lbfgs: with a 'penalty', from all data in each update (the reference). depierro: EM with
        a 'penalty', which never makes the image worse, but is slow. pdhg: total variation that
        is not smoothed, from all data in each update. spdhg: the same from 'subsets', which is
        quicker. direct: without iterations, each event goes where it most likely came from
    iterations: int; default 10
        passes over all data: 10; 20 for svrg, saga, bsrem; 400 for lbfgs; 100 for depierro,
        spdhg; 500 for pdhg. 'tolerance' may end a run earlier. With a penalty, the start counts
        as a pass
    subsets: int; default 1; 8 for osem; 4 to 32, each of 1000 counts or more, for svrg, saga, bsrem, lbfgs, spdhg
        parts of the data, taken in turn
    subset_rule: 'interleaved' or 'blocks' or 'random' or 'mod' or 'groups'; default interleaved
        interleaved: subset b holds events b, b+K, b+2K, ...; blocks: consecutive events;
        random: events drawn at random. For srm the rule is for directions: mod, groups (4 x 4
        neighbours together) or random
    seed: int; default 1
        seed of 'subset-rule' random, and of methods that take subsets in random order
    sens: file or array; default from 'scanner'
        sensitivity image, without 'psf'; none: 1 everywhere
    sens_floor: float; default 0
        a voxel that hardly any line crosses gets no activity. Its sensitivity is below F of its
        neighbours' and of its plane's median; 0: all voxels get some
    start: file or array; default 1 everywhere; one pass of osem for svrg, saga, bsrem, lbfgs, depierro, pdhg, spdhg
        start image
    filter: text
        gaussian:MM, gaussian:X,Y,Z, median:N or none, after the last iteration
    filter_every: int; default once, at the end
        filter after every N iterations; the next iteration starts from the filtered image
    save_every: int; default 0
        also write the image after every N iterations (x_it005.nii)

    Image
    -----
    psf: 3 x float, mm; default none
        FWHM in mm of the point spread function of the image, one for all axes or one each

    Model strip
    -----------
    events: file or array
        events z_up, z_down, dl (.f32 or .raw: float32 triples; .txt; .npy)
    data: file or array
        the same as 'events'
    scanner: file
        description of the strips (YAML or JSON, kind: strips)
    event_unit_mm: float, mm; default 1
        the events' unit of length: 10 for cm
    dl_is_time: bool; default false
        the third value of an event is t_up - t_down in ps
    grid: 2 x int; default that of the image, or a grid that covers the strips: ceil(L/d), ceil(2R/d)
        pixels along the strips, and across
    pixel: float, mm; default 4
        edge d of a pixel
    kernel: 'eq7' or 'tan' or 'gauss'; default eq7
        eq7: second order in the angle, the paper's; tan: second order in the tangent, closer to
        the truth; gauss: a plain Gaussian, fastest
    edge: bool; default false
        with 'kernel' tan: include the ends of the strips in the kernel
    gamma: float, 1/mm^2; default the scanner's
        coupling of z and dl in the inverse covariance, 1/mm^2 (eq. 12)
    form: 'ml' or 'raw' or 'eq3'; default ml
        form of the iteration. ml: maximum likelihood, with the sensitivity s; raw: eq. 5,
        without s, which gives an image of s times activity; eq3: eq. 3 as printed
    sens_rule: 'center' or '5point'; default center
        sensitivity s of a pixel. center: s at its centre; 5point: 1/3 centre + 1/6 each corner
    strategy: 'fast' or 'warp' or 'thread'; default fast
        on CUDA: fast (image in shared memory), or the paper's warp (a warp per event) or thread
        (a thread per event). The CPU has one strategy

    Times, in s since the start of the scan
    ---------------------------------------
    from_s: float, s; default the first
        use only events from this time on
    to_s: float, s; default the last
        use only events before this time
    frames: text
        edges of frames in s, in rising order. FIRST:STEP:LAST stands for many edges, as in
        0:10:600 or 0:5:60,120,180. The result is a 4-D image with one image per frame, at most
        100000
    isotope: text
        correct for the decay of this isotope to the start of the scan: F-18, C-11, O-15, N-13,
        Ga-68, Cu-64, Zr-89, Rb-82 or I-124
    half_life_s: float, s; default the isotope's
        correct for decay with this half-life
    live_share: text; default 1
        live share of the time, above 0 to 1, one for all frames or one each
    rates: file
        dead time of the scanner, by 'isotome rates': the live share of each frame follows from
        its own events, in place of 'live-share'

    Penalties
    ---------
    penalty: text
        quadratic:BETA (squared differences), rdp:BETA[,gamma=2,epsilon=E] (relative
        differences), logcosh:BETA[,s=S] (logarithm of the hyperbolic cosine),
        huber:BETA[,delta=D] (squares, straight beyond delta), tv:BETA[,eta=E] (total variation,
        smoothed by eta), ggd:BETA[,p=1.2,delta=D] (generalised Gaussian, a power p of
        differences); rel=B in place of BETA is a strength without unit, 0.05 to 0.5 are usual.
        pdhg and spdhg: tv:BETA, not smoothed
    tolerance: float; default 0.005; 0.0005 for depierro; 0.0001 for pdhg, spdhg
        stop when the image changes by less than this share over two passes of all subsets;
        lbfgs: when the gradient divided by the sensitivity is below this (KKT); pdhg, spdhg:
        when the duality gap is below this share of the counts; 0: never
    curve: file
        write the objective, its parts and the gradient, or the duality gap, on the way
    kappa: file or array; default 1 everywhere
        image that weights the penalty; each pair of voxels is weighted by both values. auto:
        computed from the data, so that the resolution is nearly the same everywhere
    unseen: 'drop' or 'keep'; default drop
        what to do with voxels without sensitivity. drop: they are no neighbours of any voxel;
        keep: they are neighbours of value 0, as in STIR without kappa
    bowsher: file or array
        anatomical image on the grid. Only the N neighbours of a voxel that are most alike in
        this image count (7 of 26; 3 of 8 in one plane)
    step: float; default 1
        length of a step of svrg, saga, bsrem
    relax: float; default the step falls to a fiftieth by the last pass
        for bsrem: shrink the step as 1/(1 + E passes); 0: do not shrink the step. By default
        bsrem came within 1 % of the maximum in 60 passes with 13 counts a voxel or more; with 4
        counts a voxel it came within 3 to 5 %, where svrg took 21 to 35 passes

    Interruption
    ------------
    resume: bool; default false
        continue from OUTPUT.ckpt; start from the beginning if the file does not exist
    checkpoint_minutes: float, min; default 10
        shortest time between two checkpoints; 0: write one after every update
    stop_after: float, min; default 0
        after M minutes write a checkpoint and stop with exit code 143; 0: never

    Following a scan
    ----------------
    follow: bool; default false
        read events while they come: 'events' is a file that grows, a pipe, or - for standard
        input. The run ends with the pipe, after 'idle-s', or on Ctrl-C
    block: int; default 100000
        events per update
    every_s: float, s; default 5
        write image and picture again after this many seconds
    idle_s: float, s; default 10 for a file, never for a pipe
        end after this many seconds without events; 0: never
    picture: file; default the output's name with .png
        picture of the image

    Output
    ------
    force: bool; default false
        replace an existing output

    Units
    -----
    calibration: file or float; default none: the image is in counts/mm
        calibration of the scanner, for an image in Bq/ml at the start of the scan: a file of
        'isotome calibrate', its number K, or the word events for the factor in the events' file
    branching: float; default the isotope's
        positrons per decay
    started_at: text
        when the scan started: 14:30:15, or with the date 2026-11-16T14:30:15
    suv: bool; default false
        make standardised uptake values by body weight, g/ml, instead of Bq/ml
    weight_kg: float, kg; default not known
        weight of the body
    dose_mbq: float, MBq; default not known
        activity in the syringe at the time 'injected-at'
    residual_mbq: float, MBq; default 0
        activity that stayed in the syringe, at the time 'injected-at'
    injected_at: text
        time of the injection; without a date Isotome takes the time within 12 hours of
        'started-at', also across midnight

    Least squares
    -------------
    nonneg: bool; default false
        allow no voxel below 0
    weigh: 'equal' or 'area'; default equal
        equal: all data count alike; area: data count by the surface of their transducer. area
        needs fewer iterations if an array is denser in some places, as rings are at the poles
    precondition: 'none' or 'image'; default none
        image: a step goes farther where the image is bright. This needs fewer iterations if few
        transducers see an image that is mostly dark, as vessels are

    Error bars
    ----------
    replicates: int; default none
        also reconstruct R replicates of the scan, and write their mean and standard deviation
        (x_mean.nii, x_sd.nii). A replicate counts each event 0, 1, 2, ... times, by a Poisson
        number of mean 1. It shows the statistical error, and no bias
    replicates_seed: int; default 1
        seed of these numbers
    replicates_save: file
        also write all R images, as one 4-D image. 'isotome measure roi --replicates' reads it
    replicates_batch: int; default 4
        replicates that share one pass over the rays. More take more memory; the images do not
        change
    regions: file or array
        image of labels on the grid (0: none; 1, 2, ...). Each label gets a mean with its 95 %
        interval (x_regions.tsv), and their covariance (x_regions_cov.npy). With 'kinetics',
        also whether the curves fit (x_scores.tsv)
    fisher: bool; default false
        standard deviation and covariance of 'regions' from the second derivatives at the image,
        without replicates (x_regions.tsv, x_regions_cov.npy)

    Kinetics
    --------
    kinetics: text; default none
        reconstruct images of kinetic parameters from the events: patlak;
        spectral:beta=FROM/TO/N[,blood][,zero]; srtm2:k2p=V,beta=FROM/TO/N; bspline:T0/T1/...;
        basis. Rates are in 1/s. 'frames' gives the edges of the time bins. The image is 4-D:
        the coefficients; x_Ki.nii and so on are the maps
    input: file
        the curve of the blood, or of a reference tissue: PET-BIDS samples (*_blood.tsv), a
        table with the columns time and one more, or the mean of frames over a mask
    input_zero_s: float, s; default 0
        time of the scan at which the curve has its time 0: -2400 where the scan began 40
        minutes after the injection
    input_delay_s: float, s; default 0
        the curve comes so much later in the tissue than in the samples
    input_decay: 'corrected' or 'raw'; default corrected
        whether the samples are corrected for decay to their own time 0
    input_unit: text; default from the .json beside it
        unit of the samples: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL
    plasma_ratio: float; default 1 for FRAMES:MASK
        plasma over whole blood, if the input is whole blood alone
    unitless: bool; default false
        take the samples as they stand: coefficients in whatever unit comes of it
    basis: file
        curves of the model basis: a table with the column time and one for each curve
    inner: int; default 4
        fits of the coefficients behind each subset

    Checks
    ------
    accept: text; default none
        checks that only warn instead of refusing, separated by commas; a refusal names its
        check
    """


def barrel(
    events: _Array | None = ...,
    *,
    context: Context | None = ...,
    like: _File | None = ...,
    method: Literal["mlem", "osem", "svrg", "saga", "bsrem", "lbfgs", "depierro", "pdhg", "spdhg", "direct"] | None = ...,
    iterations: int | None = ...,
    subsets: int | None = ...,
    subset_rule: Literal["interleaved", "blocks", "random", "mod", "groups"] | None = ...,
    seed: int | None = ...,
    sens: _Array | None = ...,
    sens_floor: float | None = ...,
    start: _Array | None = ...,
    filter: _Text | None = ...,
    filter_every: int | None = ...,
    save_every: int | None = ...,
    psf: _Float | None = ...,
    data: _Array | None = ...,
    scanner: _File | None = ...,
    event_unit_mm: float | None = ...,
    swap_dt: bool | None = ...,
    trues_only: bool | None = ...,
    smear: _Text | None = ...,
    grid: _Int | Grid | None = ...,
    voxel: _Float | None = ...,
    centre: _Float | None = ...,
    mu: _Array | None = ...,
    additive: _Array | float | None = ...,
    kernel: Literal["moment", "depth", "thin"] | None = ...,
    edge: bool | None = ...,
    sigma_cut: float | None = ...,
    shadow: Literal["none", "line"] | None = ...,
    from_s: float | None = ...,
    to_s: float | None = ...,
    frames: _Text | None = ...,
    isotope: _Text | None = ...,
    half_life_s: float | None = ...,
    live_share: _Text | None = ...,
    rates: _File | None = ...,
    penalty: _Text | None = ...,
    tolerance: float | None = ...,
    curve: _File | None = ...,
    kappa: _Array | None = ...,
    unseen: Literal["drop", "keep"] | None = ...,
    bowsher: _Array | None = ...,
    step: float | None = ...,
    relax: float | None = ...,
    resume: bool | None = ...,
    checkpoint_minutes: float | None = ...,
    stop_after: float | None = ...,
    follow: bool | None = ...,
    block: int | None = ...,
    every_s: float | None = ...,
    idle_s: float | None = ...,
    picture: _File | None = ...,
    force: bool | None = ...,
    calibration: _File | None = ...,
    branching: float | None = ...,
    started_at: _Text | None = ...,
    suv: bool | None = ...,
    weight_kg: float | None = ...,
    dose_mbq: float | None = ...,
    residual_mbq: float | None = ...,
    injected_at: _Text | None = ...,
    nonneg: bool | None = ...,
    weigh: Literal["equal", "area"] | None = ...,
    precondition: Literal["none", "image"] | None = ...,
    replicates: int | None = ...,
    replicates_seed: int | None = ...,
    replicates_save: _File | None = ...,
    replicates_batch: int | None = ...,
    regions: _Array | None = ...,
    fisher: bool | None = ...,
    kinetics: _Text | None = ...,
    input: _File | None = ...,
    input_zero_s: float | None = ...,
    input_delay_s: float | None = ...,
    input_decay: Literal["corrected", "raw"] | None = ...,
    input_unit: _Text | None = ...,
    plasma_ratio: float | None = ...,
    unitless: bool | None = ...,
    basis: _File | None = ...,
    inner: int | None = ...,
    accept: _Text | None = ...,
) -> Problem:
    """A problem of model barrel: `.reconstruct()` makes the image, `.operator()` the operator.

    context: the Context to compute with; None: that of the process.
    like: the record of an earlier run, a JSON file: sets what is not given here, but not what is written.

    Reconstruction
    --------------
    method: 'mlem' or 'osem' or 'svrg' or 'saga' or 'bsrem' or 'lbfgs' or 'depierro' or 'pdhg' or 'spdhg' or 'direct'; default mlem
        mlem: maximum likelihood, from all data in each update. osem: the same from 'subsets' in
        turn, which is quicker. svrg: with a 'penalty', converges in about ten passes. saga: as
        svrg, which it is seldom better than. bsrem: with a 'penalty', by steps that shrink.
        lbfgs: with a 'penalty', from all data in each update (the reference). depierro: EM with
        a 'penalty', which never makes the image worse, but is slow. pdhg: total variation that
        is not smoothed, from all data in each update. spdhg: the same from 'subsets', which is
        quicker. direct: without iterations, each event goes where it most likely came from
    iterations: int; default 10
        passes over all data: 10; 20 for svrg, saga, bsrem; 400 for lbfgs; 100 for depierro,
        spdhg; 500 for pdhg. 'tolerance' may end a run earlier. With a penalty, the start counts
        as a pass
    subsets: int; default 1; 8 for osem; 4 to 32, each of 1000 counts or more, for svrg, saga, bsrem, lbfgs, spdhg
        parts of the data, taken in turn
    subset_rule: 'interleaved' or 'blocks' or 'random' or 'mod' or 'groups'; default interleaved
        interleaved: subset b holds events b, b+K, b+2K, ...; blocks: consecutive events;
        random: events drawn at random. For srm the rule is for directions: mod, groups (4 x 4
        neighbours together) or random
    seed: int; default 1
        seed of 'subset-rule' random, and of methods that take subsets in random order
    sens: file or array; default from 'scanner'
        sensitivity image, without 'psf'; none: 1 everywhere
    sens_floor: float; default 0
        a voxel that hardly any line crosses gets no activity. Its sensitivity is below F of its
        neighbours' and of its plane's median; 0: all voxels get some
    start: file or array; default 1 everywhere; one pass of osem for svrg, saga, bsrem, lbfgs, depierro, pdhg, spdhg
        start image
    filter: text
        gaussian:MM, gaussian:X,Y,Z, median:N or none, after the last iteration
    filter_every: int; default once, at the end
        filter after every N iterations; the next iteration starts from the filtered image
    save_every: int; default 0
        also write the image after every N iterations (x_it005.nii)

    Image
    -----
    psf: 3 x float, mm; default none
        FWHM in mm of the point spread function of the image, one for all axes or one each

    Model barrel
    ------------
    events: file or array
        events: rows strip a, strip b, z_a, z_b (mm), t_a - t_b (ps) as .npy or .bin5; text of
        GOJA or j-pet-mlem
    data: file or array
        the same as 'events'
    scanner: file
        description of the strips (YAML or JSON, kind: barrel)
    event_unit_mm: float, mm; default 1
        the events' unit of length: 1000 for files of j-pet-mlem
    swap_dt: bool; default false
        times of events are t_b - t_a
    trues_only: bool; default false
        with files of GOJA: leave out scattered and accidental events
    smear: text; default none
        with files of GOJA whose hits are exact: add the errors of the scanner
    grid: 3 x int or Grid; default the grid of the image, if one is given, or else a field inside the strips
        number of voxels
    voxel: 3 x float, mm; default about two thirds of a strip's width
        size of a voxel; DX = DY
    centre: 3 x float, mm; default 0,0,0
        centre of the image, mm
    mu: file or array
        attenuation of the object at 511 keV, 1/mm
    additive: file or array or float
        mean of randoms and scatter of an event, in counts per mm^3 of z_a, z_b and dl: a
        number, or a file of one for each event
    kernel: 'moment' or 'depth' or 'thin'; default moment
        moment: hits at their mean place in the depth of the strips, with its spread; depth: a
        spread that is the same everywhere; thin: on the axes of the strips
    edge: bool; default true
        include the ends of the strips in the kernel
    sigma_cut: float; default 3
        an event reaches so many standard deviations far
    shadow: 'none' or 'line'; default the scanner's
        line: strips between those of a pair take photons; none: they do not

    Times, in s since the start of the scan
    ---------------------------------------
    from_s: float, s; default the first
        use only events from this time on
    to_s: float, s; default the last
        use only events before this time
    frames: text
        edges of frames in s, in rising order. FIRST:STEP:LAST stands for many edges, as in
        0:10:600 or 0:5:60,120,180. The result is a 4-D image with one image per frame, at most
        100000
    isotope: text
        correct for the decay of this isotope to the start of the scan: F-18, C-11, O-15, N-13,
        Ga-68, Cu-64, Zr-89, Rb-82 or I-124
    half_life_s: float, s; default the isotope's
        correct for decay with this half-life
    live_share: text; default 1
        live share of the time, above 0 to 1, one for all frames or one each
    rates: file
        dead time of the scanner, by 'isotome rates': the live share of each frame follows from
        its own events, in place of 'live-share'

    Penalties
    ---------
    penalty: text
        quadratic:BETA (squared differences), rdp:BETA[,gamma=2,epsilon=E] (relative
        differences), logcosh:BETA[,s=S] (logarithm of the hyperbolic cosine),
        huber:BETA[,delta=D] (squares, straight beyond delta), tv:BETA[,eta=E] (total variation,
        smoothed by eta), ggd:BETA[,p=1.2,delta=D] (generalised Gaussian, a power p of
        differences); rel=B in place of BETA is a strength without unit, 0.05 to 0.5 are usual.
        pdhg and spdhg: tv:BETA, not smoothed
    tolerance: float; default 0.005; 0.0005 for depierro; 0.0001 for pdhg, spdhg
        stop when the image changes by less than this share over two passes of all subsets;
        lbfgs: when the gradient divided by the sensitivity is below this (KKT); pdhg, spdhg:
        when the duality gap is below this share of the counts; 0: never
    curve: file
        write the objective, its parts and the gradient, or the duality gap, on the way
    kappa: file or array; default 1 everywhere
        image that weights the penalty; each pair of voxels is weighted by both values. auto:
        computed from the data, so that the resolution is nearly the same everywhere
    unseen: 'drop' or 'keep'; default drop
        what to do with voxels without sensitivity. drop: they are no neighbours of any voxel;
        keep: they are neighbours of value 0, as in STIR without kappa
    bowsher: file or array
        anatomical image on the grid. Only the N neighbours of a voxel that are most alike in
        this image count (7 of 26; 3 of 8 in one plane)
    step: float; default 1
        length of a step of svrg, saga, bsrem
    relax: float; default the step falls to a fiftieth by the last pass
        for bsrem: shrink the step as 1/(1 + E passes); 0: do not shrink the step. By default
        bsrem came within 1 % of the maximum in 60 passes with 13 counts a voxel or more; with 4
        counts a voxel it came within 3 to 5 %, where svrg took 21 to 35 passes

    Interruption
    ------------
    resume: bool; default false
        continue from OUTPUT.ckpt; start from the beginning if the file does not exist
    checkpoint_minutes: float, min; default 10
        shortest time between two checkpoints; 0: write one after every update
    stop_after: float, min; default 0
        after M minutes write a checkpoint and stop with exit code 143; 0: never

    Following a scan
    ----------------
    follow: bool; default false
        read events while they come: 'events' is a file that grows, a pipe, or - for standard
        input. The run ends with the pipe, after 'idle-s', or on Ctrl-C
    block: int; default 100000
        events per update
    every_s: float, s; default 5
        write image and picture again after this many seconds
    idle_s: float, s; default 10 for a file, never for a pipe
        end after this many seconds without events; 0: never
    picture: file; default the output's name with .png
        picture of the image

    Output
    ------
    force: bool; default false
        replace an existing output

    Units
    -----
    calibration: file or float; default none: the image is in counts/mm
        calibration of the scanner, for an image in Bq/ml at the start of the scan: a file of
        'isotome calibrate', its number K, or the word events for the factor in the events' file
    branching: float; default the isotope's
        positrons per decay
    started_at: text
        when the scan started: 14:30:15, or with the date 2026-11-16T14:30:15
    suv: bool; default false
        make standardised uptake values by body weight, g/ml, instead of Bq/ml
    weight_kg: float, kg; default not known
        weight of the body
    dose_mbq: float, MBq; default not known
        activity in the syringe at the time 'injected-at'
    residual_mbq: float, MBq; default 0
        activity that stayed in the syringe, at the time 'injected-at'
    injected_at: text
        time of the injection; without a date Isotome takes the time within 12 hours of
        'started-at', also across midnight

    Least squares
    -------------
    nonneg: bool; default false
        allow no voxel below 0
    weigh: 'equal' or 'area'; default equal
        equal: all data count alike; area: data count by the surface of their transducer. area
        needs fewer iterations if an array is denser in some places, as rings are at the poles
    precondition: 'none' or 'image'; default none
        image: a step goes farther where the image is bright. This needs fewer iterations if few
        transducers see an image that is mostly dark, as vessels are

    Error bars
    ----------
    replicates: int; default none
        also reconstruct R replicates of the scan, and write their mean and standard deviation
        (x_mean.nii, x_sd.nii). A replicate counts each event 0, 1, 2, ... times, by a Poisson
        number of mean 1. It shows the statistical error, and no bias
    replicates_seed: int; default 1
        seed of these numbers
    replicates_save: file
        also write all R images, as one 4-D image. 'isotome measure roi --replicates' reads it
    replicates_batch: int; default 4
        replicates that share one pass over the rays. More take more memory; the images do not
        change
    regions: file or array
        image of labels on the grid (0: none; 1, 2, ...). Each label gets a mean with its 95 %
        interval (x_regions.tsv), and their covariance (x_regions_cov.npy). With 'kinetics',
        also whether the curves fit (x_scores.tsv)
    fisher: bool; default false
        standard deviation and covariance of 'regions' from the second derivatives at the image,
        without replicates (x_regions.tsv, x_regions_cov.npy)

    Kinetics
    --------
    kinetics: text; default none
        reconstruct images of kinetic parameters from the events: patlak;
        spectral:beta=FROM/TO/N[,blood][,zero]; srtm2:k2p=V,beta=FROM/TO/N; bspline:T0/T1/...;
        basis. Rates are in 1/s. 'frames' gives the edges of the time bins. The image is 4-D:
        the coefficients; x_Ki.nii and so on are the maps
    input: file
        the curve of the blood, or of a reference tissue: PET-BIDS samples (*_blood.tsv), a
        table with the columns time and one more, or the mean of frames over a mask
    input_zero_s: float, s; default 0
        time of the scan at which the curve has its time 0: -2400 where the scan began 40
        minutes after the injection
    input_delay_s: float, s; default 0
        the curve comes so much later in the tissue than in the samples
    input_decay: 'corrected' or 'raw'; default corrected
        whether the samples are corrected for decay to their own time 0
    input_unit: text; default from the .json beside it
        unit of the samples: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL
    plasma_ratio: float; default 1 for FRAMES:MASK
        plasma over whole blood, if the input is whole blood alone
    unitless: bool; default false
        take the samples as they stand: coefficients in whatever unit comes of it
    basis: file
        curves of the model basis: a table with the column time and one for each curve
    inner: int; default 4
        fits of the coefficients behind each subset

    Checks
    ------
    accept: text; default none
        checks that only warn instead of refusing, separated by commas; a refusal names its
        check
    """


def srm(
    data: _Array | None = ...,
    *,
    context: Context | None = ...,
    like: _File | None = ...,
    method: Literal["mlem", "osem", "svrg", "saga", "bsrem", "lbfgs", "depierro", "pdhg", "spdhg", "kem"] | None = ...,
    iterations: int | None = ...,
    subsets: int | None = ...,
    subset_rule: Literal["interleaved", "blocks", "random", "mod", "groups"] | None = ...,
    seed: int | None = ...,
    sens: _Array | None = ...,
    sens_floor: float | None = ...,
    start: _Array | None = ...,
    filter: _Text | None = ...,
    filter_every: int | None = ...,
    save_every: int | None = ...,
    psf: _Float | None = ...,
    srm: _File | Matrix | None = ...,
    gantry: _Array | None = ...,
    duration_s: float | None = ...,
    scanner: _File | None = ...,
    strategy: Literal["correlation"] | None = ...,
    norm: _Array | None = ...,
    mu: _Array | None = ...,
    additive: _Array | None = ...,
    delayed: _Array | None = ...,
    randoms: Literal["model", "subtract"] | None = ...,
    absolute: bool | None = ...,
    deal: _Array | None = ...,
    from_s: float | None = ...,
    to_s: float | None = ...,
    frames: _Text | None = ...,
    isotope: _Text | None = ...,
    half_life_s: float | None = ...,
    live_share: _Text | None = ...,
    rates: _File | None = ...,
    penalty: _Text | None = ...,
    tolerance: float | None = ...,
    curve: _File | None = ...,
    kappa: _Array | None = ...,
    unseen: Literal["drop", "keep"] | None = ...,
    bowsher: _Array | None = ...,
    step: float | None = ...,
    relax: float | None = ...,
    kernel: _Array | None = ...,
    resume: bool | None = ...,
    checkpoint_minutes: float | None = ...,
    stop_after: float | None = ...,
    stream: bool | None = ...,
    block: int | None = ...,
    scratch: _File | None = ...,
    force: bool | None = ...,
    calibration: _File | None = ...,
    branching: float | None = ...,
    started_at: _Text | None = ...,
    suv: bool | None = ...,
    weight_kg: float | None = ...,
    dose_mbq: float | None = ...,
    residual_mbq: float | None = ...,
    injected_at: _Text | None = ...,
    nonneg: bool | None = ...,
    weigh: Literal["equal", "area"] | None = ...,
    precondition: Literal["none", "image"] | None = ...,
    replicates: int | None = ...,
    replicates_seed: int | None = ...,
    replicates_save: _File | None = ...,
    replicates_batch: int | None = ...,
    regions: _Array | None = ...,
    fisher: bool | None = ...,
    kinetics: _Text | None = ...,
    input: _File | None = ...,
    input_zero_s: float | None = ...,
    input_delay_s: float | None = ...,
    input_decay: Literal["corrected", "raw"] | None = ...,
    input_unit: _Text | None = ...,
    plasma_ratio: float | None = ...,
    unitless: bool | None = ...,
    basis: _File | None = ...,
    inner: int | None = ...,
    accept: _Text | None = ...,
) -> Problem:
    """A problem of model srm: `.reconstruct()` makes the image, `.operator()` the operator.

    context: the Context to compute with; None: that of the process.
    like: the record of an earlier run, a JSON file: sets what is not given here, but not what is written.

    Reconstruction
    --------------
    method: 'mlem' or 'osem' or 'svrg' or 'saga' or 'bsrem' or 'lbfgs' or 'depierro' or 'pdhg' or 'spdhg' or 'kem'; default mlem
        mlem: maximum likelihood, from all data in each update. osem: the same from 'subsets' in
        turn, which is quicker. svrg: with a 'penalty', converges in about ten passes. saga: as
        svrg, which it is seldom better than. bsrem: with a 'penalty', by steps that shrink.
        lbfgs: with a 'penalty', from all data in each update (the reference). depierro: EM with
        a 'penalty', which never makes the image worse, but is slow. pdhg: total variation that
        is not smoothed, from all data in each update. spdhg: the same from 'subsets', which is
        quicker. kem: EM with a 'kernel' of other images
    iterations: int; default 10
        passes over all data: 10; 20 for svrg, saga, bsrem; 400 for lbfgs; 100 for depierro,
        spdhg; 500 for pdhg. 'tolerance' may end a run earlier. With a penalty, the start counts
        as a pass
    subsets: int; default 1; 8 for osem; 4 to 32, each of 1000 counts or more, for svrg, saga, bsrem, lbfgs, spdhg
        parts of the data, taken in turn
    subset_rule: 'interleaved' or 'blocks' or 'random' or 'mod' or 'groups'; default groups
        interleaved: subset b holds events b, b+K, b+2K, ...; blocks: consecutive events;
        random: events drawn at random. For srm the rule is for directions: mod, groups (4 x 4
        neighbours together) or random
    seed: int; default 1
        seed of 'subset-rule' random, and of methods that take subsets in random order
    sens: file or array; default from 'scanner'
        sensitivity image, without 'psf'; none: 1 everywhere
    sens_floor: float; default 0
        a voxel that hardly any line crosses gets no activity. Its sensitivity is below F of its
        neighbours' and of its plane's median; 0: all voxels get some
    start: file or array; default 1 everywhere; one pass of osem for svrg, saga, bsrem, lbfgs, depierro, pdhg, spdhg
        start image
    filter: text
        gaussian:MM, gaussian:X,Y,Z, median:N or none, after the last iteration
    filter_every: int; default once, at the end
        filter after every N iterations; the next iteration starts from the filtered image
    save_every: int; default 0
        also write the image after every N iterations (x_it005.nii)

    Image
    -----
    psf: 3 x float, mm; default none
        FWHM in mm of the point spread function of the image, one for all axes or one each

    Model srm
    ---------
    srm: file or Matrix
        system matrix (.srm)
    data: file or array
        histogram of counts over upper crystal x, z, lower crystal x, z; with layers the upper
        and the lower layer come first. With 'gantry' one for each angle: FILE,FILE,... or one
        file with the angles as the first axis
    gantry: file or array
        how the heads stand during each histogram: a table (.csv, .npy) of time_s and angle_deg
        around z, or of poses. A row is a histogram, which begins at its time and ends with the
        next row
    duration_s: float, s; default not known
        duration of the scan, for 'gantry' and for decay
    scanner: file
        description of the panels; Isotome checks that the matrix belongs to this scanner
    strategy: 'correlation'; default correlation
        correlation, the only one; 'isotome bench srm' has those of the papers
    norm: file or array
        normalisation per LOR; 0 marks a dead LOR. With 'gantry' one for all angles, or one for
        each
    mu: file or array
        attenuation map, 1/mm
    additive: file or array
        mean of randoms and scatter per LOR, in counts; with 'gantry' one for each angle
    delayed: file or array
        histogram of the delayed window; with 'gantry' one for each angle
    randoms: 'model' or 'subtract'; default model
        with 'delayed': model (the mean of the delayed counts, a product of crystal rates, is
        part of the model) or subtract (from the counts, which biases low counts upwards)
    absolute: bool; default false
        correct for the share of the sensitivity that the matrix left out
    deal: file or array
        subset number of each direction |dx|, |dz|, instead of a 'subset-rule'

    Times, in s since the start of the scan
    ---------------------------------------
    from_s: float, s; default the first
        use only events from this time on
    to_s: float, s; default the last
        use only events before this time
    frames: text
        edges of frames in s, in rising order. FIRST:STEP:LAST stands for many edges, as in
        0:10:600 or 0:5:60,120,180. The result is a 4-D image with one image per frame, at most
        100000
    isotope: text
        correct for the decay of this isotope to the start of the scan: F-18, C-11, O-15, N-13,
        Ga-68, Cu-64, Zr-89, Rb-82 or I-124
    half_life_s: float, s; default the isotope's
        correct for decay with this half-life
    live_share: text; default 1
        live share of the time, above 0 to 1, one for all frames or one each
    rates: file
        dead time of the scanner, by 'isotome rates': the live share of each frame follows from
        its own events, in place of 'live-share'

    Penalties and kernels
    ---------------------
    penalty: text
        quadratic:BETA (squared differences), rdp:BETA[,gamma=2,epsilon=E] (relative
        differences), logcosh:BETA[,s=S] (logarithm of the hyperbolic cosine),
        huber:BETA[,delta=D] (squares, straight beyond delta), tv:BETA[,eta=E] (total variation,
        smoothed by eta), ggd:BETA[,p=1.2,delta=D] (generalised Gaussian, a power p of
        differences); rel=B in place of BETA is a strength without unit, 0.05 to 0.5 are usual.
        pdhg and spdhg: tv:BETA, not smoothed
    tolerance: float; default 0.005; 0.0005 for depierro; 0.0001 for pdhg, spdhg
        stop when the image changes by less than this share over two passes of all subsets;
        lbfgs: when the gradient divided by the sensitivity is below this (KKT); pdhg, spdhg:
        when the duality gap is below this share of the counts; 0: never
    curve: file
        write the objective, its parts and the gradient, or the duality gap, on the way
    kappa: file or array; default 1 everywhere
        image that weights the penalty; each pair of voxels is weighted by both values. auto:
        computed from the data, so that the resolution is nearly the same everywhere
    unseen: 'drop' or 'keep'; default drop
        what to do with voxels without sensitivity. drop: they are no neighbours of any voxel;
        keep: they are neighbours of value 0, as in STIR without kappa
    bowsher: file or array
        anatomical image on the grid. Only the N neighbours of a voxel that are most alike in
        this image count (7 of 26; 3 of 8 in one plane)
    step: float; default 1
        length of a step of svrg, saga, bsrem
    relax: float; default the step falls to a fiftieth by the last pass
        for bsrem: shrink the step as 1/(1 + E passes); 0: do not shrink the step. By default
        bsrem came within 1 % of the maximum in 60 passes with 13 counts a voxel or more; with 4
        counts a voxel it came within 3 to 5 %, where svrg took 21 to 35 passes
    kernel: file or array
        for kem: images of features on the grid, from which Isotome makes each voxel's kernel.
        Then k=48 (voxels of a kernel), radius=3 (of the window), sigma=1, each after a comma

    Interruption
    ------------
    resume: bool; default false
        continue from OUTPUT.ckpt; start from the beginning if the file does not exist
    checkpoint_minutes: float, min; default 10
        shortest time between two checkpoints; 0: write one after every update
    stop_after: float, min; default 0
        after M minutes write a checkpoint and stop with exit code 143; 0: never

    Events that do not fit memory
    -----------------------------
    stream: bool; default false
        leave the events on disk, even if they fit in memory, and read them in blocks
    block: int; default chosen by the memory
        like 'stream', with N events at a time
    scratch: folder; default chosen by memory and disk
        like 'stream', from a copy in FOLDER that is sorted by subset and has all factors. The
        copy takes at most 40 bytes an event, and is removed at the end. Without this option
        Isotome makes such a copy if events do not fit in memory, the copy saves reading, and a
        disk has room; none: it never does

    Output
    ------
    force: bool; default false
        replace an existing output

    Units
    -----
    calibration: file or float; default none: the image is in counts/mm
        calibration of the scanner, for an image in Bq/ml at the start of the scan: a file of
        'isotome calibrate', its number K, or the word events for the factor in the events' file
    branching: float; default the isotope's
        positrons per decay
    started_at: text
        when the scan started: 14:30:15, or with the date 2026-11-16T14:30:15
    suv: bool; default false
        make standardised uptake values by body weight, g/ml, instead of Bq/ml
    weight_kg: float, kg; default not known
        weight of the body
    dose_mbq: float, MBq; default not known
        activity in the syringe at the time 'injected-at'
    residual_mbq: float, MBq; default 0
        activity that stayed in the syringe, at the time 'injected-at'
    injected_at: text
        time of the injection; without a date Isotome takes the time within 12 hours of
        'started-at', also across midnight

    Least squares
    -------------
    nonneg: bool; default false
        allow no voxel below 0
    weigh: 'equal' or 'area'; default equal
        equal: all data count alike; area: data count by the surface of their transducer. area
        needs fewer iterations if an array is denser in some places, as rings are at the poles
    precondition: 'none' or 'image'; default none
        image: a step goes farther where the image is bright. This needs fewer iterations if few
        transducers see an image that is mostly dark, as vessels are

    Error bars
    ----------
    replicates: int; default none
        also reconstruct R replicates of the scan, and write their mean and standard deviation
        (x_mean.nii, x_sd.nii). A replicate counts each event 0, 1, 2, ... times, by a Poisson
        number of mean 1. It shows the statistical error, and no bias
    replicates_seed: int; default 1
        seed of these numbers
    replicates_save: file
        also write all R images, as one 4-D image. 'isotome measure roi --replicates' reads it
    replicates_batch: int; default 4
        replicates that share one pass over the rays. More take more memory; the images do not
        change
    regions: file or array
        image of labels on the grid (0: none; 1, 2, ...). Each label gets a mean with its 95 %
        interval (x_regions.tsv), and their covariance (x_regions_cov.npy). With 'kinetics',
        also whether the curves fit (x_scores.tsv)
    fisher: bool; default false
        standard deviation and covariance of 'regions' from the second derivatives at the image,
        without replicates (x_regions.tsv, x_regions_cov.npy)

    Kinetics
    --------
    kinetics: text; default none
        reconstruct images of kinetic parameters from the events: patlak;
        spectral:beta=FROM/TO/N[,blood][,zero]; srtm2:k2p=V,beta=FROM/TO/N; bspline:T0/T1/...;
        basis. Rates are in 1/s. 'frames' gives the edges of the time bins. The image is 4-D:
        the coefficients; x_Ki.nii and so on are the maps
    input: file
        the curve of the blood, or of a reference tissue: PET-BIDS samples (*_blood.tsv), a
        table with the columns time and one more, or the mean of frames over a mask
    input_zero_s: float, s; default 0
        time of the scan at which the curve has its time 0: -2400 where the scan began 40
        minutes after the injection
    input_delay_s: float, s; default 0
        the curve comes so much later in the tissue than in the samples
    input_decay: 'corrected' or 'raw'; default corrected
        whether the samples are corrected for decay to their own time 0
    input_unit: text; default from the .json beside it
        unit of the samples: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL
    plasma_ratio: float; default 1 for FRAMES:MASK
        plasma over whole blood, if the input is whole blood alone
    unitless: bool; default false
        take the samples as they stand: coefficients in whatever unit comes of it
    basis: file
        curves of the model basis: a table with the column time and one for each curve
    inner: int; default 4
        fits of the coefficients behind each subset

    Checks
    ------
    accept: text; default none
        checks that only warn instead of refusing, separated by commas; a refusal names its
        check
    """


def matrix(
    data: _Array | None = ...,
    *,
    context: Context | None = ...,
    like: _File | None = ...,
    method: Literal["mlem", "osem", "svrg", "saga", "bsrem", "lbfgs", "depierro", "pdhg", "spdhg", "kem"] | None = ...,
    iterations: int | None = ...,
    subsets: int | None = ...,
    subset_rule: Literal["interleaved", "blocks", "random", "mod", "groups"] | None = ...,
    seed: int | None = ...,
    sens: _Array | None = ...,
    sens_floor: float | None = ...,
    start: _Array | None = ...,
    filter: _Text | None = ...,
    filter_every: int | None = ...,
    save_every: int | None = ...,
    psf: _Float | None = ...,
    matrix: _File | None = ...,
    norm: _Array | None = ...,
    additive: _Array | None = ...,
    grid: _Int | Grid | None = ...,
    voxel: _Float | None = ...,
    centre: _Float | None = ...,
    from_s: float | None = ...,
    to_s: float | None = ...,
    frames: _Text | None = ...,
    isotope: _Text | None = ...,
    half_life_s: float | None = ...,
    live_share: _Text | None = ...,
    rates: _File | None = ...,
    penalty: _Text | None = ...,
    tolerance: float | None = ...,
    curve: _File | None = ...,
    kappa: _Array | None = ...,
    unseen: Literal["drop", "keep"] | None = ...,
    bowsher: _Array | None = ...,
    step: float | None = ...,
    relax: float | None = ...,
    kernel: _Array | None = ...,
    resume: bool | None = ...,
    checkpoint_minutes: float | None = ...,
    stop_after: float | None = ...,
    stream: bool | None = ...,
    block: int | None = ...,
    scratch: _File | None = ...,
    force: bool | None = ...,
    calibration: _File | None = ...,
    branching: float | None = ...,
    started_at: _Text | None = ...,
    suv: bool | None = ...,
    weight_kg: float | None = ...,
    dose_mbq: float | None = ...,
    residual_mbq: float | None = ...,
    injected_at: _Text | None = ...,
    nonneg: bool | None = ...,
    weigh: Literal["equal", "area"] | None = ...,
    precondition: Literal["none", "image"] | None = ...,
    replicates: int | None = ...,
    replicates_seed: int | None = ...,
    replicates_save: _File | None = ...,
    replicates_batch: int | None = ...,
    regions: _Array | None = ...,
    fisher: bool | None = ...,
    kinetics: _Text | None = ...,
    input: _File | None = ...,
    input_zero_s: float | None = ...,
    input_delay_s: float | None = ...,
    input_decay: Literal["corrected", "raw"] | None = ...,
    input_unit: _Text | None = ...,
    plasma_ratio: float | None = ...,
    unitless: bool | None = ...,
    basis: _File | None = ...,
    inner: int | None = ...,
    accept: _Text | None = ...,
) -> Problem:
    """A problem of model matrix: `.reconstruct()` makes the image, `.operator()` the operator.

    context: the Context to compute with; None: that of the process.
    like: the record of an earlier run, a JSON file: sets what is not given here, but not what is written.

    Reconstruction
    --------------
    method: 'mlem' or 'osem' or 'svrg' or 'saga' or 'bsrem' or 'lbfgs' or 'depierro' or 'pdhg' or 'spdhg' or 'kem'; default mlem
        mlem: maximum likelihood, from all data in each update. osem: the same from 'subsets' in
        turn, which is quicker. svrg: with a 'penalty', converges in about ten passes. saga: as
        svrg, which it is seldom better than. bsrem: with a 'penalty', by steps that shrink.
        lbfgs: with a 'penalty', from all data in each update (the reference). depierro: EM with
        a 'penalty', which never makes the image worse, but is slow. pdhg: total variation that
        is not smoothed, from all data in each update. spdhg: the same from 'subsets', which is
        quicker. kem: EM with a 'kernel' of other images
    iterations: int; default 10
        passes over all data: 10; 20 for svrg, saga, bsrem; 400 for lbfgs; 100 for depierro,
        spdhg; 500 for pdhg. 'tolerance' may end a run earlier. With a penalty, the start counts
        as a pass
    subsets: int; default 1; 8 for osem; 4 to 32, each of 1000 counts or more, for svrg, saga, bsrem, lbfgs, spdhg
        parts of the data, taken in turn
    subset_rule: 'interleaved' or 'blocks' or 'random' or 'mod' or 'groups'; default interleaved
        interleaved: subset b holds events b, b+K, b+2K, ...; blocks: consecutive events;
        random: events drawn at random. For srm the rule is for directions: mod, groups (4 x 4
        neighbours together) or random
    seed: int; default 1
        seed of 'subset-rule' random, and of methods that take subsets in random order
    sens: file or array; default from 'scanner'
        sensitivity image, without 'psf'; none: 1 everywhere
    sens_floor: float; default 0
        a voxel that hardly any line crosses gets no activity. Its sensitivity is below F of its
        neighbours' and of its plane's median; 0: all voxels get some
    start: file or array; default 1 everywhere; one pass of osem for svrg, saga, bsrem, lbfgs, depierro, pdhg, spdhg
        start image
    filter: text
        gaussian:MM, gaussian:X,Y,Z, median:N or none, after the last iteration
    filter_every: int; default once, at the end
        filter after every N iterations; the next iteration starts from the filtered image
    save_every: int; default 0
        also write the image after every N iterations (x_it005.nii)

    Image
    -----
    psf: 3 x float, mm; default none
        FWHM in mm of the point spread function of the image, one for all axes or one each

    Model matrix
    ------------
    matrix: file
        system matrix (rows of data, voxels) as scipy.sparse.save_npz writes it (.npz), csr or
        csc; a voxel is column ix + NX (iy + NY iz)
    data: file or array
        counts, one for each row of the matrix
    norm: file or array
        factor of each row, such as efficiency and attenuation; 0 leaves the row out
    additive: file or array
        mean of randoms and scatter of each row, in counts
    grid: 3 x int or Grid; default the grid of the image, if one is given
        number of voxels, as many as the matrix has columns
    voxel: 3 x float, mm; default 1,1,1
        size of a voxel
    centre: 3 x float, mm; default 0,0,0
        centre of the image, mm

    Times, in s since the start of the scan
    ---------------------------------------
    from_s: float, s; default the first
        use only events from this time on
    to_s: float, s; default the last
        use only events before this time
    frames: text
        edges of frames in s, in rising order. FIRST:STEP:LAST stands for many edges, as in
        0:10:600 or 0:5:60,120,180. The result is a 4-D image with one image per frame, at most
        100000
    isotope: text
        correct for the decay of this isotope to the start of the scan: F-18, C-11, O-15, N-13,
        Ga-68, Cu-64, Zr-89, Rb-82 or I-124
    half_life_s: float, s; default the isotope's
        correct for decay with this half-life
    live_share: text; default 1
        live share of the time, above 0 to 1, one for all frames or one each
    rates: file
        dead time of the scanner, by 'isotome rates': the live share of each frame follows from
        its own events, in place of 'live-share'

    Penalties and kernels
    ---------------------
    penalty: text
        quadratic:BETA (squared differences), rdp:BETA[,gamma=2,epsilon=E] (relative
        differences), logcosh:BETA[,s=S] (logarithm of the hyperbolic cosine),
        huber:BETA[,delta=D] (squares, straight beyond delta), tv:BETA[,eta=E] (total variation,
        smoothed by eta), ggd:BETA[,p=1.2,delta=D] (generalised Gaussian, a power p of
        differences); rel=B in place of BETA is a strength without unit, 0.05 to 0.5 are usual.
        pdhg and spdhg: tv:BETA, not smoothed
    tolerance: float; default 0.005; 0.0005 for depierro; 0.0001 for pdhg, spdhg
        stop when the image changes by less than this share over two passes of all subsets;
        lbfgs: when the gradient divided by the sensitivity is below this (KKT); pdhg, spdhg:
        when the duality gap is below this share of the counts; 0: never
    curve: file
        write the objective, its parts and the gradient, or the duality gap, on the way
    kappa: file or array; default 1 everywhere
        image that weights the penalty; each pair of voxels is weighted by both values. auto:
        computed from the data, so that the resolution is nearly the same everywhere
    unseen: 'drop' or 'keep'; default drop
        what to do with voxels without sensitivity. drop: they are no neighbours of any voxel;
        keep: they are neighbours of value 0, as in STIR without kappa
    bowsher: file or array
        anatomical image on the grid. Only the N neighbours of a voxel that are most alike in
        this image count (7 of 26; 3 of 8 in one plane)
    step: float; default 1
        length of a step of svrg, saga, bsrem
    relax: float; default the step falls to a fiftieth by the last pass
        for bsrem: shrink the step as 1/(1 + E passes); 0: do not shrink the step. By default
        bsrem came within 1 % of the maximum in 60 passes with 13 counts a voxel or more; with 4
        counts a voxel it came within 3 to 5 %, where svrg took 21 to 35 passes
    kernel: file or array
        for kem: images of features on the grid, from which Isotome makes each voxel's kernel.
        Then k=48 (voxels of a kernel), radius=3 (of the window), sigma=1, each after a comma

    Interruption
    ------------
    resume: bool; default false
        continue from OUTPUT.ckpt; start from the beginning if the file does not exist
    checkpoint_minutes: float, min; default 10
        shortest time between two checkpoints; 0: write one after every update
    stop_after: float, min; default 0
        after M minutes write a checkpoint and stop with exit code 143; 0: never

    Events that do not fit memory
    -----------------------------
    stream: bool; default false
        leave the events on disk, even if they fit in memory, and read them in blocks
    block: int; default chosen by the memory
        like 'stream', with N events at a time
    scratch: folder; default chosen by memory and disk
        like 'stream', from a copy in FOLDER that is sorted by subset and has all factors. The
        copy takes at most 40 bytes an event, and is removed at the end. Without this option
        Isotome makes such a copy if events do not fit in memory, the copy saves reading, and a
        disk has room; none: it never does

    Output
    ------
    force: bool; default false
        replace an existing output

    Units
    -----
    calibration: file or float; default none: the image is in counts/mm
        calibration of the scanner, for an image in Bq/ml at the start of the scan: a file of
        'isotome calibrate', its number K, or the word events for the factor in the events' file
    branching: float; default the isotope's
        positrons per decay
    started_at: text
        when the scan started: 14:30:15, or with the date 2026-11-16T14:30:15
    suv: bool; default false
        make standardised uptake values by body weight, g/ml, instead of Bq/ml
    weight_kg: float, kg; default not known
        weight of the body
    dose_mbq: float, MBq; default not known
        activity in the syringe at the time 'injected-at'
    residual_mbq: float, MBq; default 0
        activity that stayed in the syringe, at the time 'injected-at'
    injected_at: text
        time of the injection; without a date Isotome takes the time within 12 hours of
        'started-at', also across midnight

    Least squares
    -------------
    nonneg: bool; default false
        allow no voxel below 0
    weigh: 'equal' or 'area'; default equal
        equal: all data count alike; area: data count by the surface of their transducer. area
        needs fewer iterations if an array is denser in some places, as rings are at the poles
    precondition: 'none' or 'image'; default none
        image: a step goes farther where the image is bright. This needs fewer iterations if few
        transducers see an image that is mostly dark, as vessels are

    Error bars
    ----------
    replicates: int; default none
        also reconstruct R replicates of the scan, and write their mean and standard deviation
        (x_mean.nii, x_sd.nii). A replicate counts each event 0, 1, 2, ... times, by a Poisson
        number of mean 1. It shows the statistical error, and no bias
    replicates_seed: int; default 1
        seed of these numbers
    replicates_save: file
        also write all R images, as one 4-D image. 'isotome measure roi --replicates' reads it
    replicates_batch: int; default 4
        replicates that share one pass over the rays. More take more memory; the images do not
        change
    regions: file or array
        image of labels on the grid (0: none; 1, 2, ...). Each label gets a mean with its 95 %
        interval (x_regions.tsv), and their covariance (x_regions_cov.npy). With 'kinetics',
        also whether the curves fit (x_scores.tsv)
    fisher: bool; default false
        standard deviation and covariance of 'regions' from the second derivatives at the image,
        without replicates (x_regions.tsv, x_regions_cov.npy)

    Kinetics
    --------
    kinetics: text; default none
        reconstruct images of kinetic parameters from the events: patlak;
        spectral:beta=FROM/TO/N[,blood][,zero]; srtm2:k2p=V,beta=FROM/TO/N; bspline:T0/T1/...;
        basis. Rates are in 1/s. 'frames' gives the edges of the time bins. The image is 4-D:
        the coefficients; x_Ki.nii and so on are the maps
    input: file
        the curve of the blood, or of a reference tissue: PET-BIDS samples (*_blood.tsv), a
        table with the columns time and one more, or the mean of frames over a mask
    input_zero_s: float, s; default 0
        time of the scan at which the curve has its time 0: -2400 where the scan began 40
        minutes after the injection
    input_delay_s: float, s; default 0
        the curve comes so much later in the tissue than in the samples
    input_decay: 'corrected' or 'raw'; default corrected
        whether the samples are corrected for decay to their own time 0
    input_unit: text; default from the .json beside it
        unit of the samples: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL
    plasma_ratio: float; default 1 for FRAMES:MASK
        plasma over whole blood, if the input is whole blood alone
    unitless: bool; default false
        take the samples as they stand: coefficients in whatever unit comes of it
    basis: file
        curves of the model basis: a table with the column time and one for each curve
    inner: int; default 4
        fits of the coefficients behind each subset

    Checks
    ------
    accept: text; default none
        checks that only warn instead of refusing, separated by commas; a refusal names its
        check
    """


def ubp(
    data: _Array | None = ...,
    *,
    context: Context | None = ...,
    like: _File | None = ...,
    method: Literal["fbp"] | None = ...,
    iterations: int | None = ...,
    subsets: int | None = ...,
    subset_rule: Literal["interleaved", "blocks", "random", "mod", "groups"] | None = ...,
    seed: int | None = ...,
    sens: _Array | None = ...,
    sens_floor: float | None = ...,
    start: _Array | None = ...,
    filter: _Text | None = ...,
    filter_every: int | None = ...,
    save_every: int | None = ...,
    psf: _Float | None = ...,
    scanner: _File | None = ...,
    speed: float | None = ...,
    wavelength: _Text | None = ...,
    frame: _Text | None = ...,
    grid: _Int | Grid | None = ...,
    voxel: _Float | None = ...,
    centre: _Float | None = ...,
    tissue: _File | None = ...,
    tissue_speed: float | None = ...,
    speed_map: _File | None = ...,
    sound_path: Literal["straight", "snell", "eikonal"] | None = ...,
    sound_amplitude: Literal["distance", "spread"] | None = ...,
    table_mm: float | None = ...,
    weights: Literal["sphere", "solid-angle"] | None = ...,
    hann_mhz: float | None = ...,
    band_mhz: _Float | None = ...,
    without: _Text | None = ...,
    speeds: _Float | None = ...,
    tissue_speeds: _Float | None = ...,
    from_s: float | None = ...,
    to_s: float | None = ...,
    frames: _Text | None = ...,
    isotope: _Text | None = ...,
    half_life_s: float | None = ...,
    live_share: _Text | None = ...,
    rates: _File | None = ...,
    penalty: _Text | None = ...,
    tolerance: float | None = ...,
    curve: _File | None = ...,
    resume: bool | None = ...,
    checkpoint_minutes: float | None = ...,
    stop_after: float | None = ...,
    stream: bool | None = ...,
    block: int | None = ...,
    scratch: _File | None = ...,
    force: bool | None = ...,
    calibration: _File | None = ...,
    branching: float | None = ...,
    started_at: _Text | None = ...,
    suv: bool | None = ...,
    weight_kg: float | None = ...,
    dose_mbq: float | None = ...,
    residual_mbq: float | None = ...,
    injected_at: _Text | None = ...,
    nonneg: bool | None = ...,
    weigh: Literal["equal", "area"] | None = ...,
    precondition: Literal["none", "image"] | None = ...,
    replicates: int | None = ...,
    replicates_seed: int | None = ...,
    replicates_save: _File | None = ...,
    replicates_batch: int | None = ...,
    regions: _Array | None = ...,
    fisher: bool | None = ...,
    kinetics: _Text | None = ...,
    input: _File | None = ...,
    input_zero_s: float | None = ...,
    input_delay_s: float | None = ...,
    input_decay: Literal["corrected", "raw"] | None = ...,
    input_unit: _Text | None = ...,
    plasma_ratio: float | None = ...,
    unitless: bool | None = ...,
    basis: _File | None = ...,
    inner: int | None = ...,
    accept: _Text | None = ...,
) -> Problem:
    """A problem of model ubp: `.reconstruct()` makes the image, `.operator()` the operator.

    context: the Context to compute with; None: that of the process.
    like: the record of an earlier run, a JSON file: sets what is not given here, but not what is written.

    Reconstruction
    --------------
    method: 'fbp'; default fbp
        fbp: filtered back-projection
    iterations: int; default 10
        passes over all data: not for this model. 'tolerance' may end a run earlier. With a
        penalty, the start counts as a pass
    subsets: int; default not for this model
        parts of the data, taken in turn
    subset_rule: 'interleaved' or 'blocks' or 'random' or 'mod' or 'groups'; default interleaved
        interleaved: subset b holds events b, b+K, b+2K, ...; blocks: consecutive events;
        random: events drawn at random. For srm the rule is for directions: mod, groups (4 x 4
        neighbours together) or random
    seed: int; default 1
        seed of 'subset-rule' random, and of methods that take subsets in random order
    sens: file or array; default from 'scanner'
        sensitivity image, without 'psf'; none: 1 everywhere
    sens_floor: float; default 0
        a voxel that hardly any line crosses gets no activity. Its sensitivity is below F of its
        neighbours' and of its plane's median; 0: all voxels get some
    start: file or array; default not for this model
        start image
    filter: text
        gaussian:MM, gaussian:X,Y,Z, median:N or none, after the last iteration
    filter_every: int; default once, at the end
        filter after every N iterations; the next iteration starts from the filtered image
    save_every: int; default 0
        also write the image after every N iterations (x_it005.nii)

    Image
    -----
    psf: 3 x float, mm; default none
        FWHM in mm of the point spread function of the image, one for all axes or one each

    Model ubp
    ---------
    scanner: file; default that of the data
        description of the transducers: YAML or JSON (kind: transducers), or a file of traces
        that holds them
    speed: float, mm/us; default the scanner's, or the data's
        speed of sound, mm/us; wins over the value of any file
    wavelength: text; default the first
        wavelength of a file with several: its number, its nm, or all, which makes one image for
        each
    frame: text; default the first
        frame of a file with several: its number, or all, which makes one image for each
    grid: 3 x int or Grid; default that of the image, or the field of view of the file or of a planar array
        number of voxels. Without 'voxel' it sets their size in the field of view. One number
        counts along every axis, but the image has one plane if all transducers lie in a plane
    voxel: 1 x float, mm; default that of the image, or the field of view of the file or of a planar array
        edge of a voxel, which is a cube. Without 'grid' it sets the number of voxels
    centre: 3 x float, mm; default that of the image, or the field of view of the file or of a planar array, or 0,0,0
        centre of the image, mm
    tissue: file; default one speed everywhere
        where the speed of sound is 'tissue-speed', in mm: circle:X,Y,R,
        ellipse:X,Y,A,B[,DEGREES], sphere:X,Y,Z,R, ellipsoid:X,Y,Z,A,B,C, plane:NX,NY,NZ,H
        (where NX x + NY y + NZ z < H), or an image whose voxels above 0.5 are tissue. Circle
        and ellipse go on without end along the axis of a planar array, or along z
    tissue_speed: float, mm/us; default none: 'tissue' needs one
        speed of sound in the tissue, mm/us; 'speed' is that of the water round it
    speed_map: file; default one speed everywhere
        image of the speed of sound, mm/us, instead of 'tissue'; outside of it 'speed' holds
    sound_path: 'straight' or 'snell' or 'eikonal'; default straight
        the way of the sound: straight; snell, bent at the border (sphere, plane; circle in the
        plane of the transducers); eikonal, the first arrival in any tissue or map
    sound_amplitude: 'distance' or 'spread'; default distance
        how loud a voxel is: distance, 1/d; spread, by the bent rays, with 'sound-path' snell
        and a sphere or a plane
    table_mm: float, mm; default 1, 0.7 or 0.5, by the sampling rate
        step of the tables of delays, of an image of tissue, a map, or 'sound-path' eikonal
    data: file or array
        traces: an array (transducers, samples), of several (frames, wavelengths, transducers,
        samples), as .npy; or with their transducers as IPASC (.hdf5, .h5) or iThera MSOT (.msot
        with .bin)
    weights: 'sphere' or 'solid-angle'; default sphere
        sphere: exact for transducers on a sphere round the object; solid-angle: for any
        surface, each transducer weighted by the solid angle of its patch, whose normal must
        face the voxel. Without areas all weights are equal
    hann_mhz: float, MHz; default 5 if the scanner has an impulse response, otherwise none
        window that falls to 0 at F, after division by the impulse response. Without an impulse
        response only the window is used; 0: traces are used unchanged
    band_mhz: 2 x float, MHz; default from the traces
        frequencies of the traces that are used; half passes at LOW and at HIGH, and LOW 0 is no
        lower edge. 0,0 uses all frequencies. Without the option the traces tell: LOW is above
        the drift that all transducers share, HIGH where neighbouring transducers stop agreeing.
        Clean traces of a dense array stay as they are
    without: text; default all are used
        transducers whose traces are not used, such as dead or noisy ones: numbers from 1 on,
        and ranges of them, as in 12,40-43
    speeds: 3 x float; default one speed
        make an image for each of N speeds of sound from LOW to HIGH, mm/us, and write the
        sharpest. The record has the sharpness of all. For one image, instead of 'speed'
    tissue_speeds: 3 x float; default one speed
        the same over the speed of the tissue, the water's stays: instead of 'tissue-speed'. N
        is 15 by default. Both speeds cannot be found together

    Times, in s since the start of the scan
    ---------------------------------------
    from_s: float, s; default the first
        use only events from this time on
    to_s: float, s; default the last
        use only events before this time
    frames: text
        edges of frames in s, in rising order. FIRST:STEP:LAST stands for many edges, as in
        0:10:600 or 0:5:60,120,180. The result is a 4-D image with one image per frame, at most
        100000
    isotope: text
        correct for the decay of this isotope to the start of the scan: F-18, C-11, O-15, N-13,
        Ga-68, Cu-64, Zr-89, Rb-82 or I-124
    half_life_s: float, s; default the isotope's
        correct for decay with this half-life
    live_share: text; default 1
        live share of the time, above 0 to 1, one for all frames or one each
    rates: file
        dead time of the scanner, by 'isotome rates': the live share of each frame follows from
        its own events, in place of 'live-share'

    Penalties
    ---------
    penalty: text
        quadratic: MU times the sum of squared differences between neighbours; tikhonov: MU
        times the sum of squares; tv: MU times the sum of the gradient's size. MU grows with
        grueneisen and the amount of data; in place of MU, rel=R is R times the largest
        eigenvalue of A* A (not of tv)
    tolerance: float; default not for this model
        stop when the gradient has fallen to this share of the first; pdhg: when the duality gap
        is below this share of |data|^2
    curve: file
        write cost and gradient after each iteration; for pdhg the duality gap

    Interruption
    ------------
    resume: bool; default false
        continue from OUTPUT.ckpt; start from the beginning if the file does not exist
    checkpoint_minutes: float, min; default 10
        shortest time between two checkpoints; 0: write one after every update
    stop_after: float, min; default 0
        after M minutes write a checkpoint and stop with exit code 143; 0: never

    Events that do not fit memory
    -----------------------------
    stream: bool; default false
        leave the events on disk, even if they fit in memory, and read them in blocks
    block: int; default chosen by the memory
        like 'stream', with N events at a time
    scratch: folder; default chosen by memory and disk
        like 'stream', from a copy in FOLDER that is sorted by subset and has all factors. The
        copy takes at most 40 bytes an event, and is removed at the end. Without this option
        Isotome makes such a copy if events do not fit in memory, the copy saves reading, and a
        disk has room; none: it never does

    Output
    ------
    force: bool; default false
        replace an existing output

    Units
    -----
    calibration: file or float; default none: the image is in counts/mm
        calibration of the scanner, for an image in Bq/ml at the start of the scan: a file of
        'isotome calibrate', its number K, or the word events for the factor in the events' file
    branching: float; default the isotope's
        positrons per decay
    started_at: text
        when the scan started: 14:30:15, or with the date 2026-11-16T14:30:15
    suv: bool; default false
        make standardised uptake values by body weight, g/ml, instead of Bq/ml
    weight_kg: float, kg; default not known
        weight of the body
    dose_mbq: float, MBq; default not known
        activity in the syringe at the time 'injected-at'
    residual_mbq: float, MBq; default 0
        activity that stayed in the syringe, at the time 'injected-at'
    injected_at: text
        time of the injection; without a date Isotome takes the time within 12 hours of
        'started-at', also across midnight

    Least squares
    -------------
    nonneg: bool; default false
        allow no voxel below 0
    weigh: 'equal' or 'area'; default equal
        equal: all data count alike; area: data count by the surface of their transducer. area
        needs fewer iterations if an array is denser in some places, as rings are at the poles
    precondition: 'none' or 'image'; default none
        image: a step goes farther where the image is bright. This needs fewer iterations if few
        transducers see an image that is mostly dark, as vessels are

    Error bars
    ----------
    replicates: int; default none
        also reconstruct R replicates of the scan, and write their mean and standard deviation
        (x_mean.nii, x_sd.nii). A replicate counts each event 0, 1, 2, ... times, by a Poisson
        number of mean 1. It shows the statistical error, and no bias
    replicates_seed: int; default 1
        seed of these numbers
    replicates_save: file
        also write all R images, as one 4-D image. 'isotome measure roi --replicates' reads it
    replicates_batch: int; default 4
        replicates that share one pass over the rays. More take more memory; the images do not
        change
    regions: file or array
        image of labels on the grid (0: none; 1, 2, ...). Each label gets a mean with its 95 %
        interval (x_regions.tsv), and their covariance (x_regions_cov.npy). With 'kinetics',
        also whether the curves fit (x_scores.tsv)
    fisher: bool; default false
        standard deviation and covariance of 'regions' from the second derivatives at the image,
        without replicates (x_regions.tsv, x_regions_cov.npy)

    Kinetics
    --------
    kinetics: text; default none
        reconstruct images of kinetic parameters from the events: patlak;
        spectral:beta=FROM/TO/N[,blood][,zero]; srtm2:k2p=V,beta=FROM/TO/N; bspline:T0/T1/...;
        basis. Rates are in 1/s. 'frames' gives the edges of the time bins. The image is 4-D:
        the coefficients; x_Ki.nii and so on are the maps
    input: file
        the curve of the blood, or of a reference tissue: PET-BIDS samples (*_blood.tsv), a
        table with the columns time and one more, or the mean of frames over a mask
    input_zero_s: float, s; default 0
        time of the scan at which the curve has its time 0: -2400 where the scan began 40
        minutes after the injection
    input_delay_s: float, s; default 0
        the curve comes so much later in the tissue than in the samples
    input_decay: 'corrected' or 'raw'; default corrected
        whether the samples are corrected for decay to their own time 0
    input_unit: text; default from the .json beside it
        unit of the samples: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL
    plasma_ratio: float; default 1 for FRAMES:MASK
        plasma over whole blood, if the input is whole blood alone
    unitless: bool; default false
        take the samples as they stand: coefficients in whatever unit comes of it
    basis: file
        curves of the model basis: a table with the column time and one for each curve
    inner: int; default 4
        fits of the coefficients behind each subset

    Checks
    ------
    accept: text; default none
        checks that only warn instead of refusing, separated by commas; a refusal names its
        check
    """


def svoxel(
    data: _Array | None = ...,
    *,
    context: Context | None = ...,
    like: _File | None = ...,
    method: Literal["cg", "nncg", "pdhg"] | None = ...,
    iterations: int | None = ...,
    subsets: int | None = ...,
    subset_rule: Literal["interleaved", "blocks", "random", "mod", "groups"] | None = ...,
    seed: int | None = ...,
    sens: _Array | None = ...,
    sens_floor: float | None = ...,
    start: _Array | None = ...,
    filter: _Text | None = ...,
    filter_every: int | None = ...,
    save_every: int | None = ...,
    psf: _Float | None = ...,
    scanner: _File | None = ...,
    speed: float | None = ...,
    wavelength: _Text | None = ...,
    frame: _Text | None = ...,
    grid: _Int | Grid | None = ...,
    voxel: _Float | None = ...,
    centre: _Float | None = ...,
    tissue: _File | None = ...,
    tissue_speed: float | None = ...,
    speed_map: _File | None = ...,
    sound_path: Literal["straight", "snell", "eikonal"] | None = ...,
    sound_amplitude: Literal["distance", "spread"] | None = ...,
    table_mm: float | None = ...,
    lines: int | None = ...,
    f0_mhz: float | None = ...,
    df_mhz: float | None = ...,
    fmax_mhz: float | None = ...,
    sir: Literal["point", "rect", "near", "focus"] | None = ...,
    sir_error: float | None = ...,
    transform: Literal["nufft", "direct"] | None = ...,
    accuracy: float | None = ...,
    width: int | None = ...,
    bins_per_wave: int | None = ...,
    from_s: float | None = ...,
    to_s: float | None = ...,
    frames: _Text | None = ...,
    isotope: _Text | None = ...,
    half_life_s: float | None = ...,
    live_share: _Text | None = ...,
    rates: _File | None = ...,
    penalty: _Text | None = ...,
    tolerance: float | None = ...,
    curve: _File | None = ...,
    resume: bool | None = ...,
    checkpoint_minutes: float | None = ...,
    stop_after: float | None = ...,
    follow: bool | None = ...,
    sample_type: Literal["f32", "i16", "u16"] | None = ...,
    wavelengths: _Text | None = ...,
    batch: int | None = ...,
    warm: bool | None = ...,
    lag: Literal["drop", "wait"] | None = ...,
    every_s: float | None = ...,
    keep: bool | None = ...,
    idle_s: float | None = ...,
    picture: _File | None = ...,
    force: bool | None = ...,
    calibration: _File | None = ...,
    branching: float | None = ...,
    started_at: _Text | None = ...,
    suv: bool | None = ...,
    weight_kg: float | None = ...,
    dose_mbq: float | None = ...,
    residual_mbq: float | None = ...,
    injected_at: _Text | None = ...,
    nonneg: bool | None = ...,
    weigh: Literal["equal", "area"] | None = ...,
    precondition: Literal["none", "image"] | None = ...,
    replicates: int | None = ...,
    replicates_seed: int | None = ...,
    replicates_save: _File | None = ...,
    replicates_batch: int | None = ...,
    regions: _Array | None = ...,
    fisher: bool | None = ...,
    kinetics: _Text | None = ...,
    input: _File | None = ...,
    input_zero_s: float | None = ...,
    input_delay_s: float | None = ...,
    input_decay: Literal["corrected", "raw"] | None = ...,
    input_unit: _Text | None = ...,
    plasma_ratio: float | None = ...,
    unitless: bool | None = ...,
    basis: _File | None = ...,
    inner: int | None = ...,
    accept: _Text | None = ...,
) -> Problem:
    """A problem of model svoxel: `.reconstruct()` makes the image, `.operator()` the operator.

    context: the Context to compute with; None: that of the process.
    like: the record of an earlier run, a JSON file: sets what is not given here, but not what is written.

    Reconstruction
    --------------
    method: 'cg' or 'nncg' or 'pdhg'; default cg
        cg: least squares, by conjugate gradients. nncg: least squares without negative values,
        by conjugate gradients. pdhg: total variation with a duality gap that tells how near the
        end is
    iterations: int; default 10
        passes over all data: 10; 500 for pdhg. 'tolerance' may end a run earlier. With a
        penalty, the start counts as a pass
    subsets: int; default not for this model
        parts of the data, taken in turn
    subset_rule: 'interleaved' or 'blocks' or 'random' or 'mod' or 'groups'; default interleaved
        interleaved: subset b holds events b, b+K, b+2K, ...; blocks: consecutive events;
        random: events drawn at random. For srm the rule is for directions: mod, groups (4 x 4
        neighbours together) or random
    seed: int; default 1
        seed of 'subset-rule' random, and of methods that take subsets in random order
    sens: file or array; default from 'scanner'
        sensitivity image, without 'psf'; none: 1 everywhere
    sens_floor: float; default 0
        a voxel that hardly any line crosses gets no activity. Its sensitivity is below F of its
        neighbours' and of its plane's median; 0: all voxels get some
    start: file or array; default 0
        start image
    filter: text
        gaussian:MM, gaussian:X,Y,Z, median:N or none, after the last iteration
    filter_every: int; default once, at the end
        filter after every N iterations; the next iteration starts from the filtered image
    save_every: int; default 0
        also write the image after every N iterations (x_it005.nii)

    Image
    -----
    psf: 3 x float, mm; default none
        FWHM in mm of the point spread function of the image, one for all axes or one each

    Model svoxel
    ------------
    scanner: file; default that of the data
        description of the transducers: YAML or JSON (kind: transducers), or a file of traces
        that holds them
    speed: float, mm/us; default the scanner's, or the data's
        speed of sound, mm/us; wins over the value of any file
    wavelength: text; default the first
        wavelength of a file with several: its number, its nm, or all, which makes one image for
        each
    frame: text; default the first
        frame of a file with several: its number, or all, which makes one image for each
    grid: 3 x int or Grid; default that of the image, or the field of view of the file or of a planar array
        number of voxels. Without 'voxel' it sets their size in the field of view. One number
        counts along every axis, but the image has one plane if all transducers lie in a plane
    voxel: 1 x float, mm; default that of the image, or the field of view of the file or of a planar array
        edge of a voxel, which is a cube. Without 'grid' it sets the number of voxels
    centre: 3 x float, mm; default that of the image, or the field of view of the file or of a planar array, or 0,0,0
        centre of the image, mm
    tissue: file; default one speed everywhere
        where the speed of sound is 'tissue-speed', in mm: circle:X,Y,R,
        ellipse:X,Y,A,B[,DEGREES], sphere:X,Y,Z,R, ellipsoid:X,Y,Z,A,B,C, plane:NX,NY,NZ,H
        (where NX x + NY y + NZ z < H), or an image whose voxels above 0.5 are tissue. Circle
        and ellipse go on without end along the axis of a planar array, or along z
    tissue_speed: float, mm/us; default none: 'tissue' needs one
        speed of sound in the tissue, mm/us; 'speed' is that of the water round it
    speed_map: file; default one speed everywhere
        image of the speed of sound, mm/us, instead of 'tissue'; outside of it 'speed' holds
    sound_path: 'straight' or 'snell' or 'eikonal'; default straight
        the way of the sound: straight; snell, bent at the border (sphere, plane; circle in the
        plane of the transducers); eikonal, the first arrival in any tissue or map
    sound_amplitude: 'distance' or 'spread'; default distance
        how loud a voxel is: distance, 1/d; spread, by the bent rays, with 'sound-path' snell
        and a sphere or a plane
    table_mm: float, mm; default 1, 0.7 or 0.5, by the sampling rate
        step of the tables of delays, of an image of tissue, a map, or 'sound-path' eikonal
    data: file or array
        traces: an array (transducers, samples), of several (frames, wavelengths, transducers,
        samples), as .npy; or with their transducers as IPASC (.hdf5, .h5) or iThera MSOT (.msot
        with .bin); or spectra (transducers, lines), complex or pairs as `isotome project
        svoxel` writes them
    lines: int; default up to 'fmax-mhz'
        spectral lines, from 'f0-mhz' on
    f0_mhz: float, MHz; default 'df-mhz'
        first spectral line; it need not be a multiple of 'df-mhz'
    df_mhz: float, MHz; default 1/(2 x duration of the record)
        distance between spectral lines. If you give this or 'f0-mhz', the spectra say how many
        lines there are
    fmax_mhz: float, MHz; default 5, or half the sampling rate
        highest spectral line
    sir: 'point' or 'rect' or 'near' or 'focus'; default point
        how a transducer hears: point; rect (its aperture_mm in the far field); near (the
        integral over that rectangle); focus (the integral over its face, which focus_mm or
        bowl_mm curve)
    sir_error: float; default 1e-2, of near 1e-4
        relative error of what a face hears, up to the highest line; it chooses how many points
        the integrals of near and focus have
    transform: 'nufft' or 'direct'; default nufft
        nufft (fast), or direct (term by term, the reference)
    accuracy: float; default 1e-3, in projections 1e-6
        largest relative error of nufft's data against direct; it chooses 'width' and
        'bins-per-wave'
    width: int; default by 'accuracy'
        taps of nufft's kernel; with 'sir' rect at least 4
    bins_per_wave: int; default by 'accuracy'
        bins of nufft's traces in the shortest wave; kernels of 5 to 8 taps have a power of two
        of bins in all

    Times, in s since the start of the scan
    ---------------------------------------
    from_s: float, s; default the first
        use only events from this time on
    to_s: float, s; default the last
        use only events before this time
    frames: text
        edges of frames in s, in rising order. FIRST:STEP:LAST stands for many edges, as in
        0:10:600 or 0:5:60,120,180. The result is a 4-D image with one image per frame, at most
        100000
    isotope: text
        correct for the decay of this isotope to the start of the scan: F-18, C-11, O-15, N-13,
        Ga-68, Cu-64, Zr-89, Rb-82 or I-124
    half_life_s: float, s; default the isotope's
        correct for decay with this half-life
    live_share: text; default 1
        live share of the time, above 0 to 1, one for all frames or one each
    rates: file
        dead time of the scanner, by 'isotome rates': the live share of each frame follows from
        its own events, in place of 'live-share'

    Penalties
    ---------
    penalty: text
        quadratic: MU times the sum of squared differences between neighbours; tikhonov: MU
        times the sum of squares; tv: MU times the sum of the gradient's size. MU grows with
        grueneisen and the amount of data; in place of MU, rel=R is R times the largest
        eigenvalue of A* A (not of tv)
    tolerance: float; default 0; 0.0001 for pdhg
        stop when the gradient has fallen to this share of the first; pdhg: when the duality gap
        is below this share of |data|^2
    curve: file
        write cost and gradient after each iteration; for pdhg the duality gap

    Interruption
    ------------
    resume: bool; default false
        continue from OUTPUT.ckpt; start from the beginning if the file does not exist
    checkpoint_minutes: float, min; default 10
        shortest time between two checkpoints; 0: write one after every update
    stop_after: float, min; default 0
        after M minutes write a checkpoint and stop with exit code 143; 0: never

    Following a scan
    ----------------
    follow: bool; default false
        make images of frames while they come: 'data' is a pipe, a file that grows, or - for
        standard input. It holds frames (transducers, samples), one behind the other, with or
        without the head of a .npy file. An image takes 'iterations' (50) steps of FISTA. The
        run ends with the pipe, after 'idle-s', or on Ctrl-C
    sample_type: 'f32' or 'i16' or 'u16'; default i16
        numbers of a frame, little-endian; the head of a .npy file wins
    wavelengths: text; default one
        wavelengths in nm: frames come in this turn
    batch: int; default 1
        frames that are worked on together: more frames a second, each later. Without 'follow',
        all that 'frame' and 'wavelength' choose are made as 'follow' makes them
    warm: bool; default false
        start from the last image of the same wavelength, so that fewer 'iterations' do. An
        image then depends on the frames before it
    lag: 'drop' or 'wait'; default drop for a pipe, wait for a file
        if frames come faster than images are made: drop all but the newest, or let the pipe
        wait
    every_s: float, s; default 1
        write image and picture again after this many seconds
    keep: bool; default false
        append every image to the output, a .npy (images, nz, ny, nx)
    idle_s: float, s; default 10 for a file, never for a pipe
        end after this many seconds without frames; 0: never
    picture: file; default the output's name with .png
        picture of the last image

    Output
    ------
    force: bool; default false
        replace an existing output

    Units
    -----
    calibration: file or float; default none: the image is in counts/mm
        calibration of the scanner, for an image in Bq/ml at the start of the scan: a file of
        'isotome calibrate', its number K, or the word events for the factor in the events' file
    branching: float; default the isotope's
        positrons per decay
    started_at: text
        when the scan started: 14:30:15, or with the date 2026-11-16T14:30:15
    suv: bool; default false
        make standardised uptake values by body weight, g/ml, instead of Bq/ml
    weight_kg: float, kg; default not known
        weight of the body
    dose_mbq: float, MBq; default not known
        activity in the syringe at the time 'injected-at'
    residual_mbq: float, MBq; default 0
        activity that stayed in the syringe, at the time 'injected-at'
    injected_at: text
        time of the injection; without a date Isotome takes the time within 12 hours of
        'started-at', also across midnight

    Least squares
    -------------
    nonneg: bool; default false
        allow no voxel below 0
    weigh: 'equal' or 'area'; default equal
        equal: all data count alike; area: data count by the surface of their transducer. area
        needs fewer iterations if an array is denser in some places, as rings are at the poles
    precondition: 'none' or 'image'; default none
        image: a step goes farther where the image is bright. This needs fewer iterations if few
        transducers see an image that is mostly dark, as vessels are

    Error bars
    ----------
    replicates: int; default none
        also reconstruct R replicates of the scan, and write their mean and standard deviation
        (x_mean.nii, x_sd.nii). A replicate counts each event 0, 1, 2, ... times, by a Poisson
        number of mean 1. It shows the statistical error, and no bias
    replicates_seed: int; default 1
        seed of these numbers
    replicates_save: file
        also write all R images, as one 4-D image. 'isotome measure roi --replicates' reads it
    replicates_batch: int; default 4
        replicates that share one pass over the rays. More take more memory; the images do not
        change
    regions: file or array
        image of labels on the grid (0: none; 1, 2, ...). Each label gets a mean with its 95 %
        interval (x_regions.tsv), and their covariance (x_regions_cov.npy). With 'kinetics',
        also whether the curves fit (x_scores.tsv)
    fisher: bool; default false
        standard deviation and covariance of 'regions' from the second derivatives at the image,
        without replicates (x_regions.tsv, x_regions_cov.npy)

    Kinetics
    --------
    kinetics: text; default none
        reconstruct images of kinetic parameters from the events: patlak;
        spectral:beta=FROM/TO/N[,blood][,zero]; srtm2:k2p=V,beta=FROM/TO/N; bspline:T0/T1/...;
        basis. Rates are in 1/s. 'frames' gives the edges of the time bins. The image is 4-D:
        the coefficients; x_Ki.nii and so on are the maps
    input: file
        the curve of the blood, or of a reference tissue: PET-BIDS samples (*_blood.tsv), a
        table with the columns time and one more, or the mean of frames over a mask
    input_zero_s: float, s; default 0
        time of the scan at which the curve has its time 0: -2400 where the scan began 40
        minutes after the injection
    input_delay_s: float, s; default 0
        the curve comes so much later in the tissue than in the samples
    input_decay: 'corrected' or 'raw'; default corrected
        whether the samples are corrected for decay to their own time 0
    input_unit: text; default from the .json beside it
        unit of the samples: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL
    plasma_ratio: float; default 1 for FRAMES:MASK
        plasma over whole blood, if the input is whole blood alone
    unitless: bool; default false
        take the samples as they stand: coefficients in whatever unit comes of it
    basis: file
        curves of the model basis: a table with the column time and one for each curve
    inner: int; default 4
        fits of the coefficients behind each subset

    Checks
    ------
    accept: text; default none
        checks that only warn instead of refusing, separated by commas; a refusal names its
        check
    """


def sradon(
    data: _Array | None = ...,
    *,
    context: Context | None = ...,
    like: _File | None = ...,
    method: Literal["cg", "nncg", "pdhg"] | None = ...,
    iterations: int | None = ...,
    subsets: int | None = ...,
    subset_rule: Literal["interleaved", "blocks", "random", "mod", "groups"] | None = ...,
    seed: int | None = ...,
    sens: _Array | None = ...,
    sens_floor: float | None = ...,
    start: _Array | None = ...,
    filter: _Text | None = ...,
    filter_every: int | None = ...,
    save_every: int | None = ...,
    psf: _Float | None = ...,
    scanner: _File | None = ...,
    speed: float | None = ...,
    wavelength: _Text | None = ...,
    frame: _Text | None = ...,
    grid: _Int | Grid | None = ...,
    voxel: _Float | None = ...,
    centre: _Float | None = ...,
    tissue: _File | None = ...,
    tissue_speed: float | None = ...,
    speed_map: _File | None = ...,
    sound_path: Literal["straight", "snell", "eikonal"] | None = ...,
    sound_amplitude: Literal["distance", "spread"] | None = ...,
    table_mm: float | None = ...,
    sampling: Literal["midpoint", "alg4"] | None = ...,
    adjoint: Literal["auto", "gather", "scatter"] | None = ...,
    step: float | None = ...,
    accuracy: float | None = ...,
    sir: Literal["point", "focus"] | None = ...,
    sir_error: float | None = ...,
    from_s: float | None = ...,
    to_s: float | None = ...,
    frames: _Text | None = ...,
    isotope: _Text | None = ...,
    half_life_s: float | None = ...,
    live_share: _Text | None = ...,
    rates: _File | None = ...,
    penalty: _Text | None = ...,
    tolerance: float | None = ...,
    curve: _File | None = ...,
    resume: bool | None = ...,
    checkpoint_minutes: float | None = ...,
    stop_after: float | None = ...,
    stream: bool | None = ...,
    block: int | None = ...,
    scratch: _File | None = ...,
    force: bool | None = ...,
    calibration: _File | None = ...,
    branching: float | None = ...,
    started_at: _Text | None = ...,
    suv: bool | None = ...,
    weight_kg: float | None = ...,
    dose_mbq: float | None = ...,
    residual_mbq: float | None = ...,
    injected_at: _Text | None = ...,
    nonneg: bool | None = ...,
    weigh: Literal["equal", "area"] | None = ...,
    precondition: Literal["none", "image"] | None = ...,
    replicates: int | None = ...,
    replicates_seed: int | None = ...,
    replicates_save: _File | None = ...,
    replicates_batch: int | None = ...,
    regions: _Array | None = ...,
    fisher: bool | None = ...,
    kinetics: _Text | None = ...,
    input: _File | None = ...,
    input_zero_s: float | None = ...,
    input_delay_s: float | None = ...,
    input_decay: Literal["corrected", "raw"] | None = ...,
    input_unit: _Text | None = ...,
    plasma_ratio: float | None = ...,
    unitless: bool | None = ...,
    basis: _File | None = ...,
    inner: int | None = ...,
    accept: _Text | None = ...,
) -> Problem:
    """A problem of model sradon: `.reconstruct()` makes the image, `.operator()` the operator.

    context: the Context to compute with; None: that of the process.
    like: the record of an earlier run, a JSON file: sets what is not given here, but not what is written.

    Reconstruction
    --------------
    method: 'cg' or 'nncg' or 'pdhg'; default cg
        cg: least squares, by conjugate gradients. nncg: least squares without negative values,
        by conjugate gradients. pdhg: total variation with a duality gap that tells how near the
        end is
    iterations: int; default 10
        passes over all data: 10; 500 for pdhg. 'tolerance' may end a run earlier. With a
        penalty, the start counts as a pass
    subsets: int; default not for this model
        parts of the data, taken in turn
    subset_rule: 'interleaved' or 'blocks' or 'random' or 'mod' or 'groups'; default interleaved
        interleaved: subset b holds events b, b+K, b+2K, ...; blocks: consecutive events;
        random: events drawn at random. For srm the rule is for directions: mod, groups (4 x 4
        neighbours together) or random
    seed: int; default 1
        seed of 'subset-rule' random, and of methods that take subsets in random order
    sens: file or array; default from 'scanner'
        sensitivity image, without 'psf'; none: 1 everywhere
    sens_floor: float; default 0
        a voxel that hardly any line crosses gets no activity. Its sensitivity is below F of its
        neighbours' and of its plane's median; 0: all voxels get some
    start: file or array; default 0
        start image
    filter: text
        gaussian:MM, gaussian:X,Y,Z, median:N or none, after the last iteration
    filter_every: int; default once, at the end
        filter after every N iterations; the next iteration starts from the filtered image
    save_every: int; default 0
        also write the image after every N iterations (x_it005.nii)

    Image
    -----
    psf: 3 x float, mm; default none
        FWHM in mm of the point spread function of the image, one for all axes or one each

    Model sradon
    ------------
    scanner: file; default that of the data
        description of the transducers: YAML or JSON (kind: transducers), or a file of traces
        that holds them
    speed: float, mm/us; default the scanner's, or the data's
        speed of sound, mm/us; wins over the value of any file
    wavelength: text; default the first
        wavelength of a file with several: its number, its nm, or all, which makes one image for
        each
    frame: text; default the first
        frame of a file with several: its number, or all, which makes one image for each
    grid: 3 x int or Grid; default that of the image, or the field of view of the file or of a planar array
        number of voxels. Without 'voxel' it sets their size in the field of view. One number
        counts along every axis, but the image has one plane if all transducers lie in a plane
    voxel: 1 x float, mm; default that of the image, or the field of view of the file or of a planar array
        edge of a voxel, which is a cube. Without 'grid' it sets the number of voxels
    centre: 3 x float, mm; default that of the image, or the field of view of the file or of a planar array, or 0,0,0
        centre of the image, mm
    tissue: file; default one speed everywhere
        where the speed of sound is 'tissue-speed', in mm: circle:X,Y,R,
        ellipse:X,Y,A,B[,DEGREES], sphere:X,Y,Z,R, ellipsoid:X,Y,Z,A,B,C, plane:NX,NY,NZ,H
        (where NX x + NY y + NZ z < H), or an image whose voxels above 0.5 are tissue. Circle
        and ellipse go on without end along the axis of a planar array, or along z
    tissue_speed: float, mm/us; default none: 'tissue' needs one
        speed of sound in the tissue, mm/us; 'speed' is that of the water round it
    speed_map: file; default one speed everywhere
        image of the speed of sound, mm/us, instead of 'tissue'; outside of it 'speed' holds
    sound_path: 'straight' or 'snell' or 'eikonal'; default straight
        the way of the sound: straight; snell, bent at the border (sphere, plane; circle in the
        plane of the transducers); eikonal, the first arrival in any tissue or map
    sound_amplitude: 'distance' or 'spread'; default distance
        how loud a voxel is: distance, 1/d; spread, by the bent rays, with 'sound-path' snell
        and a sphere or a plane
    table_mm: float, mm; default 1, 0.7 or 0.5, by the sampling rate
        step of the tables of delays, of an image of tissue, a map, or 'sound-path' eikonal
    data: file or array
        traces: an array (transducers, samples), of several (frames, wavelengths, transducers,
        samples), as .npy; or with their transducers as IPASC (.hdf5, .h5) or iThera MSOT (.msot
        with .bin)
    sampling: 'midpoint' or 'alg4'; default midpoint
        sampling of the spheres: midpoint (patches of exact area) or alg4 (the paper's)
    adjoint: 'auto' or 'gather' or 'scatter'; default auto
        gather (voxel by voxel) or scatter (sample by sample); both give the same image. auto:
        the faster one on the device
    step: float, voxels; default by 'accuracy', or 1
        distance between the points on a sphere; the work falls with its square
    accuracy: float; default 'step' is 1
        relative error of traces that the distance between points may cause, for an image whose
        edges are blurred by half a voxel; it chooses 'step'
    sir: 'point' or 'focus'; default point
        how a transducer hears: point; focus (the mean over its face, which focus_mm or bowl_mm
        may curve)
    sir_error: float; default 1e-2
        relative error of what a face hears; it chooses how many points it has

    Times, in s since the start of the scan
    ---------------------------------------
    from_s: float, s; default the first
        use only events from this time on
    to_s: float, s; default the last
        use only events before this time
    frames: text
        edges of frames in s, in rising order. FIRST:STEP:LAST stands for many edges, as in
        0:10:600 or 0:5:60,120,180. The result is a 4-D image with one image per frame, at most
        100000
    isotope: text
        correct for the decay of this isotope to the start of the scan: F-18, C-11, O-15, N-13,
        Ga-68, Cu-64, Zr-89, Rb-82 or I-124
    half_life_s: float, s; default the isotope's
        correct for decay with this half-life
    live_share: text; default 1
        live share of the time, above 0 to 1, one for all frames or one each
    rates: file
        dead time of the scanner, by 'isotome rates': the live share of each frame follows from
        its own events, in place of 'live-share'

    Penalties
    ---------
    penalty: text
        quadratic: MU times the sum of squared differences between neighbours; tikhonov: MU
        times the sum of squares; tv: MU times the sum of the gradient's size. MU grows with
        grueneisen and the amount of data; in place of MU, rel=R is R times the largest
        eigenvalue of A* A (not of tv)
    tolerance: float; default 0; 0.0001 for pdhg
        stop when the gradient has fallen to this share of the first; pdhg: when the duality gap
        is below this share of |data|^2
    curve: file
        write cost and gradient after each iteration; for pdhg the duality gap

    Interruption
    ------------
    resume: bool; default false
        continue from OUTPUT.ckpt; start from the beginning if the file does not exist
    checkpoint_minutes: float, min; default 10
        shortest time between two checkpoints; 0: write one after every update
    stop_after: float, min; default 0
        after M minutes write a checkpoint and stop with exit code 143; 0: never

    Events that do not fit memory
    -----------------------------
    stream: bool; default false
        leave the events on disk, even if they fit in memory, and read them in blocks
    block: int; default chosen by the memory
        like 'stream', with N events at a time
    scratch: folder; default chosen by memory and disk
        like 'stream', from a copy in FOLDER that is sorted by subset and has all factors. The
        copy takes at most 40 bytes an event, and is removed at the end. Without this option
        Isotome makes such a copy if events do not fit in memory, the copy saves reading, and a
        disk has room; none: it never does

    Output
    ------
    force: bool; default false
        replace an existing output

    Units
    -----
    calibration: file or float; default none: the image is in counts/mm
        calibration of the scanner, for an image in Bq/ml at the start of the scan: a file of
        'isotome calibrate', its number K, or the word events for the factor in the events' file
    branching: float; default the isotope's
        positrons per decay
    started_at: text
        when the scan started: 14:30:15, or with the date 2026-11-16T14:30:15
    suv: bool; default false
        make standardised uptake values by body weight, g/ml, instead of Bq/ml
    weight_kg: float, kg; default not known
        weight of the body
    dose_mbq: float, MBq; default not known
        activity in the syringe at the time 'injected-at'
    residual_mbq: float, MBq; default 0
        activity that stayed in the syringe, at the time 'injected-at'
    injected_at: text
        time of the injection; without a date Isotome takes the time within 12 hours of
        'started-at', also across midnight

    Least squares
    -------------
    nonneg: bool; default false
        allow no voxel below 0
    weigh: 'equal' or 'area'; default equal
        equal: all data count alike; area: data count by the surface of their transducer. area
        needs fewer iterations if an array is denser in some places, as rings are at the poles
    precondition: 'none' or 'image'; default none
        image: a step goes farther where the image is bright. This needs fewer iterations if few
        transducers see an image that is mostly dark, as vessels are

    Error bars
    ----------
    replicates: int; default none
        also reconstruct R replicates of the scan, and write their mean and standard deviation
        (x_mean.nii, x_sd.nii). A replicate counts each event 0, 1, 2, ... times, by a Poisson
        number of mean 1. It shows the statistical error, and no bias
    replicates_seed: int; default 1
        seed of these numbers
    replicates_save: file
        also write all R images, as one 4-D image. 'isotome measure roi --replicates' reads it
    replicates_batch: int; default 4
        replicates that share one pass over the rays. More take more memory; the images do not
        change
    regions: file or array
        image of labels on the grid (0: none; 1, 2, ...). Each label gets a mean with its 95 %
        interval (x_regions.tsv), and their covariance (x_regions_cov.npy). With 'kinetics',
        also whether the curves fit (x_scores.tsv)
    fisher: bool; default false
        standard deviation and covariance of 'regions' from the second derivatives at the image,
        without replicates (x_regions.tsv, x_regions_cov.npy)

    Kinetics
    --------
    kinetics: text; default none
        reconstruct images of kinetic parameters from the events: patlak;
        spectral:beta=FROM/TO/N[,blood][,zero]; srtm2:k2p=V,beta=FROM/TO/N; bspline:T0/T1/...;
        basis. Rates are in 1/s. 'frames' gives the edges of the time bins. The image is 4-D:
        the coefficients; x_Ki.nii and so on are the maps
    input: file
        the curve of the blood, or of a reference tissue: PET-BIDS samples (*_blood.tsv), a
        table with the columns time and one more, or the mean of frames over a mask
    input_zero_s: float, s; default 0
        time of the scan at which the curve has its time 0: -2400 where the scan began 40
        minutes after the injection
    input_delay_s: float, s; default 0
        the curve comes so much later in the tissue than in the samples
    input_decay: 'corrected' or 'raw'; default corrected
        whether the samples are corrected for decay to their own time 0
    input_unit: text; default from the .json beside it
        unit of the samples: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL
    plasma_ratio: float; default 1 for FRAMES:MASK
        plasma over whole blood, if the input is whole blood alone
    unitless: bool; default false
        take the samples as they stand: coefficients in whatever unit comes of it
    basis: file
        curves of the model basis: a table with the column time and one for each curve
    inner: int; default 4
        fits of the coefficients behind each subset

    Checks
    ------
    accept: text; default none
        checks that only warn instead of refusing, separated by commas; a refusal names its
        check
    """
