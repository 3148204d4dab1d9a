/* SPDX-License-Identifier: BSD-3-Clause */
/* The numerical study of Wang 2013: nine spheres heard by fewer and fewer transducers, through FBP,
   PLS-Int and PLS-Sph without a penalty. The traces are closed forms, of no grid and no operator. */
#include "wang.h"

#define LINE_X (-6.58) /* of the profile, mm; y = 0: Figure 5 */

/* Figure 5: of all transducers by FBP, there on the CPU too where CUDA made the others; of half of
   them by the other methods. */
enum { P_TRUTH, P_FBP, P_CPU, P_INT, P_SPH, PROFILES, NO_PROFILE = PROFILES };

enum { SAMPLES = 221 }; /* of a profile */

struct numerical {
	struct wang_sound s;
	double place[SAMPLES], profile[PROFILES + 1][SAMPLES]; /* z, mm; the last is not drawn */
	double n[WANG_SETS], rmse[WANG_METHODS][WANG_SETS];    /* Figure 6 */
	struct wang_image image[2][WANG_METHODS], cpu;         /* of the set in hand: plain, and by area; FBP
								  on the CPU */
};

/* The plane of voxels nearest to y = 0. */
static int64_t middle(const struct iso_grid *g)
{
	int64_t j = llround(.5 * (double)(g->n[1] - 1) - g->centre[1] / g->voxel[1]);

	return j < 0 ? 0 : j < g->n[1] ? j : g->n[1] - 1;
}

static double node(const struct iso_grid *g, int a, int64_t i)
{
	return g->centre[a] + ((double)i - .5 * (double)(g->n[a] - 1)) * g->voxel[a];
}

static const char *set_name(const struct numerical *n)
{
	return wang_set_name(n->s.array, wang_every[n->s.set], " \u00d7 ");
}

static int take_profile(double value[SAMPLES], const struct iso_array *x)
{
	const struct iso_grid *g = &x->grid;
	const double y = node(g, 1, middle(g)), end = node(g, 2, g->n[2] - 1);
	const struct iso_profile line = { { LINE_X, y, node(g, 2, 0) },
		                          { LINE_X, y, end },
		                          .samples = SAMPLES };

	return iso_measure_profile(value, x, &line);
}

static int look(struct numerical *n, const char *key, const struct iso_array *x, const char *what,
                const char *device, double rmse, int profile)
{
	int st = wang_draw_plane(n->s.w, key, x, middle(&x->grid), 1,
	                         study_text("%s, %s, %s", what, set_name(n), device),
	                         "plane y = 0, z to the right, x upwards", study_text("RMSE %.5f", rmse));

	return st ? st : take_profile(n->profile[profile], x);
}

/* ---- images ---- */

/* FBP is made voxel by voxel, so on the CPU the coarse grid and a plane stand for all of it. */
static int coarse_on_cpu(struct numerical *n)
{
	struct wang *w = n->s.w;
	const struct wang_scale *c = w->scale;
	struct wang_problem p = wang_sound_problem(&n->s, WANG_FBP);
	struct iso_array x = { 0 }, truth = { 0 };
	struct iso_rmse r = { .size = sizeof r };
	double seconds;
	int st;

	for (int a = 0; a < 3; a++) {
		p.grid.n[a] = (c->grid->n[a] - c->first_node + c->node_step - 1) / c->node_step;
		p.grid.voxel[a] = c->node_step * c->grid->voxel[a];
		p.grid.centre[a] =
			node(c->grid, a, c->first_node) + .5 * (double)(p.grid.n[a] - 1) * p.grid.voxel[a];
	}
	if ((st = wang_recon(&x, &seconds, w->s.cpu, &p))) goto done;
	if ((st = iso_array_on_grid(&truth, &p.grid))) goto done;
	if ((st = iso_spheres_raster(truth.v, w->s.cpu, &n->s.spheres, &p.grid))) goto done;
	if ((st = iso_measure_rmse(&r, x.n, x.v, truth.v, NULL, ISO_SCALE_NONE))) goto done;
	n->cpu.rmse = NAN;
	n->cpu.nodes = r.rmse;
done:
	iso_array_free(&x);
	iso_array_free(&truth);
	return st;
}

/* The plane, beside CUDA's image: the greatest difference. */
static int beside(struct numerical *n, const struct iso_array *cuda)
{
	struct wang *w = n->s.w;
	const struct iso_grid *g = w->scale->grid;
	const int64_t j = middle(g), *size = g->n;
	struct wang_problem p = wang_sound_problem(&n->s, WANG_FBP);
	struct iso_array x = { 0 };
	double most = 0;
	int st;

	p.grid.n[1] = 1;
	p.grid.centre[1] = node(g, 1, j);
	st = wang_recon(&x, &n->cpu.seconds, w->s.cpu, &p);
	for (int64_t i = 0; i < x.n && !st; i++) {
		double a = x.v[i], b = cuda->v[(i / size[0] * size[1] + j) * size[0] + i % size[0]];

		most = fmax(most, fabs(a - b));
	}
	study_row(&w->s, "apart", record_pack("[s,f]", set_name(n), most));
	if (!st) st = look(n, "fbp_pictures", &x, "FBP", "CPU", n->cpu.nodes, n->s.set ? NO_PROFILE : P_CPU);
	iso_array_free(&x);
	return st;
}

/* With weights, which the paper does not have, the errors are all that is told. */
static int one(struct numerical *n, enum wang_method method, bool by_area)
{
	static const char *const share[WANG_SETS] = { "all", "half", "quarter", "eighth" };
	static const int profiles[WANG_METHODS] = { P_FBP, P_INT, P_SPH };
	struct wang *w = n->s.w;
	const bool fbp = method == WANG_FBP;
	const int set = n->s.set, profile = set == (fbp ? 0 : 1) ? profiles[method] : NO_PROFILE;
	struct wang_problem p = wang_sound_problem(&n->s, method);
	struct wang_image *image = &n->image[by_area][method];
	struct iso_array x = { 0 };
	int st;

	p.by_area = by_area;
	if ((st = wang_sound_image(&x, image, &n->s, &p)) || by_area) goto done;
	if ((st = look(n, fbp ? "fbp_pictures" : "pls_pictures", &x, wang_methods[method],
	               w->s.cuda ? "CUDA" : "CPU", image->rmse, profile)))
		goto done;
	if ((st = cmd_write(w->s.c, study_text("%s-%s.nii", wang_files[method], share[set]), &x))) goto done;
	if (fbp && w->s.cuda && !(st = coarse_on_cpu(n))) st = beside(n, &x);
done:
	iso_array_free(&x);
	return st;
}

/* ---- what is told of them ---- */

/* Methods on the set in hand: as in the paper, all transducers are for FBP alone. */
static int methods(const struct numerical *n)
{
	return n->s.set == 0 ? 1 : WANG_METHODS;
}

/* RMSE of FBP on the coarse grid at full size, by another program in double precision. */
static void tell_set(struct numerical *n)
{
	static const double reference[WANG_SETS] = { .00210, .00583, .01216, .02241 };
	static const char *const names[] = { NULL, "PLS-Int, by area", "PLS-Sph, by area" };
	struct study *s = &n->s.w->s;
	const char *name = wang_set_name(n->s.array, wang_every[n->s.set], "x");
	json_t *cells = json_array();
	const int set = n->s.set;

	for (int k = 0; k < 2 * WANG_METHODS; k++) {
		const int m = k % WANG_METHODS, by_area = k / WANG_METHODS;
		const struct wang_image *i = &n->image[by_area][m];
		const bool there = m < methods(n);

		if (by_area && m == WANG_FBP) continue;
		if (!by_area) n->rmse[m][set] = there ? i->rmse : NAN;
		if (there) wang_sound_row(&n->s, -1, by_area ? names[m] : wang_methods[m], name, i);
		json_array_append_new(cells,
		                      there ? record_pack("{s:f, s:f}", "rmse", i->rmse, "nodes", i->nodes)
		                            : json_null());
	}
	if (s->cuda) wang_sound_row(&n->s, -1, "FBP, CPU", name, &n->cpu);
	study_row(s, "errors",
	          record_pack("[s,o,f,f]", set_name(n), cells,
	                      s->cuda ? n->cpu.nodes : n->image[false][WANG_FBP].nodes,
	                      s->scale == STUDY_FULL ? reference[set] : NAN));
	n->n[set] = (double)n->s.t.n;
}

static void draw_charts(struct numerical *n)
{
	struct study *s = &n->s.w->s;
	const struct iso_svg_curve fbp[] = {
		{ "Phantom", 0, SAMPLES, n->place, n->profile[P_TRUTH] },
		{ s->cuda ? "FBP, CUDA" : "FBP, CPU", 1, SAMPLES, n->place, n->profile[P_FBP] },
		{ "FBP, CPU", 2, SAMPLES, n->place, n->profile[P_CPU] },
	};
	const struct iso_svg_curve pls[] = {
		{ "Phantom", 0, SAMPLES, n->place, n->profile[P_TRUTH] },
		{ "PLS-Int", 1, SAMPLES, n->place, n->profile[P_INT] },
		{ "PLS-Sph", 2, SAMPLES, n->place, n->profile[P_SPH] },
	};
	struct iso_svg_curve rmse[WANG_METHODS];

	for (int m = 0; m < WANG_METHODS; m++)
		rmse[m] = (struct iso_svg_curve){ wang_methods[m], m + 1, WANG_SETS, n->n, n->rmse[m] };
	study_chart(s, "fbp_profile", "Profile along z", "z, mm", "absorbed energy", s->cuda ? 3 : 2, fbp);
	study_chart(s, "pls_profile", "Profile along z", "z, mm", "absorbed energy", 3, pls);
	study_chart(s, "error_chart", "RMSE against the number of transducers", "transducers", "RMSE",
	            WANG_METHODS, rmse);
}

static int make_data(struct numerical *n)
{
	struct wang_sound *s = &n->s;
	const struct iso_grid *g = s->w->scale->grid;
	int st;

	for (int i = 0; i < SAMPLES; i++)
		n->place[i] = node(g, 2, 0) + (double)(g->n[2] - 1) * g->voxel[2] * i / (SAMPLES - 1);
	if ((st = wang_sound_truth(s, "nine-spheres", "nine-spheres.nii"))) return st;
	if ((st = wang_draw_plane(s->w, "fbp_pictures", &s->truth, middle(g), 1, "Phantom",
	                          "plane y = 0 of nine spheres", "")))
		return st;
	if ((st = take_profile(n->profile[P_TRUTH], &s->truth))) return st;
	if ((st = wang_transducers(&s->all, s->array, wang_every[0]))) return st;
	return wang_sound_traces(s, 0);
}

int wang_study(struct wang *w)
{
	const struct wang_scale *c = w->scale;
	struct numerical n = { .s = { .w = w, .array = &c->arrays[0], .rows = json_array() } };
	int st = make_data(&n);

	for (; n.s.set < WANG_SETS && !st; n.s.set++) {
		st = wang_sound_set(&n.s, wang_every[n.s.set]);
		for (int m = 0; m < methods(&n) && !st; m++) st = one(&n, (enum wang_method)m, false);
		for (int m = WANG_INT; m < methods(&n) && !st; m++) st = one(&n, (enum wang_method)m, true);
		if (!st) tell_set(&n);
	}
	if (!st) draw_charts(&n);
	study_show(&w->s, "nodes",
	           record_pack("[i,i,i]", c->first_node, c->first_node + c->node_step,
	                       c->first_node + 2 * c->node_step));
	study_result(&w->s, "study", n.s.rows);
	wang_sound_free(&n.s);
	return st;
}
