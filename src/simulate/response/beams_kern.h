/* SPDX-License-Identifier: BSD-3-Clause */
/* One photon of a beam, and where its records are counted. */
#ifndef ISO_BEAMS_KERN_H
#define ISO_BEAMS_KERN_H

#include "beams.h"

#define BEAMS_DEPTH 1024 /* a mm of a depth */

/* Adds 1 to a counter that threads share. */
#ifdef __CUDA_ARCH__
#	define BEAMS_ADD(to, n) atomicAdd(to, n)
#	define BEAMS_ADD_LONG(to, n) atomicAdd((unsigned long long *)(to), (unsigned long long)(n))
#else
#	define BEAMS_ADD(to, n) __atomic_fetch_add(to, n, __ATOMIC_RELAXED)
#	define BEAMS_ADD_LONG(to, n) __atomic_fetch_add(to, n, __ATOMIC_RELAXED)
#endif

/* Where photon i of a direction starts; u and v: on its rectangle. false: outside of the ring. */
ISO_HD bool beams_start(struct crystal_photon *p, float uv[2], const struct beams *b, const struct beam *d,
                        uint64_t history)
{
	struct philox w = philox_draw(b->scan.w.seed, history, PHOTON_LINE);
	float x = philox_unit(w.w[0]), y = philox_unit(w.w[1]);

	for (int a = 0; a < 3; a++) {
		p->at[a] = d->low[a] + x * d->side[0][a] + y * d->side[1][a];
		p->dir[a] = d->dir[a];
	}
	p->kev = b->kev;
	p->ticks = 0;
	uv[0] = (x - .5f) * d->size[0];
	uv[1] = (y - .5f) * d->size[1];
	return p->at[0] * p->at[0] + p->at[1] * p->at[1] < b->inner2;
}

/* Bin of an offset; -1: beyond. */
ISO_HD int32_t beams_bin(float off)
{
	float at = (off + (float)(RESPONSE_BIN_MM * RESPONSE_BINS / 2)) * (float)(1 / RESPONSE_BIN_MM);

	return at >= 0 && at < RESPONSE_BINS ? (int32_t)at : -1;
}

ISO_HD void beams_count(const struct beams *b, int64_t direction, const float uv[2], uint32_t crystal)
{
	const struct iso_modules *m = b->scan.modules;
	struct modules_place p;

	modules_place(&p, m, (int32_t)crystal);
	if (p.module != b->module) return;
	BEAMS_ADD(b->records + direction, 1u);
	if (!b->count) return;
	int64_t c = ((int64_t)p.iz * modules_along(m, 0) + p.it) * m->layers + p.layer;
	int64_t place = (int64_t)direction * b->places +
	                ((p.iz % m->crystals[1]) * m->crystals[0] + p.it % m->crystals[0]) * m->layers +
	                p.layer;
	int32_t bin[2];

	BEAMS_ADD(b->count + direction * b->crystals + c, 1u);
	for (int a = 0; a < 2; a++) bin[a] = beams_bin(uv[a] - b->nominal[direction * b->crystals + c][a]);
	if (bin[0] < 0 || bin[1] < 0) {
		BEAMS_ADD(b->beyond + place, 1u);
		return;
	}
	for (int a = 0; a < 2; a++) BEAMS_ADD(b->hist[a] + place * RESPONSE_BINS + bin[a], 1u);
}

/* Photon i of all directions. */
ISO_HD void beams_run(const struct beams *b, int64_t i)
{
	const int64_t direction = i / b->each;
	struct crystal_photon p;
	struct crystal_trace t;
	struct pulse single[2];
	uint32_t count[CRYSTAL_COUNTS] = { 0 };
	float uv[2];

	if (!beams_start(&p, uv, b, b->beam + direction, (uint64_t)(b->first + i))) return;
	crystal_begin(&t, (uint64_t)(b->first + i));
	crystal_follow(&t, &b->scan.w, &p, 0);
	if (t.n == 0) return;
	int found = crystal_singles(single, count, &b->scan, &t);

	for (int k = 0; k < found && k < 2; k++) beams_count(b, direction, uv, single[k].crystal);
	if (direction == 0 && b->count) {
		BEAMS_ADD_LONG(b->depth, (int64_t)(t.depth * BEAMS_DEPTH + .5f));
		BEAMS_ADD_LONG(b->depth + 1, (int64_t)1);
	}
}

#endif
