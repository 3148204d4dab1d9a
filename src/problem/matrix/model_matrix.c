/* SPDX-License-Identifier: BSD-3-Clause */
/* Model matrix as a problem: a system matrix of the user's own, as SciPy stores sparse matrices. Rows are data, columns are
   voxels, x fastest. */
#include "problem/problem.h"

#include "core/size.h"
#include "file/npz.h"
#include "model/matrix/matrix.h"

struct matrix_problem {
	iso_problem *p;
	/* options */
	const char *matrix, *data, *norm, *additive;
	int64_t size[3];
	double voxel[3], centre[3];
	/* what they name */
	int64_t rows, columns;
	struct matrix_lines lines; /* by rows */
	struct iso_array counts, factors, add;
};

static void params(struct opt *table, void *self)
{
	struct matrix_problem *m = self;
	const struct opt own[] = {
		{ 0, "matrix", .text = &m->matrix, .file = OPT_READS, .value = "FILE",
		  .help = "system matrix (rows of data, voxels) as scipy.sparse.save_npz writes it (.npz), "
		          "csr or csc; a voxel is column ix + NX (iy + NY iz)" },
		{ 0, "data", .text = &m->data, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "counts, one for each row of the matrix" },
		{ 0, "norm", .text = &m->norm, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "factor of each row, such as efficiency and attenuation; 0 leaves the row out" },
		{ 0, "additive", .text = &m->additive, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE", .help = "mean of randoms and scatter of each row, in counts" },
		{ 0, "grid", .integer = m->size, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
		  .max = 1e15, .absent = "the grid of the image, if one is given",
		  .help = "number of voxels, as many as the matrix has columns" },
		{ 0, "voxel", .real = m->voxel, .unit = "mm", .count = 3, .spread = true, .value = "DX,DY,DZ",
		  .min = 1e-6, .max = 1e6, .help = "size of a voxel" },
		{ 0, "centre", .real = m->centre, .unit = "mm", .count = 3, .value = "X,Y,Z",
		  .help = "centre of the image, mm" },
		{ 0 },
	};

	_Static_assert(sizeof own <= MODEL_PARAMS * sizeof *own, "room for the parameters");
	*m = (struct matrix_problem){ .voxel = { 1, 1, 1 } };
	memcpy(table, own, sizeof own);
}

/* ---- the matrix ---- */

static void free_lines(struct matrix_lines *l)
{
	free(l->start);
	free(l->at);
	free(l->w);
	*l = (struct matrix_lines){ 0 };
}

/* Places that 32 bits hold. */
static int narrow(int32_t **to, const int64_t *from, int64_t n, int64_t places, const char *path)
{
	if (!(*to = size_alloc(n, sizeof **to))) return iso_fail_memory(path, n * (int64_t)sizeof **to);
	for (int64_t i = 0; i < n; i++) {
		if (from[i] < 0 || from[i] >= places)
			return iso_refuse(path, "index %" PRId64 " is %" PRId64 ", must be 0 to %" PRId64, i,
			                  from[i], places - 1);
		(*to)[i] = (int32_t)from[i];
	}
	return ISO_OK;
}

/* Starts that rise from 0 to the number of elements. */
static int check_starts(const int64_t *start, int64_t lines, int64_t elements, const char *path)
{
	bool good = start[0] == 0 && start[lines] == elements;

	for (int64_t i = 0; i < lines && good; i++) good = start[i] <= start[i + 1];
	return good ? ISO_OK : iso_refuse(path, "its indptr does not rise from 0 to %" PRId64, elements);
}

/* Lines of the file: rows of csr, columns of csc. */
static int read_lines(struct matrix_lines *l, int64_t lines, int64_t places, const char *path)
{
	int64_t n = 0, starts = 0, elements = 0, *at = NULL;
	int st = iso_npz_integers(&l->start, &starts, path, "indptr");

	if (!st) st = iso_npz_integers(&at, &n, path, "indices");
	if (!st) st = iso_npz_reals(&l->w, &elements, path, "data");
	if (!st && (starts != lines + 1 || n != elements))
		st = iso_refuse(path,
		                "%" PRId64 " values of indptr, %" PRId64 " of indices, %" PRId64
		                " of data; must be %" PRId64 ", and two equal numbers",
		                starts, n, elements, lines + 1);
	if (!st) st = check_starts(l->start, lines, elements, path);
	if (!st) st = narrow(&l->at, at, n, places, path);
	free(at);
	if (st) free_lines(l);
	return st;
}

/* The columns of the file become rows. */
static int turn(struct matrix_problem *m, struct matrix_lines *columns)
{
	struct matrix_lines rows = { size_alloc(m->rows + 1, sizeof *rows.start),
		                     size_alloc(columns->start[m->columns] + 1, sizeof *rows.at),
		                     size_alloc(columns->start[m->columns] + 1, sizeof *rows.w) };
	bool room = rows.start && rows.at && rows.w;

	if (room)
		iso_matrix_transpose(&rows, m->rows, columns, m->columns);
	else
		free_lines(&rows);
	free_lines(columns);
	m->lines = rows;
	return room ? ISO_OK : iso_fail_memory(m->matrix, m->rows * (int64_t)sizeof *rows.start);
}

static int read_shape(struct matrix_problem *m)
{
	int64_t *shape = NULL, n = 0;
	int st = iso_npz_integers(&shape, &n, m->matrix, "shape");

	if (st) return st;
	bool fits = n == 2 && shape[0] > 0 && shape[1] > 0 && shape[0] < INT32_MAX && shape[1] < INT32_MAX;

	m->rows = fits ? shape[0] : 0;
	m->columns = fits ? shape[1] : 0;
	free(shape);
	return fits ? ISO_OK : iso_refuse(m->matrix, "its shape is not (rows, columns), each below 2^31");
}

static int read_matrix(struct matrix_problem *m)
{
	struct matrix_lines found = { 0 };
	char word[16];
	int st = iso_npz_word(word, m->matrix, "format");

	if (st) return st;
	bool by_rows = strcmp(word, "csr") == 0;

	if (!by_rows && strcmp(word, "csc") != 0)
		return iso_refuse(m->matrix,
		                  "a matrix of format '%s'; tocsr() of SciPy makes one that is read", word);
	if ((st = read_shape(m))) return st;
	st = read_lines(&found, by_rows ? m->rows : m->columns, by_rows ? m->columns : m->rows, m->matrix);
	if (!st && !by_rows) return turn(m, &found);
	m->lines = found;
	return st;
}

/* ---- grid and data ---- */

static int given_grid(struct iso_grid *g, const struct matrix_problem *m)
{
	if (!problem_given(m->p, "grid"))
		return iso_fail(ISO_EARG, "'grid' is missing: how the %" PRId64 " columns of %s are an image",
		                m->columns, m->matrix);
	for (int a = 0; a < 3; a++) {
		g->n[a] = m->size[a];
		g->voxel[a] = m->voxel[a];
		g->centre[a] = m->centre[a];
	}
	return ISO_OK;
}

static int load_grid(struct matrix_problem *m, const struct iso_grid *image)
{
	struct iso_grid *g = &m->p->found.grid;
	int st;

	if (problem_takes_grid(m->p, image))
		*g = *image;
	else if ((st = given_grid(g, m)) || (st = problem_check_grid(g, image)))
		return st;
	if (iso_grid_voxels(g) == m->columns) return ISO_OK;
	return iso_fail(ISO_EARG,
	                "the grid has %" PRId64 " x %" PRId64 " x %" PRId64 " = %" PRId64
	                " voxels, %s has %" PRId64 " columns",
	                g->n[0], g->n[1], g->n[2], iso_grid_voxels(g), m->matrix, m->columns);
}

/* A value for each row, of an array of any shape. */
static int read_rows(struct matrix_problem *m, struct iso_array *a, const char *path)
{
	struct record *record = m->p->record;
	int st = path ? record_read(record, a, path, ISO_NONNEGATIVE) : ISO_OK;

	if (st || !path || (st = record_input(record, path))) return st;
	if (a->n == m->rows) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, %s has %" PRId64 " rows", path, a->n, m->matrix,
	                m->rows);
}

static int load(iso_problem *problem, int need, const struct iso_grid *image)
{
	struct matrix_problem *m = problem->self;
	bool counts = need & MODEL_NEEDS_COUNTS;
	int st;

	m->p = problem;
	if (!m->matrix) return iso_fail(ISO_EARG, "'matrix' is missing: the system matrix");
	if (counts && !m->data) return iso_fail(ISO_EARG, "'data' is missing: the counts");
	if ((st = read_matrix(m)) || (st = record_input(problem->record, m->matrix)) ||
	    (st = load_grid(m, image)))
		return st;
	problem->found.unit = "counts";
	problem->found.rows = m->rows;
	problem->found.most_subsets = m->rows;
	if ((counts && (st = read_rows(m, &m->counts, m->data))) || (st = read_rows(m, &m->factors, m->norm)))
		return st;
	return need & MODEL_NEEDS_ADD ? read_rows(m, &m->add, m->additive) : ISO_OK;
}

static void unload(iso_problem *problem)
{
	struct matrix_problem *m = problem->self;

	free_lines(&m->lines);
	iso_array_free(&m->counts);
	iso_array_free(&m->factors);
	iso_array_free(&m->add);
}

static int copy(iso_real **to, const struct iso_array *from)
{
	int st = from->v ? model_vector(to, from->n, "data") : ISO_OK;

	if (!st && from->v) memcpy(*to, from->v, (size_t)from->n * sizeof **to);
	return st;
}

static int data(iso_problem *problem, struct model_data *d)
{
	struct matrix_problem *m = problem->self;
	int st;

	if ((st = copy(&d->y, &m->counts)) || (st = copy(&d->mult, &m->factors))) return st;
	return copy(&d->add, &m->add);
}

/* ---- the operator ---- */

static void plan(iso_problem *problem, struct iso_plan *lines, const struct model_subsets *s)
{
	struct matrix_problem *m = problem->self;
	int64_t elements = m->lines.start ? m->lines.start[m->rows] : 0;

	(void)s;
	iso_plan_add(lines, "matrix of the file", elements, 4 + sizeof(iso_real), false);
	iso_matrix_plan(lines, problem->ctx, m->rows, m->columns, elements);
}

static int op(iso_problem *problem, iso_op **made, const struct model_subsets *s)
{
	const struct matrix_problem *m = problem->self;
	const struct iso_matrix p = { m->rows, m->columns, m->lines, s->n, s->rule, s->seed };
	int st = iso_matrix_create(made, problem->ctx, &p);

	return st == ISO_EARG ? iso_fail(ISO_EINPUT, "%s: %s", m->matrix, iso_message()) : st;
}

static int sens_of_subsets(iso_problem *problem, iso_real *parts, iso_op *of)
{
	return model_sens_of_rows(parts, of, ((struct matrix_problem *)problem->self)->factors.v);
}

static int sens(iso_problem *problem, struct iso_array *s)
{
	iso_op *whole = NULL;
	int st = iso_array_on_grid(s, &problem->found.grid);

	if (!st) st = op(problem, &whole, &(struct model_subsets){ .n = 1 });
	if (!st) st = sens_of_subsets(problem, s->v, whole);
	iso_op_free(whole);
	return st;
}

const struct model model_matrix = {
	.name = "matrix",
	.title = "Model matrix",
	.about = "any system, by a sparse matrix of your own",
	.has = MODEL_COUNTS | MODEL_FEATURES,
	.bytes = sizeof(struct matrix_problem),
	.params = params,
	.row_name = "rows",
	.timeless = "rows have no times",
	.load = load,
	.unload = unload,
	.plan = plan,
	.op = op,
	.data = data,
	.sens = sens,
	.sens_of_subsets = sens_of_subsets,
};
