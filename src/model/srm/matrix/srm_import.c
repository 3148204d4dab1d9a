/* SPDX-License-Identifier: BSD-3-Clause */
/* A system matrix from the rows of another program, and back: plane, phase x, phase z, ux, uz, lx,
   lz, weight; with layers the two layers stand before the weight. */
#include "srm_matrix.h"
#include "core/size.h"

struct row {
	struct srm_column column;
	struct srm_lor lor;
	double w;
};

static int wide(int layers)
{
	return layers > 1 ? 10 : 8;
}

static int read_row(struct row *r, const struct srm_shape *s, const iso_real *v, int64_t i)
{
	const double far = 1e6;
	const struct {
		int *to;
		double low, high;
		const char *what;
	} field[] = {
		{ &r->column.y, 0, s->planes - 1, "plane" },
		{ &r->column.p[0], 0, s->d[0] - 1, "phase x" },
		{ &r->column.p[1], 0, s->d[1] - 1, "phase z" },
		{ &r->lor.u[0], -far, far, "ux" },
		{ &r->lor.u[1], -far, far, "uz" },
		{ &r->lor.l[0], -far, far, "lx" },
		{ &r->lor.l[1], -far, far, "lz" },
		{ &r->lor.a, 0, s->layers - 1, "upper layer" },
		{ &r->lor.b, 0, s->layers - 1, "lower layer" },
	};
	int n = wide(s->layers) - 1;

	*r = (struct row){ .w = (double)v[n] };
	for (int k = 0; k < n; k++) {
		double x = (double)v[k];

		if (!(x >= field[k].low && x <= field[k].high) || x != floor(x))
			return iso_fail(ISO_EINPUT,
			                "srm import: row %" PRId64 ": %s is %g, must be whole, in [%g, %g]",
			                i, field[k].what, x, field[k].low, field[k].high);
		*field[k].to = (int)x;
	}
	if (r->w >= 0 && r->w <= 1) return ISO_OK;
	return iso_fail(ISO_EINPUT, "srm import: row %" PRId64 ": weight is %g, must be in [0, 1]", i, r->w);
}

/* Into its folded column; `seen` keeps which of the column's images have rows, one bit each. */
static int take_row(iso_srm *m, uint8_t *seen, const struct row *r)
{
	int g = srm_fold(&m->shape, r->column);
	int64_t c = iso_srm_column_number(&m->shape, srm_column_image(&m->shape, r->column, g));
	struct srm_lor e = srm_image(r->lor, g);

	seen[c] |= (uint8_t)(1 << g);
	if (srm_shifts(&m->shape, e) == 0 || r->w == 0) return ISO_OK;
	return iso_srm_entries_push(
		&m->given[c],
		(struct srm_entry){ .at = (uint32_t)srm_position(&m->shape, e), .w = (iso_real)r->w });
}

/* Images of an element follow each other after sorting: their sum, over the images that have rows. */
static int finish_column(struct srm_entries *e, int seen, struct srm_column c)
{
	int images = __builtin_popcount((unsigned)seen), st;
	int64_t n = 0;

	if (images == 0)
		return iso_fail(ISO_EINPUT, "srm import: no row for plane %d, phase %d, %d or an image of it",
		                c.y, c.p[0], c.p[1]);
	if ((st = iso_srm_entries_sort(e))) return st;
	for (int64_t i = 0, k; i < e->n; i = k) {
		double sum = 0;

		for (k = i; k < e->n && e->v[k].at == e->v[i].at; k++) sum += (double)e->v[k].w;
		if (k - i > images)
			return iso_fail(
				ISO_EINPUT,
				"srm import: plane %d, phase %d, %d has rows for one pair of crystals twice",
				c.y, c.p[0], c.p[1]);
		e->v[n] = e->v[i];
		e->v[n++].w = (iso_real)(sum / images);
	}
	e->n = n;
	return ISO_OK;
}

static int take_rows(iso_srm *m, uint8_t *seen, const struct iso_array *rows)
{
	int width = wide(m->shape.layers), st = ISO_OK;
	struct row r;

	for (int64_t i = 0; i < rows->dim[0] && !st; i++) {
		st = read_row(&r, &m->shape, rows->v + i * width, i);
		if (!st) st = take_row(m, seen, &r);
	}
	for (int64_t c = 0; c < m->n_column && !st; c++)
		st = finish_column(&m->given[c], seen[c], iso_srm_column(&m->shape, c));
	return st;
}

int iso_srm_import(iso_srm **out, const struct iso_panels *p, const struct iso_array *rows)
{
	if (!out || !p || !rows) return iso_fail_null(__func__);
	struct iso_srm_options o = { .size = sizeof o };
	uint8_t *seen;
	iso_srm *m = NULL;
	int st;

	if (rows->n_dim != 2 || rows->dim[1] != wide(p->layers))
		return iso_fail(
			ISO_EINPUT,
			"srm import: an array of %d axes, the last of %" PRId64 ", must be rows of %d",
			rows->n_dim, rows->dim[rows->n_dim > 0 ? rows->n_dim - 1 : 0], wide(p->layers));
	if ((st = iso_srm_make(&m, p, &o, SRM_IMPORT))) return st;
	ISO_HOST(&m->room, m->given, m->n_column);
	st = ISO_HOST(&m->room, seen, m->n_column) ? take_rows(m, seen, rows) : m->room.status;
	iso_room_drop(&m->room, seen);
	return iso_srm_hand_out(out, m, st);
}

int iso_srm_export(struct iso_array *rows, const iso_srm *m)
{
	if (!rows || !m) return iso_fail_null(__func__);
	const struct srm_shape *s = &m->shape;
	int width = wide(s->layers), st;
	int64_t dim[2] = { m->n, width };

	if (!m->ptr) return iso_fail(ISO_EARG, "srm: no table to export yet");
	if ((st = iso_array_create(rows, 2, dim))) return st;
	for (int64_t c = 0; c < m->n_column; c++) {
		struct srm_column column = iso_srm_column(s, c);

		for (int64_t i = m->ptr[c]; i < m->ptr[c + 1]; i++) {
			struct srm_lor e = srm_at(s, m->at[i]);
			const int v[9] = { column.y, column.p[0], column.p[1], e.u[0], e.u[1],
				           e.l[0],   e.l[1],      e.a,         e.b };

			for (int k = 0; k < width - 1; k++) rows->v[i * width + k] = (iso_real)v[k];
			rows->v[i * width + width - 1] = m->w[i];
		}
	}
	return ISO_OK;
}
