#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A checkpoint of one device is not continued on the other, which rounds differently. So that this is
# seen without a GPU too, a pretended CUDA half stands in: it computes on the CPU.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

cat >pretend.c <<'END'
#include "core/ctx.h"
#include "core/op.h"

#include <string.h>

static void nothing(iso_ctx *ctx) { (void)ctx; }
static int use(const iso_ctx *ctx) { (void)ctx; return ISO_OK; }
static int free_memory(const iso_ctx *ctx, int64_t *bytes) { (void)ctx; *bytes = (int64_t)1 << 40; return ISO_OK; }
static int begin(iso_ctx *ctx, int device);
struct iso_cuda_fn iso_cuda_fn = { .open = begin, .close = nothing, .use = use, .free_memory = free_memory };

static int begin(iso_ctx *ctx, int device)
{
	iso_ctx *host;

	if (device == 7) return iso_fail(ISO_EDEVICE, "CUDA: a pretended device that is broken");
	strcpy(ctx->device_name, "a pretence");
	ctx->cuda_device = device;
	if (iso_ctx_create(&host, "cpu", 1)) return ISO_EDEVICE;
	iso_cuda_fn.vec = iso_ctx_vec(host);
	iso_ctx_free(host);
	return ISO_OK;
}

int iso_strip_to_cuda(iso_op *op) { (void)op; return ISO_OK; }
int iso_sradon_to_cuda(iso_op *op) { (void)op; return ISO_OK; }
int iso_sradon_time_to_cuda(iso_op *op) { (void)op; return ISO_OK; }
END
mkdir program
cp -L "$ISOTOME" "$(dirname "$ISOTOME")"/libisotome.so* program
cc -shared -fPIC -I"$SOURCE/src" -I"$SOURCE/include" pretend.c -o program/libisotome_cuda.so 2>err || fail "pretend.c"
ISOTOME=$PWD/program/isotome

# only_there ARGUMENT...: of recon. Interrupted on one device, a run is refused on the other, then finished
# on its own, to the image of a run without a break.
only_there() {
	run recon "$@" --device cpu -o whole.npy
	run recon "$@" --device cuda -o other.npy
	same whole.npy other.npy	# a pretence; a GPU would round differently
	grep -q 'a pretence' other.npy.json || fail "the pretended device was not used"
	for pair in cpu:cuda cuda:cpu; do
		expect 143 recon "$@" --device ${pair%:*} --stop-after 0.00001 -o part.npy
		expect 3 recon "$@" --device ${pair#*:} --resume -q -o part.npy
		err_has 'checkpoint of other inputs or options'
		run recon "$@" --device ${pair%:*} --resume -o part.npy
		same whole.npy part.npy
		grep -qE '"resumed_from_(update|iteration)": [1-9]' part.npy.json || fail "the run began anew"
		rm part.npy*
	done
	rm whole.npy* other.npy*
}

printf 'kind: strips\nradius_mm: 130\nlength_mm: 300\nsigma_z_mm: 10\nsigma_dl_mm: 40\n' >strips.yaml
echo 'ellipse 0 0 50 60 0 1' >ellipses.txt
run simulate strips.yaml ellipses.txt --counts 1000 --device cpu -o s.f32
only_there strip --events s.f32 --scanner strips.yaml --pixel 10 --iterations 6

# a device that can't be opened, while events are read: nothing is computed elsewhere, nothing is written
expect 5 recon strip --events s.f32 --scanner strips.yaml --pixel 10 --device cuda:7 -q -o broken.npy
err_has 'a pretended device that is broken'
[ ! -e broken.npy ] || fail "an image of a device that is broken"
run recon strip --events s.f32 --scanner strips.yaml --pixel 10 --iterations 1 -v -o any.npy
err_has 'device cuda:0 (a pretence)'
rm any.npy*

cat >array.yaml <<-END
	kind: transducers
	sphere: {radius_mm: 20, rings: 6, views: 8, polar_deg: [30, 150], azimuth_deg: 0}
	speed_mm_per_us: 1.5
	sampling_mhz: 4
	first_sample_us: 8
	samples: 60
END
printf 'shapes:\n- {type: sphere, centre_mm: [1, 0, 0], radius_mm: 3, activity: 1}\n' >balls.yaml
run simulate array.yaml balls.yaml --device cpu -o t.npy
only_there sradon --data t.npy --scanner array.yaml --grid 12 --voxel 1 --iterations 9
echo "all passed"
