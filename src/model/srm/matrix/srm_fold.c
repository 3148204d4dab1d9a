/* SPDX-License-Identifier: BSD-3-Clause */
/* From what was counted or given to the table: folded columns, and one bound on their weights.

   A weight is the sum of the counts of all images of an element that were simulated, over images
   times pairs. The bound comes from one histogram of all weights, in steps of 0.1 %, whose sums are
   in fixed point: it does not depend on the number of threads. */
#include "srm_matrix.h"
#include "core/size.h"

/* ---- elements of a column ---- */

int iso_srm_entries_push(struct srm_entries *e, struct srm_entry x)
{
	if (e->n == e->room) {
		int64_t room = e->room < 64 ? 128 : 2 * e->room;
		struct srm_entry *v = realloc(e->v, (size_t)room * sizeof *v);

		if (!v) return iso_fail_memory("srm: elements of a column", room * (int64_t)sizeof *v);
		e->v = v;
		e->room = room;
	}
	e->v[e->n++] = x;
	return ISO_OK;
}

int iso_srm_entries_sort(struct srm_entries *e)
{
	uint64_t *key = size_alloc(2 * e->n, sizeof *key);
	struct srm_entry *v = size_alloc(e->n, sizeof *v);

	if (!key || !v || e->n > UINT32_MAX) {
		free(key);
		free(v);
		return iso_fail_memory("srm: sorting a column", e->n * (int64_t)sizeof *v);
	}
	for (int64_t i = 0; i < e->n; i++) key[i] = (uint64_t)i << 32 | e->v[i].at;
	iso_srm_sort(key, key + e->n, e->n, 32);
	for (int64_t i = 0; i < e->n; i++) v[i] = e->v[key[i] >> 32];
	free(key);
	free(e->v);
	*e = (struct srm_entries){ v, e->n, e->n };
	return ISO_OK;
}

/* ---- folded columns from counts ---- */

/* Distinct images of an element under what leaves its column in place. */
static int orbit(struct srm_lor out[SRM_SYMMETRIES], const struct srm_shape *s, int stays, struct srm_lor e)
{
	uint64_t key[SRM_SYMMETRIES];
	int n = 0;

	for (int g = 0; g < SRM_SYMMETRIES; g++) {
		int k = 0;

		if ((g & stays) != g) continue;
		out[n] = srm_image(e, g);
		key[n] = srm_number(s->reach, s->layers, out[n]);
		while (key[k] != key[n]) k++;
		n += k == n;
	}
	return n;
}

static bool within(struct srm_lor e, int max_offset)
{
	return max_offset == 0 || (abs(e.l[0] - e.u[0]) <= max_offset && abs(e.l[1] - e.u[1]) <= max_offset);
}

/* Pairs that were simulated for a class, outcomes combined. */
static double pairs_of(const iso_srm *m, int class_number)
{
	int g[8];

	return (double)iso_srm_voxels(g, m, class_number) * (double)m->pairs * m->options.outcomes *
	       m->options.outcomes;
}

static int expand(struct srm_entries *out, const iso_srm *m, struct srm_column column, int max_offset)
{
	const struct srm_shape *s = &m->shape;
	int k = iso_srm_class(s, column);
	bool swapped = s->swap && column.p[0] > column.p[1];
	double units = pairs_of(m, k);
	struct srm_cursor c = iso_srm_list_begin(&m->counts[k].list);
	struct srm_lor image[SRM_SYMMETRIES];
	int st = ISO_OK;

	while (!st && iso_srm_list_next(&c)) {
		int n = orbit(image, s, m->class_of[k].stays, srm_element(s->reach, s->layers, c.key));

		for (int i = 0; i < n && !st; i++) {
			struct srm_lor e = swapped ? srm_image(image[i], SRM_SWAP) : image[i];
			struct srm_entry x = { (uint32_t)srm_position(s, e),
				               (iso_real)((double)c.count / (n * units)), c.count,
				               (int32_t)srm_shifts(s, e), within(e, max_offset) };

			if (x.shifts > 0) st = iso_srm_entries_push(out, x);
		}
	}
	return st;
}

/* All elements of a folded column that fit the scanner, in no order. */
static int fill(struct srm_entries *out, const iso_srm *m, int64_t column, int max_offset)
{
	int st = ISO_OK;

	out->n = 0;
	if (!m->given) return expand(out, m, iso_srm_column(&m->shape, column), max_offset);
	for (int64_t i = 0; i < m->given[column].n && !st; i++) {
		struct srm_entry x = m->given[column].v[i];
		struct srm_lor e = srm_at(&m->shape, x.at);

		x.shifts = (int32_t)srm_shifts(&m->shape, e);
		x.near = within(e, max_offset);
		st = iso_srm_entries_push(out, x);
	}
	return st;
}

/* ---- the histogram of weights ---- */

/* A positive float up to 1 by its bits: 8 of the exponent, 10 of the fraction. */
enum { DROP = 13, BINS = (127 << 10) + 1 };

/* What is added up over the elements of a bin: weight x shifts, the sensitivity of all voxels; the weight
   itself; 1; and its counts. */
enum { SHIFTS, PLAIN, ELEMENTS, COUNTED, SUMS };

struct histogram {
	uint64_t (*sum)[SUMS]; /* BINS */
	double scale;          /* of SHIFTS and PLAIN, in fixed point */
	uint64_t once;         /* elements with one count */
};

union word {
	float f;
	uint32_t bits;
};

static int bin_of(double w)
{
	int bin = (int)((union word){ .f = (float)w }.bits >> DROP);

	return bin < BINS ? bin : BINS - 1;
}

static double bin_edge(int bin)
{
	return (union word){ .bits = (uint32_t)bin << DROP }.f;
}

/* Units of the sums, so that all of them together stay below 2^63: the sensitivity of a voxel is at
   most 1, unless rows of another program say otherwise. */
static double fixed_scale(const iso_srm *m)
{
	const struct srm_shape *s = &m->shape;
	bool import = m->source == SRM_IMPORT;
	double all = import ? 0 : (double)s->nc[0] * s->nc[1] * s->d[0] * s->d[1] * s->planes;

	for (int64_t c = 0; import && c < m->n_column; c++)
		for (int64_t i = 0; i < m->given[c].n; i++)
			all += 8 * (double)m->given[c].v[i].w * s->nc[0] * s->nc[1];
	return all > 0 ? ldexp(1, 62 - (int)ceil(log2(all))) : 1;
}

static void add_column(struct histogram *h, const iso_srm *m, const struct srm_entries *e, int64_t column)
{
	double scale = h->scale * iso_srm_multiplicity(&m->shape, iso_srm_column(&m->shape, column));

	for (int64_t i = 0; i < e->n; i++) {
		double w = scale * (double)e->v[i].w;
		uint64_t *sum = h->sum[bin_of((double)e->v[i].w)];

		if (!e->v[i].near) continue;
		sum[SHIFTS] += (uint64_t)(w * e->v[i].shifts);
		sum[PLAIN] += (uint64_t)w;
		sum[ELEMENTS]++;
		sum[COUNTED] += e->v[i].count;
		h->once += e->v[i].count == 1;
	}
}

/* A thread's failure is want of memory; its message is lost with it. */
static int make_histogram(struct histogram *all, const iso_srm *m, iso_ctx *ctx, int max_offset)
{
	bool full = false;

	all->scale = fixed_scale(m);
	all->sum = size_alloc(BINS, sizeof *all->sum);
	if (!all->sum) return iso_fail_memory("srm: histogram of weights", BINS * (int64_t)sizeof *all->sum);
#pragma omp parallel num_threads(ctx->threads) reduction(|| : full)
	{
		struct histogram own = { size_alloc(BINS, sizeof *own.sum), all->scale, 0 };
		struct srm_entries e = { 0 };

		full = !own.sum;
#pragma omp for schedule(dynamic)
		for (int64_t c = 0; c < m->n_column; c++)
			if (!full && !(full = fill(&e, m, c, max_offset))) add_column(&own, m, &e, c);
#pragma omp critical
		for (int i = 0; i < (full ? 0 : BINS); i++)
			for (int k = 0; k < SUMS; k++) all->sum[i][k] += own.sum[i][k];
#pragma omp atomic
		all->once += own.once;
		free(own.sum);
		free(e.v);
	}
	return full ? iso_fail_memory("srm: table", 0) : ISO_OK;
}

/* The highest bin b for which bins b, b + 1, ... of sum[][which] add up to at least `amount`; with at_least
   false, the lowest b for which they add up to at most `amount`. */
static int bin_above(const struct histogram *h, int which, double amount, bool at_least)
{
	double sum = 0;

	for (int i = BINS - 1; i >= 0; i--) {
		double more = sum + (double)h->sum[i][which];

		if (at_least ? more >= amount : more > amount) return at_least ? i : i + 1;
		sum = more;
	}
	return 0;
}

static double total(const struct histogram *h, int which, int from)
{
	double sum = 0;

	for (int i = from; i < BINS; i++) sum += (double)h->sum[i][which];
	return sum;
}

static struct srm_noise noise_of(const struct histogram *h, const iso_srm *m)
{
	double all = total(h, ELEMENTS, 0);
	int core = bin_above(h, PLAIN, .5 * total(h, PLAIN, 0), true);
	double n = total(h, ELEMENTS, core);

	return (struct srm_noise){ n > 0 ? total(h, COUNTED, core) / n : 0, n / (double)m->n_column,
		                   all > 0 ? (double)h->once / all : 0, (int64_t)all };
}

int iso_srm_measure(struct srm_noise *n, const iso_srm *m, iso_ctx *ctx)
{
	struct histogram h = { 0 };
	int st = make_histogram(&h, m, ctx, 0);

	if (!st) *n = noise_of(&h, m);
	free(h.sum);
	return st;
}

/* ---- the bound ---- */

static int check_bound(const iso_srm *m, const struct iso_srm_bound *b)
{
	int n = (b->share != 0) + (b->min_weight != 0) + (b->per_column != 0);

	if (!m->given && (!m->has_counts || m->pairs == 0))
		return iso_fail(ISO_EARG,
		                m->ptr ? "srm: the matrix has no counts (final): its bound can't be changed"
		                       : "srm: no pairs were simulated yet");
	if (n != 1)
		return iso_fail(ISO_EARG,
		                "srm: %d bounds, must be one: share, least weight, or elements a column", n);
	if (b->share != 0 && !(b->share > 0 && b->share <= 1))
		return iso_fail(ISO_EARG, "srm: share is %g, must be above 0, up to 1", b->share);
	if (b->min_weight != 0 && !(b->min_weight > 0 && b->min_weight < 1))
		return iso_fail(ISO_EARG, "srm: least weight is %g, must be in (0, 1)", b->min_weight);
	if (b->per_column != 0 && !(b->per_column >= 1 && b->per_column < 1e12))
		return iso_fail(ISO_EARG, "srm: %g elements a column, must be at least 1", b->per_column);
	if (b->max_offset < 0)
		return iso_fail(ISO_EARG, "srm: greatest offset is %d crystals, must be 0 (any) or above",
		                b->max_offset);
	return ISO_OK;
}

static double least_weight(const struct histogram *h, const iso_srm *m, const struct iso_srm_bound *b)
{
	if (b->min_weight > 0) return b->min_weight;
	if (b->per_column > 0)
		return bin_edge(bin_above(h, ELEMENTS, b->per_column * (double)m->n_column, false));
	if (b->share == 1) return 0;
	return bin_edge(bin_above(h, SHIFTS, b->share * total(h, SHIFTS, 0), true));
}

/* ---- the table ---- */

struct column_sums {
	double usable, kept, usable_shifts, kept_shifts;
};

/* Copies what the bound keeps, in order. */
static int cut(struct srm_entries *kept, struct column_sums *sum, const struct srm_entries *e, double least)
{
	for (int64_t i = 0; i < e->n; i++) {
		double w = (double)e->v[i].w;

		sum->usable += w;
		sum->usable_shifts += w * e->v[i].shifts;
		if (!e->v[i].near || w < least) continue;
		sum->kept += w;
		sum->kept_shifts += w * e->v[i].shifts;
		int st = iso_srm_entries_push(kept, e->v[i]);

		if (st) return st;
	}
	return iso_srm_entries_sort(kept);
}

static int cut_columns(struct srm_entries *kept, struct column_sums *sum, const iso_srm *m, iso_ctx *ctx,
                       double least, int max_offset)
{
	bool full = false;

#pragma omp parallel num_threads(ctx->threads) reduction(|| : full)
	{
		struct srm_entries e = { 0 };

#pragma omp for schedule(dynamic)
		for (int64_t c = 0; c < m->n_column; c++)
			full = full || fill(&e, m, c, max_offset) || cut(&kept[c], &sum[c], &e, least);
		free(e.v);
	}
	return full ? iso_fail_memory("srm: table", 0) : ISO_OK;
}

static int gather(iso_srm *m, iso_ctx *ctx, const struct srm_entries *kept)
{
	struct iso_room table = { .what = "srm: table" };
	int64_t n = 0, *ptr;
	uint32_t *at;
	iso_real *w;

	for (int64_t c = 0; c < m->n_column; c++) n += kept[c].n;
	ISO_HOST(&table, ptr, m->n_column + 1);
	ISO_HOST(&table, at, n);
	if (!ISO_HOST(&table, w, n)) return iso_room_free(&table);
	for (int64_t c = 0; c < m->n_column; c++) ptr[c + 1] = ptr[c] + kept[c].n;
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t c = 0; c < m->n_column; c++)
		for (int64_t i = 0; i < kept[c].n; i++) {
			at[ptr[c] + i] = kept[c].v[i].at;
			w[ptr[c] + i] = kept[c].v[i].w;
		}
	iso_room_free(&m->table);
	m->table = table;
	m->ptr = ptr;
	m->at = at;
	m->w = w;
	m->n = n;
	return ISO_OK;
}

static void put_sens(iso_srm *m, const struct column_sums *sum)
{
	double all = 0, kept = 0;

	for (int64_t c = 0; c < m->n_column; c++) {
		struct srm_column column = iso_srm_column(&m->shape, c);
		int many = iso_srm_multiplicity(&m->shape, column), k = iso_srm_class(&m->shape, column);
		double recorded = (double)m->counts[k].recorded / pairs_of(m, k);
		double *sens = m->sens[c];

		sens[SRM_USABLE] = sum[c].usable;
		sens[SRM_KEPT] = sum[c].kept;
		sens[SRM_RECORDED] = m->given ? sum[c].usable : recorded;
		sens[SRM_LOST] = sum[c].usable_shifts > 0 ? 1 - sum[c].kept_shifts / sum[c].usable_shifts : 0;
		all += many * sum[c].usable_shifts;
		kept += many * sum[c].kept_shifts;
	}
	m->kept = all > 0 ? kept / all : 0;
}

int iso_srm_threshold(iso_srm *m, iso_ctx *ctx, const struct iso_srm_bound *b)
{
	if (!m || !ctx || !b) return iso_fail_null(__func__);
	struct iso_room room = { .what = "srm: columns" };
	struct srm_entries *kept;
	struct column_sums *sum;
	struct histogram h = { 0 };
	int st = check_bound(m, b);

	if (st) return st;
	ISO_HOST(&room, sum, m->n_column);
	if (!ISO_HOST(&room, kept, m->n_column)) st = room.status;
	if (st || (st = make_histogram(&h, m, ctx, b->max_offset))) goto done;
	double least = least_weight(&h, m, b);

	if ((st = cut_columns(kept, sum, m, ctx, least, b->max_offset)) || (st = gather(m, ctx, kept)))
		goto done;
	put_sens(m, sum);
	m->noise = noise_of(&h, m);
	m->bound = *b;
	m->least_weight = least;
done:
	for (int64_t c = 0; kept && c < m->n_column; c++) free(kept[c].v);
	iso_room_free(&room);
	free(h.sum);
	return st;
}
