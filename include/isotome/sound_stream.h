/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel in real time: frames of traces in, images out, by a fixed number of iterations of FISTA

	x = the image that makes |u - H x|^2 + penalty smallest,   x >= 0 if wanted,

   with u the spectra of the traces and H the model. Geometry, tables, plans of transforms, work space and the
   length of a step are made once and stay on the device: a frame costs its copies and its iterations. No
   decision depends on the data: the image of a frame has the same bits for every number of frames that are worked
   on together, whatever came before it, unless `warm` is set.

   Threads: a stream serves one thread at a time. */
#ifndef ISOTOME_SOUND_STREAM_H
#define ISOTOME_SOUND_STREAM_H

#include "isotome/svoxel.h"

ISO_BEGIN_C

/* Numbers of a frame. */
enum iso_sample { ISO_SAMPLE_F32, ISO_SAMPLE_I16, ISO_SAMPLE_U16 };

struct iso_sound_stream_setup {
	size_t size;                    /* size of this struct */
	const struct iso_svoxel *model; /* copied; its `batch` is the number of frames worked on together */
	enum iso_sample sample;
	const char *penalty; /* "tikhonov", "quadratic" or "tv" of iso_penalty; NULL: none */
	double strength;     /* what multiplies the penalty */
	double relative;     /* in place of `strength`, not with "tv": over the largest eigenvalue of H* H */
	bool nonneg;         /* no voxel below 0 */
	bool warm;           /* start from the last image of the same wavelength */
	int wavelengths;     /* that take turns, for `warm`; 0: 1 */
	int iterations;      /* 0: 50 */
	int tv_steps;        /* of the proximal map in each iteration; 0: 10 */
};

typedef struct iso_sound_stream iso_sound_stream;

/* Refused: a context of several ranks. */
ISO_CHECKED int iso_sound_stream_create(iso_sound_stream **s, iso_ctx *ctx,
                                        const struct iso_sound_stream_setup *p);
void iso_sound_stream_free(iso_sound_stream *s);

/* Frames (n, transducers, samples) on the host, n from 1 to `batch`, are copied, and the device begins with them. Two
   calls may wait for their iso_sound_stream_pull; a third is refused (ISO_EBUSY). */
ISO_CHECKED int iso_sound_stream_push(iso_sound_stream *s, const void *frames, int n);

/* Waits for the images (n, nz, ny, nx) of the oldest push, on the host. */
ISO_CHECKED int iso_sound_stream_pull(iso_real *images, int *n, iso_sound_stream *s);

struct iso_sound_stream_info {
	size_t size;       /* size of this struct, set by the caller */
	int64_t voxels;    /* of an image */
	int64_t bytes;     /* of a frame */
	int batch;         /* frames worked on together */
	int iterations;    /* of each frame */
	double eigenvalue; /* largest of H* H: 20 power iterations from a fixed image, times 1.02 */
	double mu;         /* strength of the penalty, if it is quadratic */
	bool graph;        /* on CUDA: the iterations are one graph */
	int64_t frames;    /* that were pushed */
	int64_t transducers, samples; /* of a frame */
	struct iso_grid grid;         /* of an image */
};

/* What a stream was made of, and how many frames it has had. */
ISO_CHECKED int iso_sound_stream_look(struct iso_sound_stream_info *info, const iso_sound_stream *s);

/* Memory besides that of the model. */
void iso_sound_stream_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_sound_stream_setup *p);

ISO_END_C
#endif
