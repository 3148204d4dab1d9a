#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --memory-limit holds while inputs are read, and --dry-run reads none: each run here has an input of
# 60 million bytes or more, a limit of 10 or 20, and may hold 30 million more, the program itself.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

examples=$SOURCE/examples/scanners
small_ring >ring.yaml
truncate -s 60000000 strips.f32
check "can't write the inputs" <<'END'
import numpy as np, nibabel as nib
def sparse(name, shape, dtype='<f4'):
    np.lib.format.open_memmap(name, 'w+', np.dtype(dtype), shape)
sparse('strips.npy', (2500000, 3), '<f8')
sparse('image.npy', (100, 400, 400))
sparse('values.npy', (5000000,))
sparse('traces.npy', (6, 1, 2880, 1022))
sparse('lors.npy', (60, 10, 26, 1000))
nib.save(nib.Nifti1Image(np.zeros((400, 400, 100), '<f4'), np.eye(4)), 'image.nii')
events = np.zeros((2200000, 7), '<f4')
events[:, 0], events[:, 3] = 64, -64
events.tofile('events.lmdT')
sparse('one.npy', (2200000,))
with open('strips.txt', 'w') as f:
    f.write('1 2 3\n' * 3000000)
END

# limited MB ARGS...: refused for memory, and by --dry-run too, which reads nothing large.
limited() {
	local most=$1
	shift
	within $((most + 30)) 4 "$@" --memory-limit "0.0$most" -o out.npy
	err_has 'of host memory'
	within 40 4 "$@" --memory-limit "0.0$most" -o out.npy --dry-run
	out_has 'in all'
	err_has 'of host memory'
}

strips="--scanner $examples/bialas2015.yaml"
sound="--frame 1 --wavelength 1 --scanner $examples/wang2013-64x45.yaml --grid 16 --voxel 1"
# shellcheck disable=SC2086
{
limited 10 recon strip --events strips.f32 $strips
limited 10 recon strip --events strips.npy $strips
limited 10 recon strip --method direct --events strips.f32 $strips
limited 10 backproject strip values.npy --events strips.f32 $strips
limited 20 project ray image.nii --events events.lmdT
limited 20 backproject ray one.npy --events events.lmdT --grid 16 --voxel 4
limited 20 recon ray --events events.lmdT --sens none --mu image.nii --grid 16 --voxel 4
limited 20 sens ray --scanner ring.yaml --mu image.nii --grid 16 --voxel 4
limited 20 recon ubp --data traces.npy $sound
limited 20 recon sradon --data traces.npy $sound
limited 20 recon svoxel --data traces.npy $sound --fmax-mhz 0.7
limited 20 filter gaussian:3 image.nii
limited 20 simulate "$examples/meng2019.yaml" image.nii --physics --counts 1000
}
within 50 4 simulate ring.yaml image.nii --counts 1000 --memory-limit 0.02 -o out.lmdT
within 40 4 simulate ring.yaml image.nii --counts 1000 --memory-limit 0.02 -o out.lmdT --dry-run
err_has 'of host memory'

# ---- text, which must be read to be counted ----
within 40 4 recon strip --events strips.txt --scanner "$examples/bialas2015.yaml" \
	--memory-limit 0.01 -o out.npy
err_has 'strips.txt: needs'

# ---- what the head shows to be wrong is not read either ----
within 50 3 recon ray -q --events events.lmdT --sens image.nii --grid 16 --voxel 4 \
	--memory-limit 0.05 -o out.npy
err_has 'expected 16 x 16 x 16 voxels'
within 40 3 norm "$examples/meng2019.yaml" lors.npy --expected lors.npy --memory-limit 0.05 -o out.npy
err_has 'shape (60, 10, 26, 1000)'
within 40 3 measure roi image.npy --sphere 0,0,0,5
err_has 'holds no voxel size'

# ---- events that do not fit are streamed still ----
within 50 0 recon ray --events events.lmdT --sens none --grid 16 --voxel 4 --iterations 1 \
	--memory-limit 0.02 -o streamed.npy

# ---- a system matrix ----
cat >panels.yaml <<'END'
kind: panels
crystals: [4, 4]
pitch_mm: [2, 2]
crystal_mm: [2, 2, 10]
gap_mm: 40
voxels_per_pitch: [2, 2]
planes: 8
plane_mm: 4
energy: {resolution: 0.2, window_kev: [250, 750]}
END
run srm panels.yaml --analytic --share 1 -o m.srm
run simulate panels.yaml point --physics --counts 1e3 -o counts.npy
expect 4 recon srm --srm m.srm --data counts.npy --memory-limit 1e-6 -o out.npy
err_has 'm.srm: needs'
