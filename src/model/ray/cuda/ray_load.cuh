/* SPDX-License-Identifier: BSD-3-Clause */
/* How rows are dealt to packs, and events that the device has before they are ordered. */
#ifndef ISO_RAY_LOAD_CUH
#define ISO_RAY_LOAD_CUH

#include "core/cuda.cuh"
#include "model/ray/ray_load.h"

/* Pack k of a subset: its share of the rows. */
ISO_HD struct iso_rows ray_rows_of_pack(struct iso_rows all, int k, int packs)
{
	int64_t first = all.n * k / packs;
	struct iso_rows r = { all.first + first, all.n * (k + 1) / packs - first };

	return r;
}

/* The pack of its subset that row r, from the subset's first on, is in. */
ISO_HD int ray_pack_of_row(struct iso_rows all, int64_t r, int packs)
{
	int k = (int)(r * packs / all.n);

	return k + 1 < packs && all.n * (k + 1) / packs <= r ? k + 1 : k;
}

/* Memory of the host that the device reads by itself. Where pinning fails, copies take longer, and nothing else changes. */
struct ray_pins {
	void *memory[16];
	int n;
};

void iso_ray_pin(struct ray_pins *pins, const struct iso_events *block, int64_t n);
void iso_ray_unpin(struct ray_pins *pins);

/* A bad event has no ray, wherever its lines are spread to: iso_ray_event. */
static __device__ struct iso_event ray_good_event(struct iso_event e)
{
	bool finite = isfinite(e.dt_ps), same = true;

	for (int c = 0; c < 3; c++) {
		finite = finite && isfinite(e.p1[c]) && isfinite(e.p2[c]);
		same = same && e.p1[c] == e.p2[c];
	}
	if (!finite || same) e.p1[0] = NAN;
	return e;
}

/* Events on their way from the host, through two buffers, of which the device reads one while the other is filled. */
struct ray_sender {
	struct iso_event *stage[2];
	cudaEvent_t sent[2];
	int64_t most; /* events of each */
	int next;
	bool pinned; /* else of ordinary memory: few events are there before memory is pinned */
};

int iso_ray_sender_open(struct ray_sender *s, int64_t n);
void iso_ray_sender_close(struct ray_sender *s);

/* to[0 .. rows.n) = events of these rows, in the order of the model. */
int iso_ray_send(struct iso_event *to, struct ray_sender *s, const struct ray_model *m, iso_ctx *ctx,
                 struct iso_rows rows);

/* Numbers of packs: those of subset s are first[s] .. first[s + 1] - 1; none of subsets that have no events here. */
int iso_ray_number_packs(int *first, const struct ray_model *m, int64_t most);

struct ray_load {
	iso_ctx *ctx;
	struct iso_room room;
	struct ray_model m;
	int *first;           /* pack of each subset, n_sub + 1 */
	struct iso_event **e; /* of each pack; NULL once it is ordered */
	int64_t most;         /* rows of a pack */
	/* for a while */
	struct iso_room passing;
	struct ray_pins pins;
	struct iso_event *in;  /* a piece, on the device */
	iso_real *value[3];    /* counts, factors, additive terms of all rows; NULL: there are none */
	iso_real *in_value[3]; /* of the piece */
	int *first_there;      /* the tables on the device */
	struct iso_event **e_there;
};

/* Gives back what is only for loading. */
void iso_ray_load_end(struct ray_load *l);

#endif
