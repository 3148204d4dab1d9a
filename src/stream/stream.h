/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames in real time inside: what both backends compute for a voxel, and the state of a stream. Iteration k of FISTA
   with the fixed step 1/slope:

	b = z + (H*(u - H z) - mu L z) / slope
	x' = P(b)                       P: the proximal map of total variation, and no value below 0
	z' = x' + beta_k (x' - x)       beta_k = (theta_k - 1)/theta_(k+1)

   slope is at least the largest eigenvalue of H* H + mu L. All frames of a batch are in one vector; neighbours
   are always of the same frame. */
#ifndef ISO_STREAM_H
#define ISO_STREAM_H

#include "algo/penalty_kern.h"
#include "algo/prox_kern.h"
#include "core/op.h"
#include "isotome/sound_stream.h"

enum { STREAM_SLOTS = 2 }; /* pushes that wait for their pull */

/* What an iteration needs to know of the image. */
struct stream_step {
	struct penalty penalty; /* of one frame */
	struct prox prox;       /* lambda 0: none */
	bool smooth;            /* mu is not 0 */
	iso_real mu, step;
	int frames;
};

/* b at voxel (ix, iy, iz) of a frame whose images are z and g, v the voxel's number. */
ISO_HD iso_real stream_point(const struct stream_step *p, const iso_real *z, const iso_real *g, int64_t v,
                             int64_t ix, int64_t iy, int64_t iz)
{
	iso_real down = g[v];

	if (p->smooth) down -= p->mu * penalty_at(&p->penalty, z, ix, iy, iz);
	return z[v] + p->step * down;
}

ISO_HD iso_real stream_momentum(iso_real *x, iso_real next, iso_real beta)
{
	iso_real z = next + beta * (next - *x);

	*x = next;
	return z;
}

struct iso_sound_stream {
	iso_ctx *ctx;
	iso_op *op;              /* H of a batch */
	struct iso_svoxel model; /* of one frame; borrows the arrays of t */
	struct iso_transducers t;
	struct stream_step step;
	enum iso_sample sample;
	int batch, iterations, tv_steps, wavelengths;
	bool warm;
	double eigenvalue, *beta; /* (iterations) */
	int64_t voxels, rows;     /* of one frame; rows: values of its spectra */
	int64_t samples;          /* of a frame: transducers x samples of a trace */
	int64_t bytes;            /* of a frame */
	int64_t frames;           /* pushed */
	const struct stream_fn *fn;
	struct iso_room room;
	/* on the device, of all frames of a batch */
	iso_real *x, *z[2], *g; /* images */
	iso_real *u, *e;        /* spectra; H z, then u - H z */
	iso_real *dual[2];      /* of tv: three fields a frame; else NULL */
	iso_real *last;         /* of `warm`: an image a wavelength */
	/* slots, in turn */
	iso_real *image[STREAM_SLOTS]; /* on the host */
	int n[STREAM_SLOTS];           /* frames of the push */
	int head, waiting;             /* oldest slot; slots in use */
	void *work;                    /* of the backend */
	bool graph;                    /* the iterations are one graph of CUDA */
};

/* A backend. What it starts need not have ended when a function returns, but for `wait`. */
struct stream_fn {
	int (*open)(struct iso_sound_stream *s); /* on failure close follows */
	void (*close)(struct iso_sound_stream *s);
	int (*take)(struct iso_sound_stream *s, int slot, const void *frames); /* u of the slot's frames */
	int (*run)(struct iso_sound_stream *s);                                /* all iterations */
	int (*residual)(struct iso_sound_stream *s);                           /* e = u - e */
	int (*step)(struct iso_sound_stream *s, int k);    /* x and z[(k + 1) % 2] from g and z[k % 2] */
	int (*give)(struct iso_sound_stream *s, int slot); /* image[slot] = x */
	int (*wait)(struct iso_sound_stream *s, int slot); /* until image[slot] is there */
};

ISO_BEGIN_C
extern const struct stream_fn iso_stream_cpu;

/* All iterations, by the functions of the backend. */
int iso_stream_iterate(struct iso_sound_stream *s);
ISO_END_C

#endif
