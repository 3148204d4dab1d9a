# SPDX-License-Identifier: BSD-3-Clause
"""One small run of every command and model, for tests that look at how a command runs and not at
what it computes: failed allocations (allocations.py), the thread sanitizer (scripts/tsan.sh)."""
import io
import os
import struct
import subprocess
import sys
import time
import zipfile

INPUTS = {
    "blocks.yaml": """kind: modules
rings: [{modules: 12, radius_mm: 150}]
pairs: {min_module_distance: 3}
module: {crystals: [4, 4], pitch_mm: [8, 8], crystal_mm: [7.8, 7.8, 20], blocks: [2, 1]}
detector: {material: {formula: Lu2SiO5, density: 7.4}}
energy: {resolution: 0.12, window_kev: [400, 650]}
time: {coincidence_ns: 5, single_fwhm_ps: 300}
interaction_depth_mm: 7
""",
    "modules.yaml": """kind: modules
rings: [{modules: 16, radius_mm: 200, first_deg: 3}]
pairs: {min_module_distance: 3}
module: {crystals: [3, 4], pitch_mm: [20, 15], crystal_mm: [19, 14, 20], blocks: [1, 2], block_gap_mm: [0, 1]}
detector:
  material: {formula: Lu2SiO5, density: 7.4}
  cover: {formula: Al, density: 2.7, mm: 1}
  gap: {formula: BaSO4, density: 1}
  position: centroid
energy: {resolution: 0.12, window_kev: [435, 650]}
time: {coincidence_ns: 4, single_fwhm_ps: 300}
interaction_depth_mm: 7
""",
    "ring.yaml": """kind: cylinder
radius_mm: 120
rings: 4
ring_pitch_mm: 18
crystals_per_ring: 36
crystal_mm: [18, 18, 20]
min_crystal_distance: 9
pair_weight: solid-angle
tof: {fwhm_ps: 300}
""",
    "crystals.yaml": """kind: cylinder
radius_mm: 120
rings: 4
ring_pitch_mm: 18
crystals_per_ring: 36
crystal_mm: [18, 17, 20]
block: {crystals: 6}
min_crystal_distance: 9
energy: {window_kev: [435, 650], resolution: 0.11}
detector: {material: {formula: Lu2SiO5, density: 7.4}}
""",
    "poses.csv": "time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n0,1,0,0,0,0,0,0\n20,nan,nan,nan,nan,nan,nan,nan\n"
                 "40,0.96,0,0,0.28,5,-3,8\n",
    "series.csv": "start_s,length_s,counts,randoms\n0,600,85791212,30987622\n3600,600,56842585,15863926\n"
                  "7200,600,37493343,7855405\n18000,600,11072316,867945\n28800,600,3430115,91137\n",
    "bed.csv": "time_s,z_mm\n0,-9\n60,9\n",
    "gantry.csv": "# rule: step\ntime_s,angle_deg\n0,0\n30,45\n",
    "heads.yaml": """kind: panels
crystals: [4, 6]
pitch_mm: [2.0, 2.0]
crystal_mm: [1.8, 1.8, 6]
gap_mm: 10
layers: 1
voxels_per_pitch: [2, 2]
planes: 3
plane_mm: 2
""",
    "strips.yaml": "kind: strips\nradius_mm: 130\nlength_mm: 300\nsigma_z_mm: 10\nsigma_dl_mm: 40\n",
    "sphere.yaml": """kind: transducers
sphere: {radius_mm: 20, rings: 4, views: 6, polar_deg: [30, 150]}
aperture_mm: [1, 2]
speed_mm_per_us: 1.5
sampling_mhz: 10
samples: 250
""",
    "ball.yaml": "smooth_fwhm_mm: 0.8\nshapes:\n"
                 "  - {type: sphere, centre_mm: [2, -1, 0], radius_mm: 1.5, activity: 1}\n",
    "derenzo.yaml": "shapes:\n"
                    "  - {type: sphere, centre_mm: [0, 0, 0], radius_mm: 2, activity: 1}\n",
    "sino.hs": """!INTERFILE :=
name of data file := sino.s
!number format := unsigned integer
!number of bytes per pixel := 1
applied corrections := {None}
number of dimensions := 4
matrix axis label [4] := segment
matrix size [4] := 1
matrix axis label [3] := view
matrix size [3] := 18
matrix axis label [2] := axial coordinate
matrix size [2] := {4}
matrix axis label [1] := tangential coordinate
matrix size [1] := 9
minimum ring difference per segment := {0}
maximum ring difference per segment := {0}
Number of rings := 4
Number of detectors per ring := 36
Inner ring diameter (cm) := 24
Average depth of interaction (cm) := 0
Distance between rings (cm) := 1.8
View offset (degrees) := 0
""",
    "sino.s": "123454321" * 72,    # a byte a bin
    "gates.csv": "from_s,to_s,gate\n0,10,0\n10,30,1\n30,40,0\n",
    "belt.csv": "".join(f"{k / 4},{abs(k % 16 - 8)}\n" for k in range(99)),
    "gate.dat": "".join(f"0 {k} 0 1 2 3 1.25 .511 100 {k} 3 0 1 2 3 4 5 0 0 0 0 0 0 "
                        f"0 {k} 0 1 2 3 1.25 .511 -100 {k} 3 0 1 2 3 4 5 0 0 0 0 0 0\n" for k in range(9)),
}

MSOT = ('<?xml version="1.0" encoding="utf-8"?>\n<DataModelMsotProject><HARDWARE-DESC>'
        '<SAMPLING-FREQUENCY unit="Hz" unit-modifier="M">20</SAMPLING-FREQUENCY><FRAME-DESC>\n' +
        "".join(f'<PROJECTION number="{i}"><VALUE axis-ref="1">{x}</VALUE><VALUE axis-ref="2">{y}</VALUE>'
                '<VALUE axis-ref="3">0</VALUE></PROJECTION>\n'
                for i, (x, y) in enumerate([(.02, 0), (0, .02), (-.02, 0), (0, -.02)])) +
        '</FRAME-DESC></HARDWARE-DESC><NUMBER-OF-FRAMES>1</NUMBER-OF-FRAMES><RECORDED-LENGTH>64'
        '</RECORDED-LENGTH><WAVELENGTHS><WAVELENGTH unit="m" unit-modifier="n">700</WAVELENGTH>'
        '</WAVELENGTHS><ScanFrames><DataModelScanFrame><Frame><WAVELENGTH unit="m" unit-modifier="n">'
        '700</WAVELENGTH></Frame></DataModelScanFrame></ScanFrames></DataModelMsotProject>\n')

# NAME ARGUMENTS, each in a folder of its own; @FILE is an input, $FILE a file of the source.
# NAME! leaves inputs for the runs below it. [CODE]: the exit code, if not 0. NAME~: its files and
# its words hold times and other things that are measured.
THREADS = os.environ.get("SMALL_RUNS_THREADS", "1")
COMPUTES_NOT = {"info", "measure", "view", "convert", "report", "calibrate", "bids", "gate"}    # commands without --threads, --device
EVENTS = int(os.environ.get("SMALL_RUNS_EVENTS", "300"))    # above 1024, several threads have work
RAY = "--scanner @ring.yaml --grid 8,8,4 --voxel 20,20,18"
BINS = "--grid 8,8,4 --voxel 20,20,18 --method osem --subsets 2 --iterations 2"
SCATTER = "--scatter sss+mc --energy-window 435,650 --energy-resolution 0.11"
SOUND = "--scanner @sphere.yaml --grid 6 --voxel 1"
RUNS = f"""
phantom! phantom cylinder --grid 8,8,4 --voxel 20,20,18 -o truth.nii --mu mu.nii
phantom_packed phantom spheres --grid 8 --voxel 30 -o x.nii.gz
simulate! simulate @ring.yaml @truth.nii --mu @mu.nii --counts {EVENTS} --exact --randoms 0.2 --bent 0.1 --delayed late.Cdh --singles singles.npy --duration-s 100 -o e.Cdh
simulate_photons simulate @ring.yaml @truth.nii --mu @mu.nii --physics --energy-window 435,650 --energy-resolution 0.11 --counts {EVENTS} --exact --randoms 0.2 --truth order.npy -o e.Cdh
simulate_moving simulate @ring.yaml @truth.nii --mu @mu.nii --mu-fixed @mu.nii --poses @poses.csv --bed @bed.csv --gantry @gantry.csv --counts {EVENTS} --randoms 0.2 --bent 0.1 --duration-s 60 -o moving.Cdh
simulate_moving_photons simulate @ring.yaml @truth.nii --mu @mu.nii --poses @poses.csv --physics --energy-window 435,650 --energy-resolution 0.11 --counts {EVENTS} --duration-s 60 -o moving.Cdh
simulate_activity simulate @blocks.yaml @truth.nii --mu @mu.nii --crystals --activity-bq 3e7 --duration-s {EVENTS * 1e-6} --isotope Ga-68 --positron-range --acollinearity --dead-ns 60 --pileup-ns 20 --delayed cd.Cdh --truth ct.npy --singles cs.npy --singles-list cl.npy --triples c3.npy -o c.Cdh
simulate_lmdt! simulate @ring.yaml @truth.nii --counts {EVENTS} --exact -o e.lmdT
sens! sens ray {RAY} --mu @mu.nii -o sens.nii
sens_5point sens strip --scanner @strips.yaml --pixel 20 --sens-rule 5point -o x.npy
response! response @crystals.yaml --photons 5000 --seed 2 -o table.h5
project! project ray @truth.nii --events @e.lmdT {RAY} -o y.npy
backproject backproject ray @y.npy --events @e.lmdT {RAY} --projector joseph -o x.nii
ray! recon ray --events @e.lmdT {RAY} --iterations 2 --sens @sens.nii -o x.nii
ray_response recon ray --events @e.lmdT --scanner @crystals.yaml --response @table.h5 --response-lines 9 --grid 8,8,4 --voxel 20,20,18 --iterations 1 --sens-share 0.1 -o x.nii
ray_plain recon ray --events @e.lmdT {RAY} --iterations 1 --tof-fwhm-ps 0 --rays 2 -o x.raw
ray_all recon ray --events @e.Cdh {RAY} --mu @mu.nii --delayed @late.Cdh --coincidence-ns 5 --method osem --subsets 2 --iterations 2 --save-every 1 --psf 20 --filter gaussian:20 --frames 0,40,100 --isotope F-18 -o x.nii.gz
ray_kinetics recon ray --events @e.Cdh {RAY} --mu @mu.nii --delayed @late.Cdh --coincidence-ns 5 --iterations 1 --frames 0,20,40,60,80,100 --isotope F-18 --kinetics bspline:0/100 --penalty quadratic:rel=0.1 -o x.nii
ray_stream recon ray --events @e.Cdh {RAY} --sens @sens.nii --iterations 2 --stream --block {EVENTS // 3} -o x.npy
ray_poses recon ray --events @e.Cdh {RAY} --mu @mu.nii --mu-fixed @mu.nii --poses @poses.csv --reference mean --bed @bed.csv --rays 2 --iterations 1 -o x.nii
simulate_crystals simulate @modules.yaml @truth.nii --mu @mu.nii --crystals --energy-window 400,650 --energy-resolution 0.11 --counts {EVENTS // 3} --exact --truth order.npy -o e.Cdh
simulate_gates simulate @ring.yaml @truth.nii --mu @mu.nii --gates @gates.csv --fields none,none --counts {EVENTS} --bent 0.1 --duration-s 60 -o moving.Cdh
ray_gates recon ray --events @e.Cdh {RAY} --mu @mu.nii --gates @gates.csv --poses @poses.csv --iterations 1 -o x.nii
ray_fields recon ray --events @e.Cdh {RAY} --mu @mu.nii --gates @gates.csv --fields none,@field.npy --psf 9 --iterations 1 -o x.nii
ray_poses_stream recon ray --events @e.Cdh {RAY} --mu @mu.nii --poses @poses.csv --sens-budget 0 --rays 2 --iterations 1 --stream --block {EVENTS // 3} -o x.nii
ray_scatter! recon ray --events @e.Cdh {RAY} --mu @mu.nii --delayed @late.Cdh --coincidence-ns 5 {SCATTER} --scatter-error 0.5 --scatter-rounds 2 --iterations 1 -o scattered.nii
ray_scatter_bins recon ray --events @sino.hs --scanner @ring.yaml {BINS} --mu @mu.nii {SCATTER} --scatter-error 0.5 --scatter-rounds 1 -o x.nii
scatter scatter @ring.yaml @truth.nii --mu @mu.nii --events @e.lmdT --energy-window 435,650 --energy-resolution 0.11 --scatter-error 0.5 -o r.npy
report_scatter~ report @scattered.nii -o report.html
ray_live~ recon ray --events @e.lmdT {RAY} --sens @sens.nii --iterations 1 --live 0 -o x.nii
ray_file recon @e.Cdh --voxel 20 --iterations 1 -o x.nii
ray_around recon @e.lmdT --voxel 20 --iterations 1 -o x.nii
ray_preset recon @e.Cdh --preset clinical -o x.nii
ray_sens sens @e.Cdh --grid 8,8,4 -o x.nii
ray_like recon --like @x.json --events @e.lmdT --scanner @ring.yaml --sens @sens.nii --iterations 1 -o again.nii
ray_stop! [143] recon ray --events @e.lmdT {RAY} --iterations 9 --sens @sens.nii --stop-after 0.0000001 -o part.nii
uniform! recon ray --events @e.Cdh {RAY} --iterations 1 --isotope F-18 --started-at 10:00 -o uniform.nii
calibrate! calibrate @uniform.nii --concentration 100 --at 09:00 --roi box:-40,40,-40,40,-20,20 -o k.json
suv! recon ray --events @e.Cdh {RAY} --iterations 1 --isotope F-18 --calibration @k.json --suv --weight-kg 70 --dose-mbq 300 --injected-at 23:30 --started-at 00:30 -o suv.nii
bids bids @suv.nii --subject 01 --manufacturer us --tracer-name FDG --injected-mass n/a --specific-radioactivity n/a --mode-of-administration bolus -o study
motion motion @e.Cdh --scanner @ring.yaml --grid 8,8,4 --voxel 20 --smooth 20 --frame-s 30 --events-per-frame 9 --rounds 2 --picture p.svg -o poses.csv
filter filter gaussian:20 @x.nii -o smooth.nii
mu mu $tests/data/dicom --voxel 6 --smooth 5 -o ct.nii
mu_like mu @x.nii --kvp 120 --like @truth.nii -o ct.nii
resample resample @x.nii --like @truth.nii --smooth 9 -o on.nii
warp warp @truth.nii --field @field.npy --mass -o moved.nii
warp_back warp @truth.nii --field @field.npy --adjoint -o moved.npy
gate gate @belt.csv --amplitude 4 -o gates.csv
gate_phase gate @belt.csv --phase 4 -o gates.csv
simulate_electronics! simulate @ring.yaml @truth.nii --counts {10 * EVENTS} --randoms 0.2 --duration-s 100 --half-life-s 20 --time-offsets @offsets.npy --fwhm-per-crystal @widths.npy --dead-time paralysable:2000 -o late_stamps.Cdh --delayed lost.Cdh
timing! timing @ring.yaml @late_stamps.Cdh --source cylinder:0,0,0,80,72 --coincidence-ns 5 --delayed @lost.Cdh -o ring.times.json
rates! rates @series.csv --half-life-s 6586.2 -o ring.rates.json
ray_times recon ray --events @late_stamps.Cdh {RAY} --times @ring.times.json --rates @ring.rates.json --iterations 1 -o x.nii
gate_data gate @e.Cdh --from-data centroid --phase 4 --signal trace.csv -o gates.csv
filter_median filter median:3 @x.nii -o smooth.npy
roi measure roi @x.nii --sphere 0,0,0,30 --json
profile measure profile @x.nii --from -60,0,0 --to 60,0,0 --json
fwhm measure fwhm @x.nii --at 0,0,0 --json
diff measure diff @x.nii @truth.nii --json
rmse measure rmse @x.nii @truth.nii
view view @x.nii -o x.png --title image --crosshair
view_page~ view @x.nii --overlay @truth.nii -o x.html
report~ report @x.nii --truth @truth.nii -o report.html
convert_raw! convert @x.nii plain.raw
ray_bins recon ray --events @sino.hs --norm @sino.hs --additive @sino.hs --additive-over-m --mu @mu.nii {BINS} -o x.hv
ray_bins_stream recon ray --events @sino.hs --norm @sino.hs --norm-inverse --stream --block 200 {BINS} -o x.nii
convert_castor convert @e.lmdT c.Cdh --scanner @ring.yaml
convert_npy convert @e.Cdh c.npy
convert_gz convert @plain.raw c.nii.gz
convert_root convert $tests/data/root/two-trees.root c.npy --tree MergedCoincidences --trues-only
info_root info $tests/data/root/coinc-zlib.root --json
info info @ring.yaml @x.nii @x.json @plain.raw @e.lmdT @e.Cdh @singles.npy @gate.dat @sino.hs @part.nii.ckpt --json
info_text info @ring.yaml @heads.yaml @strips.yaml @sphere.yaml @ball.yaml

srm! srm @heads.yaml --pairs {8 * EVENTS} -o m.srm
srm_more! srm @heads.yaml --pairs 1000 --first {8 * EVENTS} --export rows.npy -o more.srm
srm_add srm @m.srm --add @more.srm -o both.srm
srm_import srm @heads.yaml --import @rows.npy -o in.srm
srm_analytic srm @heads.yaml --analytic -o analytic.srm
lors! simulate @heads.yaml @derenzo.yaml --physics --counts {2 * EVENTS} -o lors.npy
norm_ring norm @ring.yaml @e.lmdT --source @truth.nii --mu @mu.nii --delayed @late.Cdh --relative --place given -o n.norm.json
norm norm @heads.yaml @lors.npy --expected @lors.npy --crystals c.npy -o n.npy
matrix recon matrix --matrix @a.npz --data @twelve.npy --grid 8,8,4 --method osem --subsets 3 --iterations 2 -o x.nii
srm_project project srm @flat.npy --srm @m.srm -o y.npy
srm_correlation recon srm --srm @m.srm --data @lors.npy --iterations 2 -o x.nii
panels_turn simulate @heads.yaml @flat.npy --physics --gantry @gantry.csv --duration-s 60 --counts 100 --list e.npy --list-times t.npy -o lors.npy
srm_turns recon srm --srm @m.srm --data @lors.npy,@lors.npy --gantry @gantry.csv --duration-s 99 --mu @flat.npy --accept attenuation --iterations 2 -o x.nii
srm_strategies~ bench srm --srm @m.srm --repeats 1 --json
info_srm info @m.srm @heads.yaml --json

strips! simulate @strips.yaml ellipses --counts {EVENTS} -o strips.f32
strip recon strip --scanner @strips.yaml --events @strips.f32 --pixel 20 --iterations 2 -o x.npy
strip_tan recon strip --scanner @strips.yaml --events @strips.f32 --pixel 20 --iterations 1 --kernel tan -o x.npy
strip_direct recon strip --scanner @strips.yaml --events @strips.f32 --pixel 20 --method direct -o x.npy
strip_follow recon strip --follow --block 1000 --scanner @strips.yaml --events @strips.f32 --idle-s 0.001 --pixel 20 -o x.npy
strip_convert convert @strips.f32 c.npy
info_strip info @strips.f32

sound! simulate @sphere.yaml @ball.yaml --noise 0.01 -o traces.npy
sound_hdf5! simulate @sphere.yaml @ball.yaml -o traces.hdf5
ubp recon ubp --data @traces.npy {SOUND} -o x.nii
ubp_hdf5 recon ubp --data @traces.hdf5 {SOUND} --hann-mhz 3 -o x.nii
sradon! recon sradon --data @traces.npy {SOUND} --iterations 2 -o sound.nii
sradon_project project sradon @sound.nii --scanner @sphere.yaml -o y.npy
sradon_tv recon sradon --data @traces.npy {SOUND} --iterations 2 --penalty tv:1e-3 --nonneg -o x.nii
svoxel recon svoxel --data @traces.npy {SOUND} --iterations 2 --fmax-mhz 1 -o x.nii
svoxel_tissue recon svoxel --data @traces.npy {SOUND} --iterations 1 --fmax-mhz 1 --tissue sphere:0,0,0,4 --tissue-speed 1.6 --sound-path snell -o x.nii
sradon_tissue recon sradon --data @traces.npy {SOUND} --iterations 1 --tissue sphere:0,0,0,4 --tissue-speed 1.6 -o x.nii
ubp_tissue recon ubp --data @traces.npy {SOUND} --tissue plane:0,0,1,3 --tissue-speeds 1.5:1.6:3 -o x.nii
svoxel_follow recon svoxel --follow --data @traces.npy {SOUND} --iterations 2 --fmax-mhz 1 --nonneg --penalty tv:1e-3 --idle-s 0.001 -o x.npy
svoxel_rect recon svoxel --data @traces.npy {SOUND} --iterations 1 --fmax-mhz 1 --sir rect -o x.nii
svoxel_direct recon svoxel --data @traces.npy {SOUND} --iterations 1 --lines 4 --transform direct -o x.nii
convert_hdf5 convert @traces.npy c.hdf5 --scanner @sphere.yaml
convert_msot convert @s.msot c.npy
delays delays @sphere.yaml --grid 6 --voxel 1 --tissue sphere:0,0,0,4 --tissue-speed 1.6 --sound-path snell --transducers 0,3 -o delays.npy --picture delays.png
unmix unmix @colours.npy --wavelengths 700,760,850 --nonneg --weights 1,2,3 -o maps.nii
info_plot info @e.Cdh --plot x.png
info_sound info @traces.hdf5 @s.msot --json

bench~ bench ray --grid 8 --voxel 20 --events 100 --repeats 1 --json
bench_srm~ bench srm --dry-run --json
bench_limits~ bench limits --dry-run --json
bench_end_to_end~ bench end-to-end --dry-run --json
demo~ demo -o demo --dry-run
reproduce~ reproduce vangendt2021 --scale tiny --dry-run -o here
help recon ray --help
"""


class Run:
    def __init__(self, line, inputs, source):
        name, *words = line.split()
        self.name = name.rstrip("!~")
        self.kept, self.varies = "!" in name, "~" in name
        self.code = int(words.pop(0)[1:-1]) if words[0][0] == "[" else 0
        place = {"@": inputs, "$": source}
        self.arguments = [",".join(os.path.join(place[w[0]], w[1:]) if w[:1] in ("@", "$") else w for w in word.split(","))
                          for word in words]
        if words[0] not in COMPUTES_NOT:    # opening CUDA takes thousands of allocations of its own
            self.arguments += ["--threads", THREADS, "--device", "cpu"]

    def start(self, program, folder, environment, before=()):
        """Exit code (negative: a signal), stdout, stderr of one run in a folder."""
        done = subprocess.run([*before, program, *self.arguments], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        return done.returncode, done.stdout, done.stderr


def npy(shape):
    """A .npy file of ones."""
    n = 1
    for size in shape:
        n *= size
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (117 - len(head)) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.encode() + struct.pack(f"<{n}f", *n * [1])


def sparse():
    """A matrix of 12 rows and 256 columns, as SciPy stores it: row i has columns i, i + 12, ..."""
    at = [list(range(i, 256, 12)) for i in range(12)]
    starts = [sum(map(len, at[:i])) for i in range(13)]

    def array(kind, values):
        head = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': ({len(values)},), }}"
        head += " " * (117 - len(head)) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.encode() + struct.pack(f"<{len(values)}{kind}", *values)

    word = "{'descr': '|S3', 'fortran_order': False, 'shape': (), }" + " " * 62 + "\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("format.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(word)) + word.encode() + b"csr")
        for name, kind, values in (("shape", "i", [12, 256]), ("indptr", "i", starts), ("indices", "i", sum(at, [])),
                                   ("data", "f", [.5] * 256)):
            z.writestr(name + ".npy", array(kind, values))
    return packed.getvalue()


def make_inputs(folder):
    os.makedirs(folder)
    files = {name: text.encode() for name, text in INPUTS.items()}
    files["s.msot"], files["s.bin"] = MSOT.encode(), struct.pack("<256H", *range(256))
    files["flat.npy"], files["field.npy"], files["colours.npy"] = npy((12, 3, 8)), npy((4, 8, 8, 3)), npy((6, 2, 3, 4))
    files["offsets.npy"], files["widths.npy"] = npy((144,)), npy((144,))
    files["a.npz"], files["twelve.npy"] = sparse(), npy((12,))
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)


def runs(inputs, source):
    return [Run(line, inputs, source) for line in RUNS.splitlines() if line.strip()]


def keep(folder, inputs):
    """The outputs of a run as inputs of others."""
    for name in os.listdir(folder):
        target = os.path.join(inputs, name)
        if not os.path.exists(target):
            os.link(os.path.join(folder, name), target)


def main():
    """PROGRAM SOURCE FOLDER [NAME...]: all of them once, those named if there are names."""
    program, source, work = map(os.path.abspath, sys.argv[1:4])
    inputs = os.path.join(work, "in")
    make_inputs(inputs)
    failures = 0
    for run in runs(inputs, source):
        if not run.kept and sys.argv[4:] and run.name not in sys.argv[4:]:
            continue
        folder = os.path.join(work, run.name)
        os.makedirs(folder)
        began = time.time()
        code, out, err = run.start(program, folder, os.environ)
        print(f"{run.name:16} {time.time() - began:6.2f} s  {'' if code == run.code else code}", flush=True)
        if code != run.code:
            failures += 1
            print(err.decode(errors="replace"))
        if run.kept:
            keep(folder, inputs)
    sys.exit(f"{failures} runs failed" if failures else 0)


if __name__ == "__main__":
    main()
