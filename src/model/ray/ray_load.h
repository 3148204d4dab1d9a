/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that are read once, piece by piece, and go straight to the rows of an operator on the device: the host never has
   them all, in whatever order subsets want them. */
#ifndef ISO_RAY_LOAD_H
#define ISO_RAY_LOAD_H

#include "ray.h"

ISO_BEGIN_C

/* What the device has of the events so far. */
struct ray_load;

struct ray_load_fn {
	/* Room for all events of the model, which are not there yet, and for their values. */
	int (*create)(struct ray_load **load, iso_ctx *ctx, const struct ray_model *m,
	              const struct iso_ray_source *s);
	/* Memory of the host that blocks are sent from, until they all have been. */
	int (*pin)(struct ray_load *load, const struct iso_events *block, int64_t n);
	/* Events `first` ... of the source. */
	int (*add)(struct ray_load *load, const struct iso_events *block, int64_t first);
	void (*unpin)(struct ray_load *load);
	/* Values of all events, in the order of the operator's rows; they are the loader's. */
	struct iso_em_data (*data)(const struct ray_load *load);
	void (*free)(struct ray_load *load);
};

#define ISO_RAY_LOAD_CUDA "iso_ray_cuda_load"

/* Blocks that come and go, where the device does not hold all events: while one is in work, the next is on its way. */
struct ray_pass;
struct ray_held; /* one that the host keeps ordered */

/* Ends of events that get numbers, of more crystals than the largest scanners have; cells of their hash table, few of which
   are taken. */
enum { RAY_ENDS = 1 << 20, RAY_END_CELLS = 1 << 22 };
#define RAY_END_BYTES (3 * sizeof(float) + RAY_END_CELLS / RAY_ENDS * sizeof(unsigned))

struct ray_pass_fn {
	/* For blocks of at most m->n events. */
	int (*create)(struct ray_pass **pass, iso_ctx *ctx, const struct ray_model *m,
	              const struct iso_ray_source *s);
	/* Memory of the host that blocks are sent from, for the life of the pass. */
	int (*pin)(struct ray_pass *pass, const struct iso_events *block, int64_t n);
	/* Begins to send a block, which must not change before `wait` returns. At most two are sent and not added. */
	int (*send)(struct ray_pass *pass, const struct iso_events *block);
	int (*wait)(struct ray_pass *pass);
	/* Orders the first block that was sent and not added, and adds its step to the sums. */
	int (*add)(struct ray_pass *pass, void *sum, const struct ray_step *p);
	/* Bytes of the host that hold the block which was read and added last, as it was ordered. */
	int (*held_bytes)(int64_t *bytes, struct ray_pass *pass);
	/* Holds it in so many bytes of memory, until let_go; *held stays NULL where memory can't be pinned. */
	int (*hold)(struct ray_pass *pass, struct ray_held **held, void *memory);
	/* The same as `send`, with no need to wait. */
	int (*send_held)(struct ray_pass *pass, const struct ray_held *held);
	void (*let_go)(struct ray_held *held);
	/* Bytes a second that the device fetches from the host's memory, by a short trial. */
	int (*link)(double *bytes_per_s, iso_ctx *ctx);
	void (*free)(struct ray_pass *pass);
};

#define ISO_RAY_PASS_CUDA "iso_ray_cuda_pass"

/* An operator over all events of a source, and their values. */
struct ray_loaded {
	iso_op *op; /* NULL: there is none */
	struct iso_em_data data;
	const struct ray_load_fn *fn;
	struct ray_load *load;
};

/* Whether the device has room for all events of the source, and this process all of them. */
bool iso_ray_load_fits(iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s);

/* complete(arg, block): what is left to do to a block that was read. */
int iso_ray_load(struct ray_loaded *l, iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s,
                 int64_t block, int (*complete)(const void *arg, struct iso_events *block), const void *arg);
void iso_ray_loaded_free(struct ray_loaded *l);

ISO_END_C

#endif
