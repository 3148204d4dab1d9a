/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome lifetime: maps of the life of positronium from triples. */
#include "lifetime_work.h"

#include "core/size.h"
#include "isotome/report.h"
#include "io/format.h"
#include "report/page.h"

static const char *const methods[] = { "moment", "emg", "posterior", NULL };

static const struct opt_usage usage = {
	"lifetime",
	"Make a map of the life of ortho-positronium from triples: two annihilation photons and the prompt "
	"photon of "
	"the decay. Each event has the time from prompt to annihilation, as field lifetime_ns of a .npy or "
	"as its "
	"last column. Writes the life in ns, and always its standard error (tau.nii and tau_error.nii), the "
	"triples "
	"of each voxel (tau_counts.nii), the mean life of all components (tau_mean.nii), and the share of "
	"ortho-positronium with its error (tau_intensity.nii), unless it is given.",
	"  isotome lifetime ray --events triples.npy --scanner ring.yaml --grid 64 --voxel 8 -o tau.nii\n"
	"  isotome lifetime barrel --events triples.npy --scanner jpet.yaml --activity x.nii --method emg "
	"\\\n"
	"      --penalty quadratic:rel=0.2 --intensity 0.3 --sigma-ps 150 -o tau.nii\n"
	"  isotome lifetime ray --events triples.npy --pairs pairs.lmdT --background -20,-5 \\\n"
	"      --regions organs.nii --page tau.html -o tau.nii\n",
};

/* Parameters of models that have no meaning here, or another. */
static void leave_out(iso_problem *p)
{
	static const char *const names[] = { "window",  "additive",       "additive-over-m", "delayed",
		                             "singles", "coincidence-ns", "precorrected",    "smear" };
	struct opt *to = p->params;

	for (const struct opt *o = p->params; o->name; o++) {
		bool out = false;

		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			out = out || strcmp(o->name, names[k]) == 0;
		if (!out) *to++ = *o;
	}
	*to = (struct opt){ 0 };
}

static int make_maps(struct lifetime_work *w)
{
	const int64_t n = iso_grid_voxels(&w->p->found.grid);

	for (int k = 0; k < LIFETIME_MAPS; k++)
		if (!(w->map[k].v = size_alloc(n, sizeof(double))))
			return iso_fail_memory("maps", n * (int64_t)sizeof(double));
	w->maps = (struct iso_lifetime_maps){ .size = sizeof w->maps,
		                              .tau = w->map[MAP_TAU].v,
		                              .error = w->map[MAP_ERROR].v,
		                              .counts = w->map[MAP_COUNTS].v,
		                              .mean = w->map[MAP_MEAN].v,
		                              .w = w->map[MAP_W].v,
		                              .w_error = w->map[MAP_W_ERROR].v,
		                              .region_tau = w->region_tau,
		                              .region_error = w->region_error };
	return ISO_OK;
}

/* A parameter of the penalty that nobody gave: the logarithm of a rate is of size 1. */
static int make_prior(struct lifetime_work *w)
{
	struct iso_prior_spec *q = &w->penalty.prior;
	const struct iso_prior_parameter *of;

	if (!w->s.penalty) return ISO_OK;
	q->grid = w->p->found.grid;
	for (int i = 0; (of = iso_prior_parameter(q->kind, i)); i++)
		if (of->rule != ISO_PRIOR_NUMBER && !(q->parameter[i] > 0))
			q->parameter[i] = iso_prior_default(q->kind, i, 1, 1);
	return iso_prior_create(&w->ask.prior, w->host, q);
}

static int find(struct lifetime_work *w)
{
	int st;

	record_stage(&w->c->record, w->s.method);
	if (strcmp(w->s.method, "moment") == 0) return iso_lifetime_moments(&w->maps, NULL, w->t, &w->ask);
	if (strcmp(w->s.method, "posterior") == 0) return iso_lifetime_posterior(&w->maps, w->t, &w->ask);
	if ((st = make_prior(w))) return st;
	return iso_lifetime_emg(&w->maps, w->t, &w->ask);
}

static int make_curves(struct lifetime_work *w)
{
	struct iso_lifetime_curves to = {
		.size = sizeof to, .bins = LIFETIME_BINS, .counts = w->curve_counts, .fit = w->curve_fit
	};

	if (!w->regions || strcmp(w->s.method, "posterior") == 0) return ISO_OK;
	record_stage(&w->c->record, "curves");
	return iso_lifetime_curves_of(&to, w->t, &w->ask, w->maps.tau, w->maps.w);
}

/* Models tell their rows on the CPU. */
static int open_host(struct lifetime_work *w)
{
	iso_ctx *ctx = w->c->ctx;
	int st;

	w->host = ctx;
	if (!iso_ctx_is_cuda(ctx)) return ISO_OK;
	if ((st = iso_ctx_create(&w->host, "cpu", iso_ctx_threads(ctx)))) return st;
	iso_ctx_set_memory_limit(w->host, ctx->memory_limit);
	iso_ctx_set_progress(w->host, ctx->progress, ctx->progress_arg);
	return ISO_OK;
}

static int run(struct lifetime_work *w)
{
	int st;

	if ((st = open_host(w)) || (st = lifetime_read(w)) || (st = make_maps(w)) || (st = find(w)) ||
	    (st = make_curves(w)))
		return st;
	record_stage(&w->c->record, NULL);
	return lifetime_write(w);
}

static int begin(struct lifetime_work *w)
{
	const char *model = w->c->model ? w->c->model : w->p->m->name;
	int st;

	if (strcmp(model, "ray") != 0 && strcmp(model, "barrel") != 0)
		return iso_fail(ISO_EARG, "lifetime: the model is %s; triples are of ray or barrel", model);
	if (w->s.page &&
	    ((st = iso_page_check(w->s.page)) || (st = iso_target_check(w->s.page, w->c->force))))
		return st;
	if ((st = lifetime_settle(w)) || (st = lifetime_name_maps(w))) return st;
	return cmd_problem_begin(w->p, w->c);
}

static void free_work(struct lifetime_work *w)
{
	for (int k = 0; k < LIFETIME_MAPS; k++) free(w->map[k].v);
	iso_prior_free(w->ask.prior);
	iso_triples_free(w->t);
	iso_op_free(w->op);
	iso_lifetimes_free(&w->times);
	iso_array_free(&w->sens);
	free(w->activity);
	free(w->randoms);
	free(w->w);
	free(w->label);
	iso_problem_free(w->p);
	if (w->c->ctx && w->host != w->c->ctx) iso_ctx_free(w->host);
}

static struct lifetime_settings usual(void)
{
	return (struct lifetime_settings){ .method = "moment",
		                           .components = "p:0.125,d:0.388",
		                           .intensity = "free",
		                           .ratio = 3,
		                           .sigma_ps = 150,
		                           .window = { -1, 15 },
		                           .min_counts = 200,
		                           .iterations = 10,
		                           .subsets = 1,
		                           .most = 200,
		                           .seed = 1 };
}

static int with_options(struct lifetime_work *w, int argc, char **argv)
{
	struct lifetime_settings *s = &w->s;
	struct opt own[] = {
		cmd_model(w->c),
		cmd_data(w->c, w->p),
		CMD_OUTPUT(s->out,
		           "map of lives; the other maps have its name with _error, _counts and so on (.nii, "
		           ".nii.gz, .hv, .npy, .raw)"),
		{ 0, "method", .text = &s->method, .words = methods, .value = "METHOD",
		  .help = "moment: by the moments of the times, from weighted EM. emg: maximum likelihood. "
		          "posterior: "
		          "the mean time of each voxel in one pass, for a look" },
		{ 0, "components", .text = &s->components, .value = "p:NS,d:NS",
		  .help = "fixed lives of para-positronium and of direct annihilation; d:NS alone; or none: "
		          "a single "
		          "exponential" },
		{ 0, "ratio", .real = &s->ratio, .value = "R", .min = 1e-3, .max = 1e3,
		  .help = "ortho-positronium for each para-positronium" },
		{ 0, "intensity", .text = &s->intensity, .file = OPT_MAY_READ, .value = "free|W|FILE",
		  .help = "share of ortho-positronium: found in each voxel, a number, or an image" },
		{ 0, "sigma-ps", .real = &s->sigma_ps, .unit = "ps", .value = "PS", .min = 1, .max = 1e5,
		  .help = "error of a time, as standard deviation, where the file has none of each" },
		{ 0, "offset-ps", .real = &s->offset_ps, .unit = "ps", .value = "PS", .min = -1e7, .max = 1e7,
		  .help = "time in the file of a life of 0" },
		{ 0, "window", .real = s->window, .unit = "ns", .count = 2, .value = "LO,HI",
		  .help = "triples with times from LO to below HI take part" },
		{ 0, "background", .real = s->background, .unit = "ns", .count = 2, .value = "LO,HI",
		  .absent = "none",
		  .help = "a window in which all triples are random: how many are in the other" },
		{ 0, "background-share", .real = &s->share, .value = "F", .min = 0, .max = .99,
		  .help = "in its place: share of random triples" },
		{ 0, "pairs", .text = &s->pairs, .file = OPT_READS, .value = "FILE",
		  .help = "events of pairs: where random triples are, and the activity" },
		{ 0, "activity", .text = &s->activity, .file = OPT_READS, .value = "FILE",
		  .absent = "of the pairs, or of the triples",
		  .help = "image of the activity, for emg and posterior" },
		{ 0, "iterations", .integer = &s->iterations, .value = "N", .min = 1, .max = 1e4,
		  .help = "iterations of EM, for moments and activity" },
		{ 0, "subsets", .integer = &s->subsets, .value = "N", .min = 1, .max = 1e4,
		  .help = "subsets of EM" },
		{ 0, "max-iterations", .integer = &s->most, .value = "N", .min = 1, .max = 1e5,
		  .help = "iterations of emg, at most" },
		{ 0, "penalty", .text = &s->penalty, .value = "NAME:rel=B", .absent = "none",
		  .help = "penalty of the logarithm of the rate, with emg: quadratic, logcosh, huber, tv or "
		          "ggd, as "
		          "in recon; "
		          "rel=0.2 is usual" },
		{ 0, "error", .text = &s->error, .value = "diag|full[:N]|bootstrap[:N]",
		  .absent = "bootstrap with moment, full with emg, diag with posterior",
		  .help = "diag: each voxel by itself, too small; full: with what voxels share, by N random "
		          "solves "
		          "(32); bootstrap: N repeats of the triples (20)" },
		{ 0, "min-counts", .real = &s->min_counts, .value = "N", .min = 0, .max = 1e12,
		  .help = "a voxel with fewer triples has no life (NaN)" },
		{ 0, "prior", .real = s->prior, .count = 2, .value = "A,B", .min = 0, .max = 1e12,
		  .help = "rates have the Gamma(A, B) prior, with posterior" },
		{ 0, "regions", .text = &s->regions, .file = OPT_READS, .value = "FILE",
		  .help = "image of whole numbers from 1, 0 for none: the record gets the life of each "
		          "region, its "
		          "error, and its times with the fit" },
		{ 0, "page", .text = &s->page, .file = OPT_WRITES, .value = "FILE.html",
		  .help = "report with pictures of the maps, and the times of regions with the fit" },
		{ 0, "seed", .integer = &s->seed, .value = "N", .min = 0, .max = 9e15,
		  .help = "seed of bootstraps and random solves" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own },
		                  w->p->sets[SET_MODEL],
		                  w->p->sets[SET_CHECKS],
		                  cmd_common(w->c, CMD_COMPUTES | CMD_WRITES),
		                  { 0 } };
	int st = cmd_parse(w->c, &usage, sets, argc, argv);

	if (!st && !(st = cmd_check_array(w->c, s->out)) && !(st = begin(w))) st = run(w);
	free_work(w);
	return cmd_end(w->c, st);
}

int main_lifetime(int argc, char **argv)
{
	struct cmd c = { 0 };
	struct lifetime_work *w = size_alloc(1, sizeof *w);
	int st;

	if (!w) return iso_fail_memory("lifetime", (int64_t)sizeof *w);
	w->c = &c;
	w->s = usual();
	if (!(st = cmd_problem(&w->p, &c, argc, argv))) {
		leave_out(w->p);
		st = with_options(w, argc, argv);
	}
	free(w);
	return st;
}
