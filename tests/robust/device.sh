#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A checkpoint of one device is not continued on the other, which rounds differently. So that this is
# seen without a GPU too, a pretended CUDA half stands in: it computes on the CPU.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

cat >pretend.c <<'END'
#include "core/ctx.h"
#include "core/op.h"
#include "image/raster_kern.h"
#include "simulate/ring/moving_scan.h"
#include "physics/spheres_kern.h"

#include <stdlib.h>
#include <string.h>

static void nothing(iso_ctx *ctx) { (void)ctx; }
static void forget(const iso_ctx *ctx) { (void)ctx; }
static int use(const iso_ctx *ctx) { (void)ctx; return ISO_OK; }
static int free_memory(const iso_ctx *ctx, int64_t *bytes) { (void)ctx; *bytes = (int64_t)1 << 40; return ISO_OK; }
static int begin(iso_ctx *ctx, int device);
struct iso_cuda_fn iso_cuda_fn = { .open = begin, .close = nothing, .reset = forget, .use = use, .free_memory = free_memory };

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

int iso_warps_to_cuda(iso_op *op) { (void)op; return ISO_OK; }
int iso_strip_to_cuda(iso_op *op) { (void)op; return ISO_OK; }
int iso_sradon_to_cuda(iso_op *op) { (void)op; return ISO_OK; }
int iso_sradon_time_to_cuda(iso_op *op) { (void)op; return ISO_OK; }

/* The loops of history.cu, raster.cu and spheres.cu, one thread after the other. */
int iso_history_events_cuda(struct photon_event *e, int64_t *found, const struct iso_history_scan *scan,
                            enum iso_history_kind kind, int64_t block, int64_t blocks, int64_t first, int64_t n)
{
	*found = 0;
	for (int64_t i = 0; i < blocks * n; i++) {
		struct iso_hit hit;

		if (history_run(&hit, &scan->device, kind, history_number(block + i / n, first + i % n)))
			e[(*found)++] = (struct photon_event){ { hit.crystal[0], hit.crystal[1] }, hit.dt_ps, hit.order, (uint32_t)i };
	}
	return ISO_OK;
}

int iso_moving_events_cuda(struct photon_event *e, int64_t *found, const struct iso_history_scan *scan,
                           const struct moving_object *object, enum iso_history_kind kind, const struct moving_list *list)
{
	*found = 0;
	for (int64_t i = 0; i < list->n; i++) {
		struct iso_hit hit;

		if (moving_run(&hit, &scan->device, object, list->place + list->of[i], kind, history_number(list->block, i)))
			e[(*found)++] = (struct photon_event){ { hit.crystal[0], hit.crystal[1] }, hit.dt_ps, hit.order, (uint32_t)i };
	}
	return ISO_OK;
}

int iso_raster_cuda(iso_real *image, iso_ctx *ctx, const struct raster *r)
{
	int32_t *list = calloc((size_t)r->n + 1, sizeof *list);

	(void)ctx;
	for (int64_t i = 0; i < r->g.n[1] * r->g.n[2]; i++) {
		struct pile pile = { 0, list };
		struct shape_box slice, row;

		raster_slice_box(&slice, &r->g, i / r->g.n[1]);
		row = slice;
		raster_row_box(&row, &r->g, i % r->g.n[1]);
		for (int k = 0; k < r->n; k++)
			if (shape_meets(r->shape + k, &slice) != SHAPE_OUTSIDE && shape_meets(r->shape + k, &row) != SHAPE_OUTSIDE)
				list[pile.n++] = k;
		for (int64_t x = 0; x < r->g.n[0]; x++)
			image[i * r->g.n[0] + x] = (iso_real)raster_voxel(r, &pile, &row, x);
	}
	free(list);
	return ISO_OK;
}

int iso_spheres_hear_cuda(iso_real *y, iso_ctx *ctx, const struct iso_spheres *s, double sigma,
                          const struct iso_transducers *t, const struct aperture_points *face, const iso_delays *delays, int64_t first,
                          int64_t n)
{
	double *row = calloc((size_t)t->samples, sizeof *row);

	(void)ctx;
	(void)delays;
	for (int64_t q = first; q < first + n; q++) {
		memset(row, 0, (size_t)t->samples * sizeof *row);
		for (int i = 0; i < s->n * spheres_points(face); i++) {
			const struct iso_sphere *v = s->v + i / spheres_points(face);
			double p[3], share = spheres_point(p, t, face, q, i % spheres_points(face));
			double d = spheres_distance(p, v->centre), scale = share * v->value * t->gamma / (2 * d);
			int64_t from, last;

			if (!spheres_samples(&from, &last, t, v, sigma, d)) continue;
			for (int own = 0; own < 64; own++)
				for (int64_t k = from + (own + 64 - from % 64) % 64; k <= last; k += 64)
					row[k] += scale * spheres_heard(t, v, sigma, d, k);
		}
		for (int64_t k = 0; k < t->samples; k++) y[q * t->samples + k] = (iso_real)row[k];
	}
	free(row);
	return ISO_OK;
}
END
mkdir program
cp -L "$ISOTOME" "$(dirname "$ISOTOME")"/libisotome.so* program
cc -shared -fPIC -I"$SOURCE/src" -I"$SOURCE/include" -O1 -std=gnu17 -ffp-contract=off pretend.c -o program/libisotome_cuda.so -lm 2>err || fail "pretend.c"
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

# ---- what is simulated: the same files, by the loops that CUDA has ----
solid_ring >ring.yaml
for device in cpu cuda; do
	run phantom cylinder --grid 30 --voxel 8 --device $device -o x$device.nii --mu mu$device.nii
	run simulate ring.yaml x$device.nii --mu mu$device.nii --counts "$(size 1e5 1e4)" --randoms 0.3 --bent 0.1 \
		--tof-fwhm-ps 300 --device $device -o e$device.lmdT --delayed d$device.lmdT
	run simulate array.yaml balls.yaml --device $device -o t$device.npy
done
for file in x%.nii mu%.nii e%.lmdT d%.lmdT t%.npy; do same "${file/\%/cpu}" "${file/\%/cuda}"; done
for file in xcuda mucuda ecuda.lmdT dcuda.lmdT tcuda.npy; do
	grep -q 'a pretence' $file.json || fail "$file: the pretended device was not used"
done
# an object that moves, among what stays; one that breathes
printf 'time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n0,1,0,0,0,5,0,0\n20,.9,.1,-.1,.2,-9,20,8\n' >poses.csv
printf 'from_s,to_s,gate\n0,10,0\n10,25,1\n' >gates.csv
for device in cpu cuda; do
	moving=(simulate ring.yaml xcpu.nii --mu mucpu.nii --duration-s 30 --half-life-s 20 --counts "$(size 3e3 1e3)" --randoms 0.2
		--bent 0.1 --tof-fwhm-ps 300 --device $device)
	run "${moving[@]}" --poses poses.csv --mu-fixed mucpu.nii -o moved$device.Cdh
	run "${moving[@]}" --gates gates.csv --fields none,none --poses poses.csv -o breath$device.Cdh
done
for scan in moved breath; do same ${scan}cpu.Cdf ${scan}cuda.Cdf; done
# photons have no loops for that there, and are not followed elsewhere in silence
expect 2 simulate ring.yaml xcpu.nii --mu mucpu.nii --physics --poses poses.csv --duration-s 60 --counts 100 --device cuda -o moved.Cdh
err_has 'on the CPU alone'
[ ! -e moved.Cdh ] || fail "a refused run left a file"
run phantom cylinder -o any.nii
grep -q 'a pretence' any.json && fail "phantom: auto opens a device"

# commands without code for a device say so, and write nothing
expect 2 mu xcpu.nii --device cuda -o no.nii
err_has 'this command computes on the CPU alone'
[ ! -e no.nii ] || fail "a refused run left a file"
echo "all passed"
