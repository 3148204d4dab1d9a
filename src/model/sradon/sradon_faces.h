/* SPDX-License-Identifier: BSD-3-Clause */
/* Faces of transducers in model sradon: each point of a face is a transducer of G, and the mean over the points of a face
   is a trace of the face. */
#ifndef ISO_SRADON_FACES_H
#define ISO_SRADON_FACES_H

#include "core/hd.h"
#include "core/op.h"

/* The mean, from traces (n, points, samples) to (n, samples). */
struct sradon_mean {
	int64_t n, samples;
	int points;
	int64_t *face;  /* (n): row of weight */
	double *weight; /* (rows, points) */
};

/* Sample i of the traces of faces. */
ISO_HD double sradon_mean(const struct sradon_mean *p, const iso_real *x, int64_t i)
{
	const int64_t q = i / p->samples, k = i % p->samples;
	const double *w = p->weight + p->face[q] * p->points;
	double sum = 0;

	for (int j = 0; j < p->points; j++) sum += w[j] * (double)x[(q * p->points + j) * p->samples + k];
	return sum;
}

/* Its adjoint: sample i of the traces of points. */
ISO_HD double sradon_mean_back(const struct sradon_mean *p, const iso_real *y, int64_t i)
{
	const int64_t row = i / p->samples, k = i % p->samples, q = row / p->points;

	return p->weight[p->face[q] * p->points + row % p->points] * (double)y[q * p->samples + k];
}

/* Points of a transducer; 1 without faces. */
ISO_C int iso_sradon_face_points(int *points, const struct iso_sradon *q);

/* G of points, which stand for as many transducers each; `stands` are these, or NULL: the points themselves. */
typedef int (*sradon_integrals)(iso_op **op, iso_ctx *ctx, const struct iso_sradon *q,
                                const struct iso_transducers *stands);

/* The mean after G of all points. */
ISO_C int iso_sradon_faces(iso_op **op, iso_ctx *ctx, const struct iso_sradon *q, sradon_integrals integrals);

ISO_C int iso_sradon_mean_to_cuda(iso_op *op);

#endif
