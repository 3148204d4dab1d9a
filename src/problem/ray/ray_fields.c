/* SPDX-License-Identifier: BSD-3-Clause */
/* One image of all gates by model ray: displacement fields, maps of the gates, the sensitivity and the operator. */
#include "model_ray.h"

#include "core/size.h"

#include <math.h>
#include <string.h>

static const char *const axes_words[] = { "auto", "ras", "lps", NULL };

void ray_fields_params(struct opt *table, struct ray_gates *g)
{
	const struct opt own[RAY_FIELDS_PARAMS] = {
		{ 0, "fields", .text = &g->fields, .file = OPT_MAY_READ, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE,FILE,...",
		  .help = "displacement field of each gate (.nii, .nii.gz, .npy; none: the gate lies as the "
		          "image does). The result is one image of the events of all gates" },
		{ 0, "field-axes", .text = &g->axes, .words = axes_words, .with = "fields", .value = "AXES",
		  .help = "which way the components of 'fields' point, auto as the files say" },
		{ 0, "warp-mass", .flag = &g->mass, .with = "fields",
		  .help = "activity moves with the tissue, so that its sum is kept; else the concentration "
		          "does" },
	};

	g->axes = "auto";
	memcpy(table, own, sizeof own);
}

bool ray_fielded(const struct ray_problem *ray)
{
	return ray->gates.fields;
}

/* ---- the fields ---- */

static struct iso_warp warp_of(const struct ray_problem *ray, int gate, const struct iso_grid *grid,
                               bool mass)
{
	const struct iso_field *f = &ray->gates.field[gate];

	struct iso_warp w = { .size = sizeof w, .grid = *grid, .field = f->v, .mass = mass, .name = "field" };

	if (f->v) w.field_grid = f->grid;
	return w;
}

/* Whether the field can be used, and a warning where it folds. */
static int check_field(struct ray_problem *ray, int gate, const char *name)
{
	struct iso_warp_folds folds = { .size = sizeof folds };
	struct iso_warp w = warp_of(ray, gate, &ray->grid, ray->gates.mass);

	if (!ray->gates.field[gate].v) return ISO_OK;
	w.name = name;
	int st = iso_warp_jacobian(NULL, &folds, ray->p->ctx, &w);

	if (!st && folds.voxels > 0)
		record_warn(ray->p->record,
		            "%s: the field folds: det(1 + du/dx) is 0 or below in %" PRId64
		            " voxels, %g at least",
		            name, folds.voxels, folds.least);
	return st;
}

static int count_fields(const struct ray_problem *ray, int64_t n)
{
	if (n == ray->gates.is.n) return ISO_OK;
	return iso_fail(ISO_EARG, "'fields' has %" PRId64 " fields, expected one per gate (%d)", n,
	                ray->gates.is.n);
}

/* (gates, nz, ny, nx, 3) in place of files. */
static int take_array(struct ray_problem *ray, const struct iso_array *a)
{
	const int64_t *n = ray->grid.n, each = 3 * iso_grid_voxels(&ray->grid);
	int st = a->n_dim == 5 ? count_fields(ray, a->dim[0]) : ISO_OK;

	if (st) return st;
	if (a->n_dim != 5 || a->dim[1] != n[2] || a->dim[2] != n[1] || a->dim[3] != n[0] || a->dim[4] != 3)
		return iso_fail(ISO_EARG,
		                "'fields' is not an array (gates, nz, ny, nx, 3) of the image's %" PRId64
		                " x %" PRId64 " x %" PRId64 " voxels",
		                n[0], n[1], n[2]);
	for (int g = 0; g < ray->gates.is.n && !st; g++) {
		struct iso_field *f = &ray->gates.field[g];
		char name[40];

		f->grid = ray->grid;
		if (!(f->v = size_alloc(each, sizeof *f->v)))
			return iso_fail_memory("displacement fields", each * (int64_t)sizeof *f->v);
		memcpy(f->v, a->v + g * each, (size_t)each * sizeof *f->v);
		snprintf(name, sizeof name, "field %d", g);
		st = check_field(ray, g, name);
	}
	return st;
}

static int read_one(struct ray_problem *ray, int gate, const char *path)
{
	enum iso_field_axes axes = (enum iso_field_axes)opt_place(axes_words, ray->gates.axes);
	int st;

	if (strcmp(path, "none") == 0) return ISO_OK;
	if ((st = iso_field_read(&ray->gates.field[gate], path, axes, &ray->grid)) ||
	    (st = record_input(ray->p->record, path)))
		return st;
	return check_field(ray, gate, path);
}

/* Item k of a list between commas; false: there are fewer. */
static bool item_of(char path[PATH_MAX], const char *list, int k)
{
	for (; k > 0 && list; k--) list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
	if (list) snprintf(path, PATH_MAX, "%.*s", (int)strcspn(list, ","), list);
	return list;
}

static int64_t items_of(const char *list)
{
	int64_t n = 1;

	for (; *list; list++) n += *list == ',';
	return n;
}

static int read_files(struct ray_problem *ray)
{
	char path[PATH_MAX];
	int st = count_fields(ray, items_of(ray->gates.fields));

	for (int g = 0; g < ray->gates.is.n && !st; g++)
		if (item_of(path, ray->gates.fields, g)) st = read_one(ray, g, path);
	return st;
}

static int refuse(const struct ray_problem *ray)
{
	const char *sens = ray->p->s.sens;

	if (sens && strcmp(sens, "none") != 0 && problem_has_psf(ray->p))
		return iso_fail(ISO_EARG,
		                "'sens' can't be used with 'fields' and 'psf': the sensitivity of gates "
		                "holds the point spread function");
	if (ray->precorrected) return iso_fail(ISO_EARG, "'precorrected' can't be used with 'fields'");
	return ISO_OK;
}

int ray_fields_load(struct ray_problem *ray)
{
	struct ray_gates *g = &ray->gates;
	int st;

	if (!g->fields) return ISO_OK;
	if ((st = refuse(ray))) return st;
	if (!(g->field = size_alloc(g->is.n, sizeof *g->field)))
		return iso_fail_memory("displacement fields", g->is.n * (int64_t)sizeof *g->field);
	const struct iso_array *given = &record_given(ray->p->record, g->fields)->array;

	ray->p->found.psf_inside = true;
	if (!given->v) return read_files(ray);
	st = take_array(ray, given);
	return st ? st : record_input(ray->p->record, g->fields);
}

void ray_fields_end(struct ray_problem *ray)
{
	struct ray_gates *g = &ray->gates;

	for (int k = 0; g->field && k < g->is.n; k++) iso_field_free(&g->field[k]);
	free(g->field);
	free(g->now);
}

/* ---- maps of the gates ---- */

static bool maps_given(const struct ray_problem *ray)
{
	return ray->mu && strchr(ray->mu, ',');
}

int ray_fields_check_maps(struct ray_problem *ray)
{
	if (!maps_given(ray)) return ISO_OK;
	if (!ray_fielded(ray)) return iso_fail(ISO_EARG, "'mu' is a list: maps of gates go with 'fields'");
	if (items_of(ray->mu) == ray->gates.is.n) return ISO_OK;
	return iso_fail(ISO_EARG, "'mu' has %" PRId64 " maps, expected one, or one per gate (%d)",
	                items_of(ray->mu), ray->gates.is.n);
}

/* The sensitivity wants to know that there is a map: of a list the first one stands for all. */
int ray_fields_read_mu(struct ray_problem *ray)
{
	struct iso_array one = { 0 };
	char path[PATH_MAX];
	int st = ISO_OK;

	if (!maps_given(ray)) return record_read_mu(ray->p->record, &ray->mu_map, ray->mu, &ray->grid);
	for (int g = 0; g < ray->gates.is.n && !st; g++) {
		item_of(path, ray->mu, g);
		st = record_read_mu(ray->p->record, g ? &one : &ray->mu_map, path, &ray->grid);
		iso_array_free(&one);
	}
	return st;
}

/* That of a list as it is; else the image's, warped on its own grid, without the Jacobian. No values: there is none. */
static int map_of(struct iso_array *to, struct ray_problem *ray, int gate)
{
	char path[PATH_MAX];
	int st;

	*to = (struct iso_array){ 0 };
	if (!ray->mu) return ISO_OK;
	if (maps_given(ray)) {
		item_of(path, ray->mu, gate);
		st = record_read_mu(ray->p->record, to, path, &ray->grid);
		return st;
	}
	const struct iso_warp p = warp_of(ray, gate, &ray->mu_map.grid, false);

	if ((st = iso_array_on_grid(to, &ray->mu_map.grid))) return st;
	return iso_warp_image(to->v, ray->p->ctx, &p, false, ray->mu_map.v);
}

/* alpha of the events of a gate, which are gathered for a while. */
static int attenuate_gate(struct ray_problem *ray, iso_real *alpha, const struct iso_events *e, int gate)
{
	const int32_t *of = ray->gates.now;
	struct iso_array mu = { 0 };
	struct iso_events part = { 0 };
	iso_real *one = NULL;
	int64_t n = 0;
	int st = map_of(&mu, ray, gate);

	for (int64_t j = 0; j < e->n; j++) n += of[j] == gate;
	part.v = size_alloc(n + 1, sizeof *part.v);
	one = size_alloc(n + 1, sizeof *one);
	if (!st && (!part.v || !one)) st = iso_fail_memory("attenuation", n * (int64_t)sizeof *part.v);
	for (int64_t j = 0; j < e->n && !st; j++)
		if (of[j] == gate) part.v[part.n++] = e->v[j];
	if (!st && (n > 0 || iso_ranks(ray->p->ctx) > 1))
		st = iso_ray_attenuation(one, ray->p->ctx, &mu, &part);
	for (int64_t j = 0, i = 0; j < e->n && !st; j++)
		if (of[j] == gate) alpha[j] = one[i++];
	free(part.v);
	free(one);
	iso_array_free(&mu);
	return st;
}

int ray_fields_attenuation(struct ray_problem *ray, iso_real *alpha, const struct iso_events *e)
{
	int st = ISO_OK;

	for (int g = 0; g < ray->gates.is.n && !st; g++) st = attenuate_gate(ray, alpha, e, g);
	return st;
}

/* ---- the sensitivity: sum of w_g W_g* P* A* m_g ---- */

/* Adds that of a gate, whose image without W_g is `seen`. */
static int add_gate(struct iso_array *s, struct ray_problem *ray, int gate, const struct iso_array *seen)
{
	const struct iso_warp p = warp_of(ray, gate, &ray->grid, ray->gates.mass);
	iso_real *back = size_alloc(s->n, sizeof *back);
	int st = back ? iso_warp_image(back, ray->p->ctx, &p, true, seen->v)
	              : iso_fail_memory("sensitivity", s->n * (int64_t)sizeof *back);

	for (int64_t i = 0; i < s->n && !st; i++)
		s->v[i] += (iso_real)(ray->gates.part[gate].share * (double)back[i]);
	free(back);
	return st;
}

/* Without its own map and poses every gate has the same. */
static int seen_by_gate(struct iso_array *seen, struct ray_problem *ray, int gate,
                        int (*sens)(struct ray_problem *ray, struct iso_array *s))
{
	struct iso_array own = ray->mu_map, mu = { 0 };
	int st;

	if (seen->v && !ray->mu && !ray->motion.all) return ISO_OK;
	iso_array_free(seen);
	if ((st = map_of(&mu, ray, gate))) {
		iso_array_free(&mu);
		return st;
	}
	ray->mu_map = mu;
	ray->gates.in_sens = gate + 1;
	st = sens(ray, seen);
	ray->gates.in_sens = 0;
	ray->mu_map = own;
	iso_array_free(&mu);
	return st ? st : problem_blur(ray->p, seen);
}

int ray_fields_sens(struct ray_problem *ray, struct iso_array *s,
                    int (*sens)(struct ray_problem *ray, struct iso_array *s))
{
	struct iso_array seen = { 0 };
	int st = ray_gates_known(ray);

	if (!st) st = iso_array_on_grid(s, &ray->grid);
	snprintf(s->unit, sizeof s->unit, "mm");
	for (int g = 0; g < ray->gates.is.n && !st; g++)
		if (ray->gates.part[g].share > 0 && !(st = seen_by_gate(&seen, ray, g, sens)))
			st = add_gate(s, ray, g, &seen);
	iso_array_free(&seen);
	return st;
}

/* ---- the operator ---- */

int ray_fields_op(struct ray_problem *ray, iso_op **op, struct iso_ray *p)
{
	const int n = ray->gates.is.n;
	struct iso_warp *warp = size_alloc(n, sizeof *warp);
	iso_op *model = NULL, *psf = NULL;
	int st = warp ? ISO_OK : iso_fail_memory("gates", n * (int64_t)sizeof *warp);

	p->parts = n;
	p->part = ray->gates.now;
	if (!st) st = ray_make_op(ray, &model, p);
	if (!st && problem_has_psf(ray->p)) st = iso_psf_create(&psf, ray->p->ctx, &ray->grid, ray->p->s.psf);
	for (int g = 0; g < n && !st; g++) warp[g] = warp_of(ray, g, &ray->grid, ray->gates.mass);
	if (!st)
		st = iso_gated_create(op, model,
		                      &(const struct iso_gated){ sizeof(struct iso_gated), n, warp, psf });
	iso_op_free(model);
	iso_op_free(psf);
	free(warp);
	return st;
}

void ray_fields_plan(struct ray_problem *ray, struct iso_plan *plan)
{
	const int n = ray->gates.is.n;
	const int64_t voxels = iso_grid_voxels(&ray->grid);
	struct iso_warp one = { .size = sizeof one, .grid = ray->grid };

	iso_gated_plan(plan, ray->p->ctx,
	               &(const struct iso_gated){ sizeof(struct iso_gated), n, &one, NULL });
	for (int g = 0; g < n; g++)
		if (ray->gates.field[g].v)
			iso_plan_add(plan, "displacement fields, as read",
			             iso_grid_voxels(&ray->gates.field[g].grid), 3 * sizeof(iso_real), false);
	iso_plan_add(plan, "sensitivity of a gate", voxels, 2 * sizeof(iso_real), false);
	if (ray->mu_map.n)
		iso_plan_add(plan, "attenuation map in a gate", ray->mu_map.n, 4 * sizeof(iso_real), false);
}
