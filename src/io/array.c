/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays, read and written by the format of their suffix. */
#include "core/size.h"
#include "kinds.h"

#include <math.h>

static const struct iso_format *find_format(const char *path)
{
	const struct iso_kind *k = iso_kind_as(path, ISO_ARRAY_FILE);

	return k ? k->array : NULL;
}

int iso_format_values(char out[PATH_MAX], const char *path)
{
	const struct iso_format *f = find_format(path);

	*out = '\0';
	return f && f->values ? iso_events_partner(out, PATH_MAX, path, f->values) : ISO_OK;
}

/* ---- reading ---- */

/* Of a file that is there. */
static const struct iso_format *format_to_read(const char *path)
{
	const struct iso_kind *k = iso_kind_to_read(path, ISO_ARRAY_FILE);

	return k ? k->array : NULL;
}

static int fail_values(const struct iso_array *a, const char *path, enum iso_values allowed, int64_t count,
                       int64_t first)
{
	const char *what = allowed == ISO_FINITE ? "not finite" : "negative or not finite";
	char where[96];

	if (a->n_dim == 3)
		snprintf(where, sizeof where, "(iz, iy, ix) = (%" PRId64 ", %" PRId64 ", %" PRId64 ")",
		         first / a->dim[2] / a->dim[1], first / a->dim[2] % a->dim[1], first % a->dim[2]);
	else
		snprintf(where, sizeof where, "element %" PRId64, first);
	return iso_refuse(path, "%" PRId64 " of %" PRId64 " values %s; the first is %g at %s", count, a->n,
	                  what, (double)a->v[first], where);
}

int iso_values_check(const struct iso_array *a, const char *path, enum iso_values allowed)
{
	int64_t count = 0, first = 0;

	allowed = (enum iso_values)(allowed & ~(ISO_PAIRS | ISO_OBLIQUE));
	if (allowed == ISO_ANY) return ISO_OK;
	for (int64_t i = a->n - 1; i >= 0; i--)
		if (!isfinite(a->v[i]) || (allowed == ISO_NONNEGATIVE && a->v[i] < 0)) {
			count++;
			first = i;
		}
	return count == 0 ? ISO_OK : fail_values(a, path, allowed, count, first);
}

static int read_whole(struct iso_array *a, struct iso_stored *s)
{
	int st;

	if (!a->v) return iso_fail_memory(s->in.path, a->n * (int64_t)sizeof *a->v);
	if ((st = iso_in_skip(&s->in, s->skip)) || (st = iso_layout_read(a, &s->in, &s->layout))) return st;
	return iso_in_end(&s->in);
}

/* This rank's share of the elements from the file, the others' from the other ranks. */
static int read_share(struct iso_array *a, struct iso_stored *s, iso_ctx *ranks)
{
	const struct iso_element e = s->layout.element;
	const struct iso_rows own = iso_share(ranks, a->n);
	int st = a->v ? ISO_OK : iso_fail_memory(s->in.path, a->n * (int64_t)sizeof *a->v);

	if (!st) st = iso_in_seek(&s->in, s->in.at + s->skip + own.first * e.size);
	if (!st) st = iso_elements_read(a->v + own.first, own.n, &s->in, e);
	if (!st && iso_rank(ranks) == iso_ranks(ranks) - 1) st = iso_in_end(&s->in);
	return iso_comm_gather_shares(ranks, st, a->v, a->n, sizeof *a->v);
}

/* Where the values of a format do not lie in one file, every rank reads them all. */
static int read_filled(struct iso_array *a, struct iso_stored *s, const iso_ctx *ctx, const char *path,
                       const struct iso_format *f)
{
	a->v = size_alloc(a->n, sizeof *a->v);
	return a->v ? f->fill(a, s, ctx, path) : iso_fail_memory(path, a->n * (int64_t)sizeof *a->v);
}

static int read_stored(struct iso_array *a, struct iso_stored *s, iso_ctx *ranks)
{
	bool shared = ranks && !s->in.gz && iso_layout_in_order(&s->layout, a);
	int st;

	a->v = size_alloc(a->n, sizeof *a->v);
	if ((st = shared ? read_share(a, s, ranks) : read_whole(a, s))) return st;
	for (int64_t i = 0; s->scaled && i < a->n; i++)
		a->v[i] = (iso_real)(s->slope * (double)a->v[i] + s->inter);
	return ISO_OK;
}

/* Without `values`, v stays NULL. `ranks`: whose ranks read a part each; NULL: this process reads it all. */
static int read_file(struct iso_array *a, const iso_ctx *ctx, const char *path, enum iso_values allowed,
                     bool values, iso_ctx *ranks)
{
	const struct iso_format *f = format_to_read(path);
	struct iso_stored s = { .oblique = allowed & ISO_OBLIQUE };
	struct iso_array r = { 0 };
	int st;

	if (!f) return iso_kind_unknown(ISO_EINPUT, path, ISO_ARRAY_FILE, false);
	st = f->open(&r, &s, path, allowed & ISO_PAIRS);
	s.in.ctx = ctx;
	if (!st && values) st = f->fill ? read_filled(&r, &s, ctx, path, f) : read_stored(&r, &s, ranks);
	if (!st && values) st = iso_values_check(&r, path, allowed);
	iso_in_close(&s.in);
	if (s.release) s.release(s.own);
	if (st)
		iso_array_free(&r);
	else
		*a = r;
	return st;
}

int iso_peek_as(struct iso_array *a, const char *path, enum iso_values allowed)
{
	return read_file(a, NULL, path, allowed, false, NULL);
}

int iso_peek(struct iso_array *a, const char *path)
{
	if (!a || !path) return iso_fail_null(__func__);
	return iso_peek_as(a, path, ISO_ANY);
}

int iso_read(struct iso_array *a, const char *path, enum iso_values allowed)
{
	if (!a || !path) return iso_fail_null(__func__);
	return read_file(a, NULL, path, allowed, true, NULL);
}

static int read_within(struct iso_array *a, const iso_ctx *ctx, const char *path, enum iso_values allowed,
                       iso_ctx *ranks)
{
	struct iso_array head;
	int st = iso_peek_as(&head, path, allowed);

	if (!st) st = iso_memory_check(ctx, path, head.n * (int64_t)sizeof *head.v);
	return st ? st : read_file(a, ctx, path, allowed, true, ranks);
}

int iso_read_within(struct iso_array *a, const iso_ctx *ctx, const char *path, enum iso_values allowed)
{
	if (!a || !path) return iso_fail_null(__func__);
	return read_within(a, ctx, path, allowed, NULL);
}

int iso_read_shared(struct iso_array *a, iso_ctx *ctx, const char *path, enum iso_values allowed)
{
	return read_within(a, ctx, path, allowed, ctx->comm ? ctx : NULL);
}

static int wrong_grid(const char *path, const struct iso_grid *got, const struct iso_grid *want)
{
	char text[2][200];
	const struct iso_grid *g[2] = { got, want };

	for (int i = 0; i < 2; i++)
		iso_snprintf(text[i], sizeof text[i],
		             "%" PRId64 " x %" PRId64 " x %" PRId64
		             " voxels of %g x %g x %g mm centred on (%g, %g, %g)",
		             g[i]->n[0], g[i]->n[1], g[i]->n[2], g[i]->voxel[0], g[i]->voxel[1],
		             g[i]->voxel[2], g[i]->centre[0], g[i]->centre[1], g[i]->centre[2]);
	return iso_refuse(path, "%s, expected %s", text[0], text[1]);
}

int iso_image_fit(struct iso_array *a, const char *path, const struct iso_grid *want)
{
	if (a->n_dim == 2 && want && want->n[2] == 1) { /* one plane */
		memmove(a->dim + 1, a->dim, 2 * sizeof *a->dim);
		a->dim[0] = 1;
		a->n_dim = 3;
	}
	if (a->n_dim != 3) return iso_refuse(path, "%d axes, an image (nz, ny, nx) was expected", a->n_dim);
	if (!want) return a->has_grid ? ISO_OK : iso_refuse(path, "holds no voxel size, as .nii does");
	if (!a->has_grid) {
		a->grid = *want;
		for (int i = 0; i < 3; i++) a->grid.n[i] = a->dim[2 - i];
	}
	if (!iso_grid_same(&a->grid, want)) return wrong_grid(path, &a->grid, want);
	a->has_grid = true;
	a->grid = *want; /* to the bit, not just to the file's precision */
	return ISO_OK;
}

int iso_read_image(struct iso_array *a, const char *path, enum iso_values allowed,
                   const struct iso_grid *want)
{
	if (!a || !path) return iso_fail_null(__func__);
	struct iso_array head, r = { 0 };
	int st;

	if ((st = iso_peek_as(&head, path, allowed)) || (st = iso_image_fit(&head, path, want)) ||
	    (st = iso_read(&r, path, allowed)))
		return st;
	st = iso_image_fit(&r, path, want);
	if (st)
		iso_array_free(&r);
	else
		*a = r;
	return st;
}

/* ---- writing ---- */

static int check_array(const struct iso_array *a, const char *path)
{
	bool on_grid = true;
	int64_t n;

	if (a->n_dim < 1 || a->n_dim > 8)
		return iso_fail(ISO_EARG, "%s: the array to write has %d axes", path, a->n_dim);
	if (!size_product(&n, a->n_dim, a->dim) || n != a->n || n < 1)
		return iso_fail(ISO_EARG,
		                "%s: the array to write says %" PRId64 " elements, its sizes say otherwise",
		                path, a->n);
	for (int i = 0; i < 3 && a->has_grid; i++)
		on_grid = on_grid && a->n_dim > 2 && a->dim[a->n_dim - 1 - i] == a->grid.n[i];
	if (!on_grid) return iso_fail(ISO_EARG, "%s: the array to write does not fit its grid", path);
	return a->has_grid ? iso_grid_check(&a->grid) : ISO_OK;
}

int iso_write_check(const char *path, bool force)
{
	if (!path) return iso_fail_null(__func__);
	const struct iso_format *f = find_format(path);
	char values[PATH_MAX];
	int st;

	if (!f || !f->lead) return iso_kind_unknown(ISO_EARG, path, ISO_ARRAY_FILE, true);
	if ((st = iso_target_check(path, force)) || (st = iso_format_values(values, path))) return st;
	return *values ? iso_stands_check(values, path, force) : ISO_OK;
}

static int check_length(const char *path, int64_t n, bool images)
{
	const struct iso_format *f = find_format(path);

	if (!f || !f->axis_most || n <= f->axis_most) return ISO_OK;
	return iso_fail(ISO_EARG,
	                images ? "%s: %" PRId64 " images, %s files hold at most %" PRId64 "; write .npy"
	                       : "%s: an axis of %" PRId64 ", %s files hold at most %" PRId64 "; write .npy",
	                path, n, iso_kind_of(path)->suffix, f->axis_most);
}

int iso_write_check_grid(const char *path, const struct iso_grid *g)
{
	if (!path || !g) return iso_fail_null(__func__);
	int st = ISO_OK;

	for (int a = 0; a < 3 && !st; a++) st = check_length(path, g->n[a], false);
	return st;
}

int iso_write_check_series(const char *path, int64_t n)
{
	if (!path) return iso_fail_null(__func__);
	const struct iso_format *f = find_format(path);

	if (f && f->values)
		return iso_fail(ISO_EARG, "%s: %" PRId64 " images, %s files hold one; write .nii or .npy",
		                path, n, iso_kind_of(path)->suffix);
	return check_length(path, n, true);
}

/* Several at once, in vectors: no value waits for the one before it. */
void iso_range(iso_real range[2], int64_t n, const iso_real *v, bool more)
{
	enum { LANES = 16 };
	iso_real least[LANES], most[LANES];

	if (!more) range[0] = range[1] = v[0];
	for (int k = 0; k < LANES; k++) {
		least[k] = range[0];
		most[k] = range[1];
	}
	for (; n >= LANES; n -= LANES, v += LANES) {
#pragma omp simd
		for (int k = 0; k < LANES; k++) {
			least[k] = v[k] < least[k] ? v[k] : least[k];
			most[k] = v[k] > most[k] ? v[k] : most[k];
		}
	}
	for (int k = 0; k < n; k++) {
		least[k] = v[k] < least[k] ? v[k] : least[k];
		most[k] = v[k] > most[k] ? v[k] : most[k];
	}
	for (int k = 0; k < LANES; k++) {
		range[0] = least[k] < range[0] ? least[k] : range[0];
		range[1] = most[k] > range[1] ? most[k] : range[1];
	}
}

int iso_writer_open(struct iso_writer *w, const char *path, const struct iso_array *shape,
                    const iso_real range[2])
{
	const struct iso_format *f = find_format(path);
	struct iso_writer r = { .format = f, .a = *shape, .left = shape->n };
	char values[PATH_MAX];
	int st;

	if (!f || !f->lead) return iso_kind_unknown(ISO_EARG, path, ISO_ARRAY_FILE, true);
	r.a.v = NULL;
	if ((st = check_array(&r.a, path)) || (st = iso_format_values(values, path))) return st;
	if (*values) st = iso_out_open(&r.head, path, 0, ISO_OUT_PLAIN);
	if (!st)
		st = iso_out_open(&r.o, *values ? values : path, f->gzip ? 0 : r.a.n * (int64_t)sizeof *r.a.v,
		                  f->gzip ? ISO_OUT_GZIP : ISO_OUT_PLAIN);
	r.o.size = r.a.n * (int64_t)sizeof *r.a.v;
	if (!st) st = f->lead(*values ? &r.head : &r.o, &r.a, range);
	if (st) iso_writer_free(&r);
	*w = r;
	return st;
}

/* The next n elements, where `left` are left behind them: to the end of what the file still lacks, turned round. */
static int put_back_to_front(struct iso_out *o, int64_t left, int64_t n, const iso_real *v)
{
	iso_real piece[1 << 13];
	int st = ISO_OK;

	for (int64_t i = 0, m; i < n && !st && !o->mute; i += m) {
		m = n - i < (int64_t)(sizeof piece / sizeof *piece) ? n - i
		                                                    : (int64_t)(sizeof piece / sizeof *piece);
		for (int64_t j = 0; j < m; j++) piece[m - 1 - j] = v[i + j];
		st = iso_stop_check(o->ctx, o->path);
		if (!st)
			st = iso_write_at(o->path, o->fd, piece, m * (int64_t)sizeof *v,
			                  (left + n - i - m) * (int64_t)sizeof *v);
	}
	return st;
}

int iso_writer_put(struct iso_writer *w, int64_t n, const iso_real *v)
{
	if (n > w->left)
		return iso_fail(ISO_EARG,
		                "%s: %" PRId64 " elements to write, %" PRId64 " are left of the array",
		                w->o.path, n, w->left);
	w->left -= n;
	if (w->format->values) return put_back_to_front(&w->o, w->left, n, v);
	return iso_out_write(&w->o, v, n * (int64_t)sizeof *v);
}

int iso_writer_finish(struct iso_writer *w, const char *sidecar)
{
	char *text = NULL;
	int st;

	if (w->left > 0)
		return iso_fail(ISO_EARG, "%s: %" PRId64 " of %" PRId64 " elements are missing", w->o.path,
		                w->left, w->a.n);
	if (w->format->sidecar && (st = w->format->sidecar(&text, w->o.path, &w->a, sidecar))) return st;
	struct iso_out *files[] = { &w->head, &w->o };
	bool two = w->format->values;

	st = iso_target_finish_all(two ? 2 : 1, two ? files : files + 1, text ? text : sidecar);
	free(text);
	return st;
}

void iso_writer_free(struct iso_writer *w)
{
	iso_out_free(&w->o);
	iso_out_free(&w->head);
	*w = (struct iso_writer){ 0 };
}

int iso_write(const char *path, const struct iso_array *a, const char *sidecar)
{
	return path && a ? iso_write_on(NULL, path, a, sidecar) : iso_fail_null(__func__);
}

int iso_write_on(const iso_ctx *ctx, const char *path, const struct iso_array *a, const char *sidecar)
{
	const struct iso_format *f = find_format(path);
	struct iso_writer w = { 0 };
	iso_real range[2] = { 0 };
	int st;

	if (!a->v) return iso_fail(ISO_EARG, "%s: the array to write has no data", path);
	if (f && f->ranged && a->n > 0) iso_range(range, a->n, a->v, false);
	if ((st = iso_writer_open(&w, path, a, range))) return st;
	w.o.ctx = ctx;
	st = iso_writer_put(&w, a->n, a->v);
	if (!st) st = iso_writer_finish(&w, sidecar);
	iso_writer_free(&w);
	return st;
}
