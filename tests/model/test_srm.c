/* SPDX-License-Identifier: BSD-3-Clause */
/* The system matrix of two panels: the reference vectors rebuilt from every order, the analytic
   matrix against one without symmetry, runs that add up bit for bit, symmetries against none, files
   and what is refused; also built in double. */
#include "files.h"
#include "test.h"

#include "model/srm/matrix/srm_matrix.h"
#include "physics/material.h"

/* Two square cells of 2 mm, 8 x 6 x 4 crystals at most: seconds of transport. */
static struct iso_panels small(int nx, int nz, int d, int planes)
{
	return (struct iso_panels){
		.crystals = { nx, nz },
		.pitch = { 2, 2 },
		.crystal = { 1.8, 1.8, 6 },
		.gap = 10,
		.layers = 1,
		.formula = "Lu1.8Y0.2SiO5",
		.density = 7.1,
		.resolution = .2,
		.window = { 250, 750 },
		.per_pitch = { d, d },
		.planes = planes,
		.plane = 8. / planes,
	};
}

static const struct iso_srm_bound everything = { .share = 1 };

/* ---- the whole matrix, (LOR, voxel), from each order ---- */

struct dense {
	int nc[2], d[2], planes;
	int64_t lors, voxels;
	double *h;
	int *times; /* how often each place was written */
};

static struct dense blank(const struct iso_panels *p)
{
	struct dense m = { { p->crystals[0], p->crystals[1] },
		           { p->per_pitch[0], p->per_pitch[1] },
		           p->planes,
		           0,
		           0,
		           NULL,
		           NULL };
	int64_t face = (int64_t)m.nc[0] * m.nc[1];

	m.lors = face * face;
	m.voxels = face * m.d[0] * m.d[1] * m.planes;
	m.h = calloc((size_t)(m.lors * m.voxels), sizeof *m.h);
	m.times = calloc((size_t)(m.lors * m.voxels), sizeof *m.times);
	assert_non_null(m.h);
	assert_non_null(m.times);
	return m;
}

static void clear(struct dense *m)
{
	free(m->h);
	free(m->times);
}

static bool inside(const int c[2], const int n[2])
{
	return c[0] >= 0 && c[1] >= 0 && c[0] < n[0] && c[1] < n[1];
}

/* w for LOR (u, l) and the voxel (y, x, z), if all of them are in the scanner. */
static void put_weight(struct dense *m, const int u[2], const int l[2], int y, const int v[2], double w)
{
	int n[2] = { m->nc[0] * m->d[0], m->nc[1] * m->d[1] };

	if (!inside(u, m->nc) || !inside(l, m->nc) || !inside(v, n)) return;
	int64_t lor = ((u[0] * m->nc[1] + u[1]) * (int64_t)m->nc[0] + l[0]) * m->nc[1] + l[1];
	int64_t at = lor * m->voxels + ((int64_t)y * n[0] + v[0]) * n[1] + v[1];

	m->h[at] = w;
	m->times[at]++;
}

static struct dense from_columns(const struct iso_panels *p, iso_ctx *ctx, const iso_srm *s, int a, int b)
{
	struct dense m = blank(p);
	struct iso_srm_columns c;
	struct iso_srm_order o = { .a = a, .b = b };

	OK(iso_srm_columns(&c, ctx, s, &o));
	assert_int_equal(c.n, m.planes * m.d[0] * m.d[1]);
	for (int64_t k = 0; k < c.n; k++)
		for (int64_t i = c.ptr[k]; i < c.ptr[k + 1]; i++)
			for (int j = 0; j < m.nc[0] * m.nc[1]; j++) {
				int cell[2] = { j / m.nc[1], j % m.nc[1] };
				int u[2] = { cell[0] + c.pair[i].ux, cell[1] + c.pair[i].uz };
				int l[2] = { cell[0] + c.pair[i].lx, cell[1] + c.pair[i].lz };
				int v[2] = { cell[0] * m.d[0] + (int)(k / m.d[1] % m.d[0]),
					     cell[1] * m.d[1] + (int)(k % m.d[1]) };

				put_weight(&m, u, l, (int)(k / (m.d[0] * m.d[1])), v, (double)c.w[i]);
			}
	iso_srm_columns_free(&c);
	return m;
}

/* All shifts of one row element; x0, z0: mirrored (Dx-1-i, -dx). */
static void put_row(struct dense *m, int dx, int dz, struct iso_srm_voxel v, double w)
{
	for (int j = 0; j < m->nc[0] * m->nc[1]; j++) {
		int u[2] = { j / m->nc[1], j % m->nc[1] }, l[2] = { u[0] + dx, u[1] + dz };
		int at[2] = { u[0] * m->d[0] + v.i, u[1] * m->d[1] + v.k };

		put_weight(m, u, l, v.y, at, w);
	}
}

static void put_mirrors(struct dense *m, int dx, int dz, struct iso_srm_voxel v, double w)
{
	for (int g = 0; g < 4; g++) {
		struct iso_srm_voxel r = v;

		if (((g & 1) && dx == 0) || ((g & 2) && dz == 0)) continue;
		if (g & 1) r.i = (int16_t)(m->d[0] - 1 - v.i);
		if (g & 2) r.k = (int16_t)(m->d[1] - 1 - v.k);
		put_row(m, g & 1 ? -dx : dx, g & 2 ? -dz : dz, r, w);
	}
}

static void sorted(const struct iso_srm_rows *r, int64_t first, int64_t end, const int d[2])
{
	for (int64_t i = first + 1; i < end; i++) {
		const struct iso_srm_voxel *a = &r->voxel[i - 1], *b = a + 1;
		int pa = ((a->i % d[0] + d[0]) % d[0]) * d[1] + (a->k % d[1] + d[1]) % d[1];
		int pb = ((b->i % d[0] + d[0]) % d[0]) * d[1] + (b->k % d[1] + d[1]) % d[1];

		assert_true(a->y < b->y ||
		            (a->y == b->y &&
		             (pa < pb || (pa == pb && (a->i < b->i || (a->i == b->i && a->k < b->k))))));
	}
}

static struct dense from_rows(const struct iso_panels *p, iso_ctx *ctx, const iso_srm *s,
                              struct iso_srm_order o, bool taps)
{
	struct dense m = blank(p);
	struct iso_srm_rows r;

	OK((taps ? iso_srm_taps : iso_srm_rows)(&r, ctx, s, &o));
	for (int64_t k = 0; k < r.n; k++) {
		int64_t j = k % r.directions;
		int dx = (int)(o.is_unsigned ? j / m.nc[1] : j / (2 * m.nc[1] - 1) - m.nc[0] + 1);
		int dz = (int)(o.is_unsigned ? j % m.nc[1] : j % (2 * m.nc[1] - 1) - m.nc[1] + 1);

		sorted(&r, r.ptr[k], r.ptr[k + 1], m.d);
		for (int64_t i = r.ptr[k]; i < r.ptr[k + 1]; i++) {
			assert_true(!taps || r.voxel[i].y == k / r.directions);
			(o.is_unsigned ? put_mirrors : put_row)(&m, dx, dz, r.voxel[i], (double)r.w[i]);
		}
	}
	iso_srm_rows_free(&r);
	return m;
}

/* Largest difference over the largest value; no place was written twice. */
static double compare_dense(const struct dense *a, const double *want)
{
	double most = 0, off = 0;

	for (int64_t i = 0; i < a->lors * a->voxels; i++) {
		assert_in_range(a->times[i], 0, 1);
		off = fmax(off, fabs(a->h[i] - want[i]));
		most = fmax(most, want[i]);
	}
	assert_true(most > 0);
	return off / most;
}

/* Every order gives the matrix wanted. */
static void rebuilt(const struct iso_panels *p, const iso_srm *s, int a, int b, const double *want,
                    double tolerance)
{
	iso_ctx *ctx = cpu(2);

	for (int i = 0; i < 5; i++) {
		struct iso_srm_order o = { .a = a, .b = b, .is_unsigned = i > 2 };
		struct dense m = i == 0 ? from_columns(p, ctx, s, a, b) : from_rows(p, ctx, s, o, i % 2 == 0);

		NEAR(compare_dense(&m, want), 0, tolerance);
		clear(&m);
	}
	iso_ctx_free(ctx);
}

/* ---- reference vectors ---- */

static void *load(const char *name, const char *file, size_t bytes)
{
	char path[512];
	void *v = malloc(bytes);

	snprintf(path, sizeof path, TEST_DATA "/dualhead/%s/%s", name, file);
	assert_int_equal(get(path, v, bytes), bytes);
	return v;
}

/* The seed columns of a vector as rows. */
static struct iso_array seed_rows(const char *name, int n_ptr, int dx, int dz)
{
	int32_t *ptr = load(name, "col_ptr.i32", (size_t)n_ptr * 4);
	int n = ptr[n_ptr - 1];
	int32_t *lor = load(name, "col_lor.i32", (size_t)n * 16);
	double *val = load(name, "col_val.f64", (size_t)n * 8);
	struct iso_array a = { 0 };

	OK(iso_array_create(&a, 2, (int64_t[]){ n, 8 }));
	for (int c = 0; c + 1 < n_ptr; c++)
		for (int i = ptr[c]; i < ptr[c + 1]; i++) {
			iso_real *r = a.v + 8 * i;

			r[0] = (iso_real)(c / (dx * dz));
			r[1] = (iso_real)(c / dz % dx);
			r[2] = (iso_real)(c % dz);
			for (int k = 0; k < 4; k++) r[3 + k] = (iso_real)lor[4 * i + k];
			r[7] = (iso_real)val[i];
		}
	free(ptr);
	free(lor);
	free(val);
	return a;
}

static double *dense_of(const char *name, int64_t lors, int64_t voxels, int64_t nnz)
{
	if (!nnz) return load(name, "H.f64", (size_t)(lors * voxels) * 8);
	double *h = calloc((size_t)(lors * voxels), 8);
	int32_t *ptr = load(name, "csr_ptr.i32", ((size_t)lors + 1) * 4);
	int32_t *col = load(name, "csr_col.i32", (size_t)nnz * 4);
	double *val = load(name, "csr_val.f64", (size_t)nnz * 8);

	for (int64_t i = 0; i < lors; i++)
		for (int k = ptr[i]; k < ptr[i + 1]; k++) h[i * voxels + col[k]] = val[k];
	free(ptr);
	free(col);
	free(val);
	return h;
}

static void vector_matrix(const char *name, int nx, int nz, int planes, int64_t nnz, int64_t elements)
{
	struct iso_panels p = small(nx, nz, 2, planes);
	int64_t lors = (int64_t)nx * nz * nx * nz, voxels = (int64_t)4 * nx * nz * planes;
	struct iso_array rows = seed_rows(name, planes / 2 * 4 + 1, 2, 2);
	double *want = dense_of(name, lors, voxels, nnz);
	struct iso_srm_info info = { .size = sizeof info };
	iso_srm *m = NULL;
	iso_ctx *ctx = cpu(2);

	OK(iso_srm_import(&m, &p, &rows));
	OK(iso_srm_threshold(m, ctx, &everything));
	rebuilt(&p, m, 0, 0, want, TOLERANCE(1e-6, 1e-14));
	OK(iso_srm_info(&info, m));
	NEAR(info.bytes_full / 8, nnz ? (double)nnz : 14648, 0); /* non-zeros of the matrix */
	NEAR(info.bytes_column / 8, (double)elements / 2, 0);    /* half the planes */
	NEAR(info.kept, 1, 1e-15);
	iso_srm_free(m);
	iso_ctx_free(ctx);
	iso_array_free(&rows);
	free(want);
}

static void vectors(void **state)
{
	(void)state;
	vector_matrix("a", 4, 5, 4, 0, 2344);
	vector_matrix("b", 6, 8, 6, 114160, 8400);
}

/* Each LOR once: sum over directions of (Ncx-dx)(Ncz-dz) and over elements of what fits. */
static void each_lor_once(void **state)
{
	struct srm_shape s = { .nc = { 26, 52 }, .d = { 4, 4 }, .planes = 100, .layers = 1 };
	int64_t lors = 0;

	(void)state;
	for (int dx = 0; dx < 26; dx++)
		for (int dz = 0; dz < 52; dz++) {
			/* the cell at u: spread is |d| */
			struct srm_lor e = { { 0, 0 }, { dx, dz }, 0, 0 };

			lors += srm_shifts(&s, e) * (dx ? 2 : 1) * (dz ? 2 : 1);
		}
	assert_int_equal(lors, 1827904);
}

/* ---- the analytic matrix without symmetry ---- */

/* Overlap of the slopes of two crystals of one axis, from the middle of cell 0. */
static bool slope(double out[2], const struct iso_panels *p, int axis, int u, int l, double x, double up,
                  double down)
{
	double h = p->crystal[axis] / 2, q = p->pitch[axis];

	out[0] = fmax((u * q - h - x) / up, (x - l * q - h) / down);
	out[1] = fmin((u * q + h - x) / up, (x - l * q + h) / down);
	return out[1] > out[0];
}

static double angle(double a, double b)
{
	return atan(a * b / sqrt(1 + a * a + b * b));
}

static double point_weight(const struct iso_panels *p, const int u[2], const int l[2], double x, double y,
                           double z, int a, int b, double mu)
{
	double depth = p->crystal[2] / p->layers, s[2], t[2];
	double up = p->gap / 2 + (a + .5) * depth - y, down = p->gap / 2 + (b + .5) * depth + y;

	if (!slope(s, p, 0, u[0], l[0], x, up, down) || !slope(t, p, 1, u[1], l[1], z, up, down)) return 0;
	double c = (s[0] + s[1]) / 2, d = (t[0] + t[1]) / 2, m = mu * depth * sqrt(1 + c * c + d * d);
	double omega = angle(s[1], t[1]) - angle(s[0], t[1]) - angle(s[1], t[0]) + angle(s[0], t[0]);

	return omega / (2 * M_PI) * exp(-m * (a + b)) * pow(1 - exp(-m), 2);
}

static double voxel_weight(const struct iso_panels *p, const int u[2], const int l[2], int y, const int v[2],
                           int a, int b, double mu)
{
	double sx = p->pitch[0] / p->per_pitch[0], sz = p->pitch[1] / p->per_pitch[1], sum = 0;

	for (int i = 0; i < 32; i++) {
		double x = (v[0] + (i % 4 + .5) / 4) * sx - p->pitch[0] / 2;
		double z = (v[1] + (i / 4 % 4 + .5) / 4) * sz - p->pitch[1] / 2;
		double h = (y - p->planes / 2. + (i / 16 + .5) / 2) * p->plane;

		sum += point_weight(p, u, l, x, h, z, a, b, mu) / 32;
	}
	return sum;
}

static struct dense brute(const struct iso_panels *p, int a, int b, double mu)
{
	struct dense m = blank(p);
	int nx = m.nc[0] * m.d[0], nz = m.nc[1] * m.d[1];

	for (int64_t i = 0; i < m.lors; i++)
		for (int64_t k = 0; k < m.voxels; k++) {
			int l[2] = { (int)(i / m.nc[1] % m.nc[0]), (int)(i % m.nc[1]) };
			int64_t up = i / (m.nc[0] * m.nc[1]);
			int u[2] = { (int)(up / m.nc[1]), (int)(up % m.nc[1]) };
			int v[2] = { (int)(k / nz % nx), (int)(k % nz) };

			m.h[i * m.voxels + k] = voxel_weight(p, u, l, (int)(k / (nx * nz)), v, a, b, mu);
		}
	return m;
}

static void analytic_is_brute(struct iso_panels p)
{
	static struct iso_material material;
	float mu[3];
	iso_ctx *ctx = cpu(2);
	iso_srm *m = NULL;

	OK(iso_material_make(&material, p.formula, p.density));
	material_mu(mu, &material, 511);
	OK(iso_srm_analytic(&m, ctx, &p));
	OK(iso_srm_threshold(m, ctx, &everything));
	for (int a = 0; a < p.layers; a++)
		for (int b = 0; b < p.layers; b++) {
			struct dense want = brute(&p, a, b, (double)mu[2]);

			rebuilt(&p, m, a, b, want.h, TOLERANCE(1e-6, 1e-13));
			clear(&want);
		}
	iso_srm_free(m);
	iso_ctx_free(ctx);
}

static void analytic(void **state)
{
	struct iso_panels p = small(3, 4, 2, 4);

	(void)state;
	analytic_is_brute(p);
	p = small(3, 2, 3, 5); /* odd phases, odd planes */
	analytic_is_brute(p);
	p = small(2, 3, 2, 3); /* unequal pitches and phases, two layers */
	p.per_pitch[1] = 3;
	p.pitch[1] = 2.4;
	p.layers = 2;
	analytic_is_brute(p);
}

/* ---- transport: symmetries against none ---- */

static iso_srm *simulated(const struct iso_panels *p, struct iso_srm_options o, int threads, int64_t first,
                          int64_t n)
{
	iso_ctx *ctx = cpu(threads);
	iso_srm *m = NULL;

	OK(iso_srm_create(&m, p, &o));
	OK(iso_srm_simulate(m, ctx, first, n, 0));
	iso_ctx_free(ctx);
	return m;
}

/* Counts of every element of one class of `m`, from the lists of `from`, which has used fewer
   symmetries: `both` leaves out what only one of the two orientations can hold. */
static void dense_counts(uint64_t *count, const iso_srm *m, int number, const iso_srm *from)
{
	for (int i = 0; i < from->n_class; i++) {
		const struct srm_class *k = &from->class_of[i];
		struct srm_cursor c = iso_srm_list_begin(&from->counts[i].list);
		bool swapped = m->shape.swap && k->column.p[0] > k->column.p[1];

		if (iso_srm_class(&m->shape, k->column) != number) continue;
		while (iso_srm_list_next(&c)) {
			struct srm_lor e = srm_element(from->shape.reach, from->shape.layers, c.key);

			if (m->shape.swap && (srm_shifts(&m->shape, e) == 0 ||
			                      srm_shifts(&m->shape, srm_image(e, SRM_SWAP)) == 0))
				continue;
			if (swapped) e = srm_image(e, SRM_SWAP);
			count[srm_canonical(&m->shape, m->class_of[number].stays, e)] += c.count;
		}
	}
}

/* Pairs that could have given the counts of a class. */
static double exposure(const iso_srm *m, int number, const iso_srm *from)
{
	double n = 0;
	int g[8];

	for (int i = 0; i < from->n_class; i++)
		if (iso_srm_class(&m->shape, from->class_of[i].column) == number)
			n += (double)from->pairs * iso_srm_voxels(g, from, i);
	return n;
}

struct chi {
	double square;
	int bins;
};

static void add_bin(struct chi *c, double a, double b, double na, double nb)
{
	if (a + b == 0) return;
	c->square += (a * nb - b * na) * (a * nb - b * na) / (na * nb * (a + b));
	c->bins++;
}

/* Elements with fewer counts share a bin of their own. */
static void compare_class(struct chi *c, const iso_srm *a, int number, const iso_srm *b)
{
	uint64_t n = srm_numbers(a->shape.reach, a->shape.layers);
	uint64_t *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
	double na = exposure(a, number, a), nb = exposure(a, number, b), rest[2] = { 0 };

	dense_counts(x, a, number, a);
	dense_counts(y, a, number, b);
	for (uint64_t i = 0; i < n; i++) {
		if (x[i] + y[i] >= 20) {
			add_bin(c, (double)x[i], (double)y[i], na, nb);
		} else {
			rest[0] += (double)x[i];
			rest[1] += (double)y[i];
		}
	}
	add_bin(c, rest[0], rest[1], na, nb);
	free(x);
	free(y);
}

static void alike(const iso_srm *a, const iso_srm *b)
{
	struct chi c = { 0 };

	for (int i = 0; i < a->n_class; i++) compare_class(&c, a, i, b);
	assert_true(c.bins > 100);
	if (fabs(c.square - c.bins) > 5 * sqrt(2. * c.bins))
		fail_msg("chi-square %g over %d bins", c.square, c.bins);
}

static void compare_symmetries(struct iso_panels p, int64_t pairs, bool swap)
{
	iso_srm *a =
		simulated(&p, (struct iso_srm_options){ .size = sizeof(struct iso_srm_options), .seed = 1 },
	                  2, 0, 8 * pairs);
	iso_srm *b = simulated(&p,
	                       (struct iso_srm_options){ .size = sizeof(struct iso_srm_options),
	                                                 .seed = 2,
	                                                 .symmetry = ISO_SRM_NONE },
	                       2, 0, pairs);

	assert_int_equal(a->shape.swap, swap);
	assert_false(b->shape.swap);
	alike(a, b);
	iso_srm_free(a);
	iso_srm_free(b);
}

static void symmetries(void **state)
{
	struct iso_panels p = small(4, 6, 2, 4);

	(void)state;
	compare_symmetries(p, 150000, true);
	p = small(4, 4, 3, 3); /* a voxel that is its own image by everything */
	compare_symmetries(p, 150000, true);
	p = small(4, 4, 2, 3);
	p.pitch[1] = 2.4;
	p.layers = 2;
	p.readout = ISO_READ_CRYSTAL;
	compare_symmetries(p, 150000, false);
}

/* Combined outcomes have the same mean; their noise is not that of counts, so sums are compared:
   over pairs of a class they vary by no more than m^2 times a plain run's. */
static void outcomes(void **state)
{
	struct iso_panels p = small(4, 4, 2, 2);
	iso_srm *a =
		simulated(&p, (struct iso_srm_options){ .size = sizeof(struct iso_srm_options), .seed = 1 },
	                  2, 0, 400000);
	iso_srm *b = simulated(
		&p,
		(struct iso_srm_options){ .size = sizeof(struct iso_srm_options), .seed = 2, .outcomes = 3 },
		2, 0, 100000);

	(void)state;
	for (int i = 0; i < a->n_class; i++) {
		double x = (double)a->counts[i].recorded / 4e5;
		double y = (double)b->counts[i].recorded / 9e5;

		NEAR(x, y, 5 * sqrt(x / 4e5 + y / 1e5));
		assert_true(b->counts[i].list.n > a->counts[i].list.n / 2);
	}
	iso_srm_free(a);
	iso_srm_free(b);
}

/* ---- runs that add up ---- */

static void same_counts(const iso_srm *a, const iso_srm *b)
{
	assert_int_equal(a->n_class, b->n_class);
	assert_int_equal(a->pairs, b->pairs);
	for (int i = 0; i < a->n_class; i++) {
		const struct srm_list *x = &a->counts[i].list, *y = &b->counts[i].list;

		assert_int_equal(x->bytes, y->bytes);
		assert_memory_equal(x->v, y->v, (size_t)x->bytes);
		assert_int_equal(a->counts[i].recorded, b->counts[i].recorded);
	}
}

static void parts_make_the_whole(void **state)
{
	struct iso_panels p = small(4, 6, 2, 2);
	struct iso_srm_options o = { .size = sizeof o, .seed = 5 };
	iso_srm *whole = simulated(&p, o, 2, 0, 300000);
	iso_srm *first = simulated(&p, o, 1, 0, 100000), *last = simulated(&p, o, 2, 100000, 200000);
	iso_ctx *ctx = cpu(2);
	uint64_t seed;
	int64_t from, n;

	(void)state;
	OK(iso_srm_add(last, first));
	same_counts(last, whole);
	assert_int_equal(last->n_range, 1);
	iso_srm_run(&seed, &from, &n, last, 0);
	assert_int_equal(from, 0);
	assert_int_equal(n, 300000);
	REFUSED(iso_srm_add(last, first), ISO_EARG, "pairs 0 to 99999 of seed 5 are in it already");
	OK(iso_srm_simulate(first, ctx, 100000, 200000, 0));
	same_counts(first, whole);
	REFUSED(iso_srm_simulate(first, ctx, 299999, 10, 0), ISO_EARG, "already");
	OK(iso_srm_threshold(first, ctx, &(struct iso_srm_bound){ .share = .8 }));
	OK(iso_srm_threshold(whole, ctx, &(struct iso_srm_bound){ .share = .8 }));
	assert_int_equal(first->n, whole->n);
	assert_memory_equal(first->w, whole->w, (size_t)whole->n * sizeof *whole->w);
	iso_ctx_free(ctx);
	iso_srm_free(whole);
	iso_srm_free(first);
	iso_srm_free(last);
}

/* Cancelled before the end, it has whole rounds only. */
static void stop(void *arg, const struct iso_progress *p)
{
	if (p->done > p->total / 2) iso_ctx_cancel(*(iso_ctx **)arg);
}

static void interrupted(void **state)
{
	struct iso_panels p = small(4, 4, 2, 2);
	struct iso_srm_options o = { .size = sizeof o, .seed = 5 };
	iso_srm *m = NULL, *want;
	iso_ctx *ctx = cpu(2);

	(void)state;
	OK(iso_srm_create(&m, &p, &o));
	iso_ctx_set_progress(ctx, stop, &ctx);
	assert_int_equal(iso_srm_simulate(m, ctx, 0, 1000000, 0), ISO_ECANCEL);
	assert_in_range(m->pairs, 200000, 999999);
	want = simulated(&p, o, 2, 0, m->pairs);
	same_counts(m, want);
	iso_srm_free(m);
	iso_srm_free(want);
	iso_ctx_free(ctx);
}

static void until_counts(void **state)
{
	struct iso_panels p = small(4, 4, 2, 2);
	struct iso_srm_info info = { .size = sizeof info };
	iso_srm *m = NULL;
	iso_ctx *ctx = cpu(2);

	(void)state;
	OK(iso_srm_create(&m, &p,
	                  &(struct iso_srm_options){ .size = sizeof(struct iso_srm_options), .seed = 1 }));
	OK(iso_srm_simulate(m, ctx, 0, 100000000, 800));
	OK(iso_srm_threshold(m, ctx, &everything));
	OK(iso_srm_info(&info, m));
	assert_true(info.core_counts >= 800 && info.core_counts < 1000);
	assert_int_equal(info.classes, 1); /* planes by exchange, phases by mirrors */
	assert_int_equal(info.voxels, 1);
	iso_srm_free(m);
	iso_ctx_free(ctx);
}

/* ---- the bound ---- */

static void bounds(void **state)
{
	struct iso_panels p = small(6, 6, 2, 4);
	struct iso_srm_bound b = { .share = .8 };
	iso_srm *m =
		simulated(&p, (struct iso_srm_options){ .size = sizeof(struct iso_srm_options), .seed = 1 },
	                  2, 0, 1000000);
	iso_ctx *ctx = cpu(2), *one = cpu(1);
	struct iso_srm_info all = { .size = sizeof all }, info = { .size = sizeof info };
	int64_t n;

	(void)state;
	OK(iso_srm_threshold(m, ctx, &everything));
	OK(iso_srm_info(&all, m));
	assert_int_equal(all.elements, all.usable_elements);
	NEAR(all.kept, 1, 1e-12);
	OK(iso_srm_threshold(m, one, &b));
	OK(iso_srm_info(&info, m));
	assert_true(info.kept >= .8 && info.kept < .82);
	assert_true(info.lost_least <= info.lost && info.lost <= info.lost_most);
	n = info.elements;
	OK(iso_srm_threshold(m, ctx, &b)); /* as with one thread */
	assert_int_equal(m->n, n);
	for (int64_t i = 0; i < m->n; i++) assert_true((double)m->w[i] >= info.least_weight);
	b = (struct iso_srm_bound){ .min_weight = info.least_weight };
	OK(iso_srm_threshold(m, ctx, &b));
	assert_int_equal(m->n, n);
	b = (struct iso_srm_bound){ .per_column = 100 };
	OK(iso_srm_threshold(m, ctx, &b));
	assert_true(m->n <= 100 * m->n_column && m->n > 20 * m->n_column);
	b = (struct iso_srm_bound){ .share = 1, .max_offset = 1 };
	OK(iso_srm_threshold(m, ctx, &b));
	for (int64_t i = 0; i < m->n; i++) {
		struct srm_lor e = srm_at(&m->shape, m->at[i]);

		assert_in_range(e.l[0] - e.u[0] + 1, 0, 2);
		assert_in_range(e.l[1] - e.u[1] + 1, 0, 2);
	}
	OK(iso_srm_info(&info, m));
	assert_true(info.kept < 1 && info.kept > 0);
	REFUSED(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ .share = 1.5 }), ISO_EARG, "share is");
	REFUSED(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ .share = NAN }), ISO_EARG, "share is");
	REFUSED(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ 0 }), ISO_EARG, "0 bounds");
	REFUSED(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ .share = 1, .min_weight = .1 }), ISO_EARG,
	        "2 bounds");
	iso_srm_free(m);
	iso_ctx_free(ctx);
	iso_ctx_free(one);
}

/* ---- files ---- */

static void round_trip(void **state)
{
	struct iso_panels p = small(4, 6, 2, 3);
	struct iso_srm_options o = { .size = sizeof o,
		                     .seed = 9,
		                     .transport = { .acollinearity = true, .positron = "C-11" } };
	iso_srm *m = simulated(&p, o, 2, 0, 50000), *r = NULL;
	struct iso_srm_info a = { .size = sizeof a }, b = { .size = sizeof b };
	iso_ctx *ctx = cpu(2);

	(void)state;
	OK(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ .share = .9 }));
	OK(iso_srm_write("m.srm", m, false, "a command", NULL));
	OK(iso_srm_read(&r, "m.srm", true));
	same_counts(r, m);
	OK(iso_srm_info(&a, m));
	OK(iso_srm_info(&b, r));
	assert_string_equal(b.command, "a command");
	assert_string_equal(b.options.transport.positron, "C-11");
	assert_true(b.options.transport.acollinearity && !b.options.transport.centroid);
	assert_int_equal(a.elements, b.elements);
	assert_memory_equal(&a.panels, &b.panels, sizeof a.panels);
	NEAR(a.core_counts, b.core_counts, 0);
	NEAR(a.kept, b.kept, 0);
	NEAR(a.bytes_full, b.bytes_full, 0);
	assert_memory_equal(m->at, r->at, (size_t)m->n * sizeof *m->at);
	for (int64_t i = 0; i < m->n; i++) NEAR((double)m->w[i], (double)r->w[i], 1e-7 * (double)m->w[i]);
	OK(iso_srm_simulate(r, ctx, 50000, 1000, 0)); /* goes on */
	iso_srm_free(r);
	iso_ctx_cancel(ctx);
	REFUSED(iso_srm_read_within(&r, ctx, "m.srm", true), ISO_ECANCEL, "m.srm: interrupted");
	iso_ctx_clear_cancel(ctx);

	OK(iso_srm_write("f.srm", m, true, NULL, NULL));
	OK(iso_srm_read(&r, "f.srm", true));
	assert_int_equal(r->n, m->n);
	assert_false(r->has_counts);
	REFUSED(iso_srm_simulate(r, ctx, 50000, 1000, 0), ISO_EARG, "can't be continued");
	REFUSED(iso_srm_add(m, r), ISO_EARG, "can't be added");
	REFUSED(iso_srm_threshold(r, ctx, &everything), ISO_EARG, "can't be changed");
	iso_srm_free(r);
	iso_srm_free(m);
	iso_ctx_free(ctx);
	files(true);
}

/* Every byte that is turned, every length that is cut, is noticed. */
static void damaged(void **state)
{
	struct iso_panels p = small(2, 2, 2, 2);
	iso_srm *m = simulated(&p,
	                       (struct iso_srm_options){ .size = sizeof(struct iso_srm_options), .seed = 9 },
	                       1, 0, 2000),
		*r = NULL;
	iso_ctx *ctx = cpu(1);
	static unsigned char file[1 << 20];
	size_t n, padding = 0;

	(void)state;
	OK(iso_srm_threshold(m, ctx, &everything));
	OK(iso_srm_write("m.srm", m, false, NULL, NULL));
	n = get("m.srm", file, sizeof file);
	assert_true(n > 1000 && n < sizeof file);
	OK(iso_srm_read(&r, "m.srm", true));
	iso_srm_free(r);
	for (size_t i = 0; i < n; i += i < 64 ? 1 : 7) {
		file[i] ^= 0x10;
		put("d.srm", file, n);
		file[i] ^= 0x10;
		if (iso_srm_read(&r, "d.srm", true) == ISO_OK) {
			padding++; /* zeros between sections, and in the head */
			assert_int_equal(file[i], 0);
			iso_srm_free(r);
			r = NULL;
		}
	}
	assert_true(padding < 100);
	for (size_t i = 0; i < n; i += 1 + n / 50) {
		put("d.srm", file, i);
		assert_int_equal(iso_srm_read(&r, "d.srm", true), ISO_EINPUT);
	}
	REFUSED(iso_srm_read(&r, "none.srm", true), ISO_EINPUT, "none.srm");
	iso_srm_free(m);
	iso_ctx_free(ctx);
	files(true);
}

static void exported_rows(void **state)
{
	struct iso_panels p = small(3, 4, 3, 3);
	struct iso_array rows = { 0 };
	iso_srm *m = NULL, *back = NULL;
	iso_ctx *ctx = cpu(2);

	(void)state;
	p.layers = 2;
	OK(iso_srm_analytic(&m, ctx, &p));
	REFUSED(iso_srm_export(&rows, m), ISO_EARG, "no table");
	OK(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ .share = .9 }));
	OK(iso_srm_export(&rows, m));
	assert_int_equal(rows.dim[1], 10);
	OK(iso_srm_import(&back, &p, &rows));
	OK(iso_srm_threshold(back, ctx, &everything));
	assert_int_equal(back->n, m->n);
	assert_memory_equal(back->at, m->at, (size_t)m->n * sizeof *m->at);
	assert_memory_equal(back->w, m->w, (size_t)m->n * sizeof *m->w);
	rows.v[0] = (iso_real).5;
	REFUSED(iso_srm_import(&back, &p, &rows), ISO_EINPUT, "row 0: plane is 0.5");
	rows.v[0] = 0;
	rows.v[9] = 2;
	REFUSED(iso_srm_import(&back, &p, &rows), ISO_EINPUT, "weight is 2");
	rows.dim[0] = 1;
	rows.v[9] = (iso_real).01;
	REFUSED(iso_srm_import(&back, &p, &rows), ISO_EINPUT, "no row for plane");
	rows.dim[1] = 9;
	REFUSED(iso_srm_import(&back, &p, &rows), ISO_EINPUT, "must be rows of 10");
	iso_array_free(&rows);
	iso_srm_free(back);
	iso_srm_free(m);
	iso_ctx_free(ctx);
}

/* ---- refusals ---- */

static void refusals(void **state)
{
	struct iso_panels p = small(4, 4, 2, 2), q = p;
	struct iso_srm_options all = { .size = sizeof all, .symmetry = ISO_SRM_ALL };
	iso_srm *m = NULL;

	(void)state;
	q.pitch[1] = 2.4;
	REFUSED(iso_srm_create(&m, &q, &all), ISO_EARG, "x and z can't be swapped: pitch 2 and 2.4");
	q = p;
	q.per_pitch[0] = 4;
	REFUSED(iso_srm_create(&m, &q, &all), ISO_EARG, "4 and 2 voxels");
	q = p;
	q.readout = ISO_READ_BLOCK;
	q.block = 2;
	REFUSED(iso_srm_create(&m, &q, &(struct iso_srm_options){ .size = sizeof(struct iso_srm_options) }),
	        ISO_EARG, "readout by block");
	q = small(200, 200, 2, 2);
	REFUSED(iso_srm_create(&m, &q, &(struct iso_srm_options){ .size = sizeof(struct iso_srm_options) }),
	        ISO_EARG, "at most 2^32");
	REFUSED(iso_srm_create(
			&m, &p,
			&(struct iso_srm_options){ .size = sizeof(struct iso_srm_options), .outcomes = 9 }),
	        ISO_EARG, "9 outcomes");
	REFUSED(iso_srm_create(&m, &p,
	                       &(struct iso_srm_options){ .size = sizeof(struct iso_srm_options),
	                                                  .transport.positron = "Fe" }),
	        ISO_EARG, "'Fe'");
	assert_null(m);
}

/* ---- CUDA: the same histories, rounding apart ---- */

/* Counts that differ, over all elements. */
static uint64_t difference(const iso_srm *a, const iso_srm *b)
{
	uint64_t n = srm_numbers(a->shape.reach, a->shape.layers), off = 0;

	for (int k = 0; k < a->n_class; k++) {
		uint64_t *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);

		dense_counts(x, a, k, a);
		dense_counts(y, a, k, b);
		for (uint64_t i = 0; i < n; i++) off += x[i] > y[i] ? x[i] - y[i] : y[i] - x[i];
		free(x);
		free(y);
	}
	return off;
}

static iso_srm *on(iso_ctx *ctx, const struct iso_panels *p, struct iso_srm_options o)
{
	iso_srm *m = NULL;

	OK(iso_srm_create(&m, p, &o));
	OK(iso_srm_simulate(m, ctx, 0, 300000, 0)); /* in two runs */
	OK(iso_srm_simulate(m, ctx, 300000, 100000, 0));
	return m;
}

static void on_device(iso_ctx *ctx)
{
	struct iso_panels p = small(6, 6, 2, 3);

	for (int m = 1; m <= 2; m++) {
		struct iso_srm_options o = { .size = sizeof o, .seed = 3, .outcomes = m };
		iso_srm *a = on(ctx, &p, o), *b = simulated(&p, o, 2, 0, 400000), *c;
		double recorded = 0;

		for (int i = 0; i < a->n_class; i++) recorded += (double)a->counts[i].recorded;
		assert_true(recorded > 10000);
		BELOW((double)difference(a, b), .005 * recorded); /* rounding decides */
		o.seed = 4;
		c = on(ctx, &p, o);
		if (m == 1) alike(c, b);
		assert_true((double)difference(c, b) > .02 * recorded);
		iso_srm_free(a);
		iso_srm_free(b);
		iso_srm_free(c);
	}
}

/* Two layers, every voxel by itself: several voxels a class. */
static void on_device_without_symmetry(iso_ctx *ctx)
{
	struct iso_panels p = small(4, 4, 2, 2);
	struct iso_srm_options o = { .size = sizeof o, .seed = 3, .symmetry = ISO_SRM_NONE };
	iso_srm *a, *b;

	p.layers = 2;
	p.readout = ISO_READ_CRYSTAL;
	a = on(ctx, &p, o);
	b = simulated(&p, o, 2, 0, 400000);
	assert_true((double)difference(a, b) < .005 * (double)a->counts[0].recorded);
	iso_srm_free(a);
	iso_srm_free(b);
}

CUDA_TEST(cuda_without_symmetry, on_device_without_symmetry)
CUDA_TEST(cuda_same_histories, on_device)

/* ---- lists ---- */

static void lists(void **state)
{
	enum { N = 200000 }; /* long enough for several threads */
	uint64_t *key = calloc(N, sizeof *key);
	uint32_t *count = calloc(N, sizeof *count);
	struct srm_list a = { 0 }, b = { 0 }, sum = { 0 }, none = { 0 };
	int64_t i = 0;

	(void)state;
	for (int k = 0; k < N; k++) {
		key[k] = (uint64_t)k * (uint64_t)k * 3 + (k == N - 1 ? (uint64_t)1 << 62 : 0);
		count[k] = 1 + (uint32_t)k * 977 % 500;
	}
	OK(iso_srm_list_from(&a, key, count, N));
	for (int k = 0; k < N; k++) OK(iso_srm_list_push(&b, key[k], count[k]));
	assert_int_equal(a.bytes, b.bytes);
	assert_memory_equal(a.v, b.v, (size_t)a.bytes);
	OK(iso_srm_list_check(&a, (uint64_t)1 << 63, "a"));
	REFUSED(iso_srm_list_check(&a, (uint64_t)1 << 62, "a"), ISO_EINPUT, "damaged at element 199999");
	OK(iso_srm_list_add(&sum, &a, &b));
	struct srm_cursor c = iso_srm_list_begin(&sum);

	for (; iso_srm_list_next(&c); i++) {
		assert_true(c.key == key[i]);
		assert_int_equal(c.count, 2 * count[i]);
	}
	assert_int_equal(i, N);
	iso_srm_list_free(&sum);
	OK(iso_srm_list_add(&sum, &none, &a));
	assert_memory_equal(sum.v, a.v, (size_t)a.bytes);
	a.bytes--;
	REFUSED(iso_srm_list_check(&a, (uint64_t)1 << 63, "a"), ISO_EINPUT, "damaged");
	iso_srm_list_free(&sum);
	iso_srm_list_free(&a);
	iso_srm_list_free(&b);
	free(key);
	free(count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(each_lor_once),
		cmocka_unit_test(analytic),
		cmocka_unit_test(symmetries),
		cmocka_unit_test(outcomes),
		cmocka_unit_test(parts_make_the_whole),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(until_counts),
		cmocka_unit_test(bounds),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(damaged),
		cmocka_unit_test(exported_rows),
		cmocka_unit_test(refusals),
		cmocka_unit_test(lists),
		cmocka_unit_test(cuda_same_histories),
		cmocka_unit_test(cuda_without_symmetry),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
