/* SPDX-License-Identifier: BSD-3-Clause */
/* The three problems of the reference vectors of penalised likelihood (tests/data/priors): p1, a histogram with its
   matrix; p2 and p3, list mode without and with time of flight (tests/data/listmode). */
#ifndef MAP_PROBLEM_H
#define MAP_PROBLEM_H

#include "priors.h"

/* ---- an operator of a matrix: rows by subsets, row j of the file in subset j mod n_sub ---- */

struct matrix {
	iso_ctx *ctx;
	int64_t rows, columns;
	int64_t *first; /* rows + 1 */
	int *column;
	double *value;
	struct iso_rows *subset;
	int n_sub;
};

static inline struct iso_rows matrix_rows(const struct matrix *a, int sub)
{
	return sub == ISO_ALL ? (struct iso_rows){ 0, a->rows } : a->subset[sub];
}

static inline int matrix_forward(void *arg, int sub, iso_real *y, const iso_real *x)
{
	const struct matrix *a = arg;
	struct iso_rows r = matrix_rows(a, sub);

	for (int64_t j = r.first; j < r.first + r.n; j++) {
		double sum = 0;

		for (int64_t k = a->first[j]; k < a->first[j + 1]; k++) sum += a->value[k] * x[a->column[k]];
		y[j] = (iso_real)sum;
	}
	return ISO_OK;
}

static inline int matrix_adjoint(void *arg, int sub, iso_real *x, const iso_real *y)
{
	const struct matrix *a = arg;
	struct iso_rows r = matrix_rows(a, sub);
	double *sum = calloc((size_t)a->columns, sizeof *sum);

	assert_non_null(sum);
	for (int64_t j = r.first; j < r.first + r.n; j++)
		for (int64_t k = a->first[j]; k < a->first[j + 1]; k++)
			sum[a->column[k]] += a->value[k] * y[j];
	for (int64_t i = 0; i < a->columns; i++) x[i] = (iso_real)sum[i];
	free(sum);
	return ISO_OK;
}

static inline void matrix_free(void *arg)
{
	struct matrix *a = arg;

	free(a->first);
	free(a->column);
	free(a->value);
	free(a->subset);
	free(a);
}

/* Takes the matrix, whose rows are in the operator's order already. */
static inline iso_op *matrix_op(iso_ctx *ctx, struct matrix *a)
{
	iso_op *op = NULL;
	struct iso_custom c = { .size = sizeof c,
		                .n_in = a->columns,
		                .n_out = a->rows,
		                .n_sub = a->n_sub,
		                .rows = a->subset,
		                .forward = matrix_forward,
		                .adjoint = matrix_adjoint,
		                .free = matrix_free,
		                .arg = a };

	OK(iso_custom_create(&op, ctx, &c));
	return op;
}

/* Row i of the order by subsets is row order[i] of the file. */
static inline int64_t *dealt(int64_t rows, int n_sub, struct iso_rows *subset)
{
	int64_t *order = calloc((size_t)rows, sizeof *order), n = 0;

	assert_non_null(order);
	for (int b = 0; b < n_sub; b++) {
		subset[b].first = n;
		for (int64_t j = b; j < rows; j += n_sub) order[n++] = j;
		subset[b].n = n - subset[b].first;
	}
	return order;
}

/* ---- a problem ---- */

struct map_problem {
	const char *name;
	iso_ctx *ctx;
	iso_op *op;
	json_t *meta, *of;
	struct iso_grid grid;
	int64_t n;
	iso_real *y, *add, *mult, *sens, *start, *kappa, *anatomy;
};

static inline void *read_all(const char *path, int64_t skip, int64_t n, size_t item)
{
	void *v = calloc((size_t)n, item);
	FILE *f = fopen(path, "rb");

	if (!f) fail_msg("%s is not there", path);
	assert_non_null(v);
	assert_int_equal(fseek(f, (long)skip, SEEK_SET), 0);
	assert_int_equal(fread(v, item, (size_t)n, f), n);
	fclose(f);
	return v;
}

static inline int32_t *priors_indices(const char *name, int64_t n)
{
	char path[512];

	snprintf(path, sizeof path, "%s/priors/%s.npy", TEST_DATA, name);
	unsigned char *head = read_all(path, 0, 10, 1);
	int32_t *v = read_all(path, 10 + head[8] + 256 * head[9], n, sizeof *v);

	free(head);
	return v;
}

static inline iso_real *of_problem(const struct map_problem *p, const char *what, int64_t n)
{
	char name[64];

	snprintf(name, sizeof name, "%s_%s", p->name, what);
	return priors_image(name, n);
}

static inline iso_real *in_order(int64_t n, const int64_t *order, iso_real *v)
{
	iso_real *sorted = calloc((size_t)n, sizeof *sorted);

	assert_non_null(sorted);
	for (int64_t i = 0; i < n; i++) sorted[i] = v[order[i]];
	free(v);
	return sorted;
}

enum { P1_ROWS = 1287, P1_CHORDS = 11382 };

static inline void histogram(struct map_problem *p, int n_sub)
{
	struct matrix *a = calloc(1, sizeof *a);
	int32_t *first = priors_indices("p1_indptr", P1_ROWS + 1),
		*column = priors_indices("p1_indices", P1_CHORDS);
	double *value = priors_array("p1_chords", P1_CHORDS);
	int64_t k = 0;

	assert_non_null(a);
	*a = (struct matrix){ .ctx = p->ctx, .rows = P1_ROWS, .columns = p->n, .n_sub = n_sub };
	a->subset = calloc((size_t)n_sub, sizeof *a->subset);
	int64_t *order = dealt(P1_ROWS, n_sub, a->subset);

	a->first = calloc(P1_ROWS + 1, sizeof *a->first);
	a->column = calloc(P1_CHORDS, sizeof *a->column);
	a->value = calloc(P1_CHORDS, sizeof *a->value);
	for (int64_t i = 0; i < P1_ROWS; i++) {
		for (int32_t j = first[order[i]]; j < first[order[i] + 1]; j++, k++) {
			a->column[k] = column[j];
			a->value[k] = value[j];
		}
		a->first[i + 1] = k;
	}
	p->op = matrix_op(p->ctx, a);
	p->y = in_order(P1_ROWS, order, of_problem(p, "counts", P1_ROWS));
	p->add = in_order(P1_ROWS, order, of_problem(p, "add", P1_ROWS));
	p->mult = in_order(P1_ROWS, order, of_problem(p, "mult", P1_ROWS));
	p->sens = of_problem(p, "sens", p->n);
	free(order);
	free(first);
	free(column);
	free(value);
}

static inline iso_real *of_listmode(const char *name, int64_t n)
{
	char path[512];

	snprintf(path, sizeof path, "%s/listmode/%s.f64", TEST_DATA, name);
	double *v = read_all(path, 0, n, sizeof *v);
	iso_real *x = calloc((size_t)n, sizeof *x);

	for (int64_t i = 0; i < n; i++) x[i] = (iso_real)v[i];
	free(v);
	return x;
}

enum { LIST_EVENTS = 20181 };

static inline void list_mode(struct map_problem *p, int n_sub, double fwhm_ps, double add)
{
	struct iso_ray ray = { .size = sizeof ray, .grid = p->grid, .n_sub = n_sub, .tof_fwhm_ps = fwhm_ps };
	struct iso_events e = { 0 };

	OK(iso_events_read(&e, TEST_DATA "/listmode/events.lmdT", NULL));
	assert_int_equal(e.n, LIST_EVENTS);
	OK(iso_ray_create(&p->op, p->ctx, &ray, &e));
	iso_events_free(&e);
	p->mult = of_listmode("events_mult", LIST_EVENTS);
	p->sens = of_listmode("sens_full", p->n);
	p->add = calloc(LIST_EVENTS, sizeof *p->add);
	for (int j = 0; j < LIST_EVENTS; j++) p->add[j] = (iso_real)add;
}

static inline struct map_problem problem_begin(iso_ctx *ctx, const char *name, int n_sub)
{
	struct map_problem p = { .name = name, .ctx = ctx, .meta = priors_meta() };

	p.of = json_object_get(p.meta, name);
	p.grid = priors_grid(p.meta, name);
	p.n = iso_grid_voxels(&p.grid);
	if (!strcmp(name, "p1"))
		histogram(&p, n_sub);
	else if (!strcmp(name, "p2"))
		list_mode(&p, n_sub, 0, 0.30193236470222473);
	else
		list_mode(&p, n_sub, 390, 0.0016785633051767945);
	p.start = of_problem(&p, "start", p.n);
	p.kappa = of_problem(&p, "kappa", p.n);
	if (strcmp(name, "p3")) p.anatomy = of_problem(&p, "anat", p.n);
	return p;
}

static inline void problem_end(struct map_problem *p)
{
	iso_op_free(p->op);
	json_decref(p->meta);
	free(p->y);
	free(p->add);
	free(p->mult);
	free(p->sens);
	free(p->start);
	free(p->kappa);
	free(p->anatomy);
}

/* A penalty of meta.json's `solutions`, by its name. */
static inline struct iso_prior_spec problem_prior(const struct map_problem *p, const char *name)
{
	struct iso_prior_spec s = {
		.size = sizeof s,
		.grid = p->grid,
	};
	char word[32];

	snprintf(word, sizeof word, "%s", name);
	word[strcspn(word, "_")] = 0;
	OK(iso_prior_kind_of(&s.kind, word));
	if (s.kind == ISO_PRIOR_RDP) {
		OK(iso_prior_set(&s, "gamma", priors_number(p->of, "rdp_gamma")));
		OK(iso_prior_set(&s, "epsilon", priors_number(p->of, "rdp_epsilon")));
	}
	if (s.kind == ISO_PRIOR_LOGCOSH) OK(iso_prior_set(&s, "s", priors_number(p->of, "logcosh_s")));
	if (strstr(name, "kappa")) s.kappa = p->kappa;
	if (strstr(name, "bowsher")) {
		s.anatomy = p->anatomy;
		s.bowsher = 4;
	}
	return s;
}

static inline double solution_number(const struct map_problem *p, const char *penalty, const char *key)
{
	return priors_number(json_object_get(json_object_get(p->of, "solutions"), penalty), key);
}

/* From the start of the vectors, without guards. `s` must outlive it. */
static inline struct iso_map problem_map(const struct map_problem *p, const struct iso_prior_spec *s,
                                         enum iso_map_method method, double beta, int passes)
{
	return (struct iso_map){
		.size = sizeof(struct iso_map),
		.op = p->op,
		.data = { p->y, p->add, p->mult },
		.sens = { 1, iso_op_n_sub(p->op), p->sens },
		.method = method,
		.prior = s,
		.beta = beta,
		.passes = passes,
		.in_turn = true,
		.as_given = true,
		.guard = ISO_MAP_NO_GUARDS,
	};
}

/* Phi of an image. */
static inline double objective_of(const struct map_problem *p, const struct iso_prior_spec *s, double beta,
                                  const iso_real *x)
{
	struct iso_map map = problem_map(p, s, ISO_MAP_LBFGS, beta, 3);
	iso_map_state *m = NULL;
	int n;

	OK(iso_map_create(&m, &map, x));
	double phi = iso_map_looks(&n, m)[0].objective;

	iso_map_free(m);
	return phi;
}

static inline iso_real *copy_of(int64_t n, const iso_real *v)
{
	iso_real *x = calloc((size_t)n, sizeof *x);

	assert_non_null(x);
	memcpy(x, v, (size_t)n * sizeof *x);
	return x;
}

#endif
