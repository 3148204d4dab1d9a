/* SPDX-License-Identifier: BSD-3-Clause */
/* What isotome lifetime reads: events with their times, pairs, activity, regions. */
#include "lifetime_work.h"

#include "base/number.h"
#include "core/size.h"

/* ---- options that are words ---- */

/* "p:0.125,d:0.388", "d:0.4" or "none". */
static int take_components(struct lifetime_work *w)
{
	const char *text = w->s.components;
	double *const life[] = { &w->model.tau_p, &w->model.tau_d };

	w->model.tau_p = w->model.tau_d = 0;
	if (strcmp(text, "none") == 0) return ISO_OK;
	for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		const int which = at[0] == 'p' ? 0 : at[0] == 'd' ? 1 : -1;
		double v;

		if (which < 0 || at[1] != ':' || !iso_number(&v, at + 2, strcspn(at + 2, ",")) || !(v > 0))
			return iso_fail(
				ISO_EARG,
				"'components' is '%s', expected none, d:NS or p:NS,d:NS with lives above 0",
				text);
		*life[which] = v;
	}
	return ISO_OK;
}

/* "free", a number, or the name of an image, which is read later. */
static int take_intensity(struct lifetime_work *w)
{
	const char *text = w->s.intensity;

	if (strcmp(text, "free") == 0 || w->model.tau_d == 0) return ISO_OK;
	if (!iso_number(&w->ask.w_all, text, strlen(text))) return ISO_OK;
	if (w->ask.w_all > 0) return ISO_OK;
	return iso_fail(ISO_EARG, "'intensity' is %s, expected free, a share above 0 or an image", text);
}

static int take_error(struct lifetime_work *w)
{
	static const char *const usual[] = { "bootstrap", "full", "diag" }; /* of moment, emg, posterior */
	const char *method = w->s.method, *text = w->s.error;
	const int which = strcmp(method, "moment") == 0 ? 0 : strcmp(method, "emg") == 0 ? 1 : 2;
	double n = 0;

	if (!text) text = usual[which];
	const size_t word = strcspn(text, ":");

	w->ask.error = strncmp(text, "bootstrap", word) == 0 ? ISO_LIFETIME_BOOTSTRAP
	               : strncmp(text, "full", word) == 0    ? ISO_LIFETIME_FULL
	                                                     : ISO_LIFETIME_DIAGONAL;
	if (text[word] == ':' && (w->ask.error == ISO_LIFETIME_DIAGONAL ||
	                          !iso_number(&n, text + word + 1, strlen(text + word + 1)) || n < 2 ||
	                          n > 10000 || n != floor(n)))
		return iso_fail(
			ISO_EARG,
			"'error' is '%s', expected diag, full[:N] or bootstrap[:N], N from 2 to 10000", text);
	if (strncmp(text, "bootstrap", word) && strncmp(text, "full", word) && strncmp(text, "diag", word))
		return iso_fail(ISO_EARG, "'error' is '%s', expected diag, full[:N] or bootstrap[:N]", text);
	if (w->ask.error != ISO_LIFETIME_DIAGONAL && strncmp(text, usual[which], word) != 0)
		return iso_fail(ISO_EARG, "'error' %s does not go with 'method' %s, which has %s%s", text,
		                method, which < 2 ? "diag and " : "", usual[which]);
	w->ask.repeats = (int)n;
	return ISO_OK;
}

static int take_penalty(struct lifetime_work *w)
{
	struct penalties *p = &w->penalty;
	int st;

	if (!w->s.penalty) return ISO_OK;
	p->text = w->s.penalty;
	if (strcmp(w->s.method, "emg") != 0)
		return iso_fail(ISO_EARG, "'penalty' is of 'method' emg, this is %s", w->s.method);
	if ((st = penalty_parse(p))) return st;
	if (iso_prior_about(p->prior.kind)->nonnegative)
		return iso_fail(
			ISO_EARG,
			"'penalty' is '%s': it needs values above 0, and the logarithm of a rate has both "
			"signs; quadratic, logcosh, huber, tv or ggd",
			p->text);
	w->ask.beta = p->beta;
	w->ask.rel = p->relative;
	return ISO_OK;
}

int lifetime_settle(struct lifetime_work *w)
{
	const struct lifetime_settings *s = &w->s;
	int st;

	iso_lifetime_usual(&w->model);
	w->model.ratio = s->ratio;
	w->model.sigma = s->sigma_ps / 1000;
	w->model.offset = s->offset_ps / 1000;
	w->model.lo = s->window[0];
	w->model.hi = s->window[1];
	w->ask = (struct iso_lifetime){ .size = sizeof w->ask,
		                        .min_counts = s->min_counts,
		                        .iterations = (int)s->iterations,
		                        .subsets = (int)s->subsets,
		                        .most = (int)s->most,
		                        .seed = (uint64_t)s->seed,
		                        .prior_a = s->prior[0],
		                        .prior_b = s->prior[1] };
	if (!(w->model.hi > w->model.lo))
		return iso_fail(ISO_EARG, "'window' is %g,%g, expected its beginning and its end in ns",
		                s->window[0], s->window[1]);
	if (cmd_given(w->c, "background") && cmd_given(w->c, "background-share"))
		return iso_fail(ISO_EARG,
		                "'background' and 'background-share' both say how many triples are random");
	if (cmd_given(w->c, "background") &&
	    !(s->background[1] > s->background[0] &&
	      (s->background[1] <= w->model.lo || s->background[0] >= w->model.hi)))
		return iso_fail(ISO_EARG,
		                "'background' is %g,%g ns, expected a window beside that from %g to %g ns",
		                s->background[0], s->background[1], w->model.lo, w->model.hi);
	if ((st = take_components(w)) || (st = take_intensity(w)) || (st = take_error(w))) return st;
	return take_penalty(w);
}

/* ---- images ---- */

static int64_t voxels(const struct lifetime_work *w)
{
	return iso_grid_voxels(&w->p->found.grid);
}

/* An image on the grid of the maps, as doubles. */
static int read_image(double **v, struct lifetime_work *w, const char *path, enum iso_values allowed)
{
	struct iso_array a = { 0 };
	const int64_t n = voxels(w);
	int st = record_input(&w->c->record, path);

	if (!st) st = record_read_image(&w->c->record, &a, path, allowed, &w->p->found.grid);
	if (!st && a.n != n)
		st = iso_fail(ISO_EINPUT, "%s: %" PRId64 " voxels, expected %" PRId64, path, a.n, n);
	if (!st && !(*v = size_alloc(n, sizeof **v))) st = iso_fail_memory(path, n * (int64_t)sizeof **v);
	for (int64_t i = 0; i < n && !st; i++) (*v)[i] = (double)a.v[i];
	iso_array_free(&a);
	return st;
}

static int read_regions(struct lifetime_work *w)
{
	double *v = NULL;
	int st;

	if (!w->s.regions) return ISO_OK;
	if ((st = read_image(&v, w, w->s.regions, ISO_FINITE))) return st;
	if (!(w->label = size_alloc(voxels(w), sizeof *w->label)))
		st = iso_fail_memory(w->s.regions, voxels(w) * (int64_t)sizeof *w->label);
	for (int64_t i = 0; i < voxels(w) && !st; i++) {
		if (!(v[i] >= 0 && v[i] <= LIFETIME_REGIONS && v[i] == floor(v[i])))
			st = iso_fail(ISO_EINPUT,
			              "%s: voxel %" PRId64 " is %g, expected a whole number from 0 to %d",
			              w->s.regions, i, v[i], LIFETIME_REGIONS);
		w->label[i] = (int32_t)v[i];
		if (v[i] > w->regions) w->regions = (int)v[i];
	}
	free(v);
	if (!st && w->regions == 0) st = iso_fail(ISO_EINPUT, "%s: has no region, all is 0", w->s.regions);
	w->ask.region = w->label;
	w->ask.regions = w->regions;
	return st;
}

/* ---- events ---- */

static const char **events_of(const iso_problem *p)
{
	const struct opt_set sets[] = { { NULL, (struct opt *)p->params }, { 0 } };

	return opt_find(sets, "events")->text;
}

/* ctx: where the operator is. */
static int load(struct lifetime_work *w, iso_ctx *ctx, int need)
{
	const struct model_subsets one = { .n = 1 };
	int st;

	w->p->ctx = ctx;
	if ((st = problem_load(w->p, need, NULL)) || w->c->dry_run) return st;
	if (w->p->found.on_disk)
		return iso_fail(ISO_EARG, "%s: lifetimes need all events in memory, and these stay on disk",
		                *events_of(w->p));
	return w->p->m->op(w->p, &w->op, &one);
}

/* EM over events without times. */
static int image_of_pairs(double **to, struct lifetime_work *w)
{
	struct iso_em em = { .size = sizeof em, .op = w->op, .iterations = w->ask.iterations };
	const int64_t n = voxels(w);
	iso_real *x = size_alloc(n, sizeof *x);
	int st = x && (*to = size_alloc(n, sizeof **to)) ? ISO_OK : iso_fail_memory("pairs", n * 12);

	em.sens = (struct iso_sens){ 1, 1, w->sens.v };
	for (int64_t v = 0; v < n && !st; v++) x[v] = w->sens.v[v] > 0 ? 1 : 0;
	if (!st) st = iso_em_run(x, NULL, &em, NULL);
	for (int64_t v = 0; v < n && !st; v++) (*to)[v] = (double)x[v];
	free(x);
	return st;
}

/* The same problem with the pairs in place of the triples. */
static int read_pairs(struct lifetime_work *w)
{
	int st;

	if (!w->s.pairs) return ISO_OK;
	iso_op_free(w->op);
	w->op = NULL;
	if ((st = iso_problem_set(w->p, "events", w->s.pairs)) || (st = load(w, w->c->ctx, MODEL_NEEDS_DATA)))
		return st;
	record_stage(&w->c->record, "pairs");
	return image_of_pairs(&w->randoms, w);
}

static int make_triples(struct lifetime_work *w)
{
	const int64_t n = iso_op_n_out(w->op);
	int st;

	if (n != w->times.n)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " events and %" PRId64 " lifetimes",
		                *events_of(w->p), n, w->times.n);
	if (w->times.sigma && cmd_given(w->c, "sigma-ps"))
		record_note(&w->c->record, "%s holds an error of each time; --sigma-ps does nothing",
		            *events_of(w->p));
	st = iso_triples_of_op(&w->t, w->op, &w->model, w->times.time, w->times.sigma);
	return st || w->host == w->c->ctx ? st : iso_triples_move(w->t, w->c->ctx);
}

/* How many triples are random, by a window where all are, or by their share. */
static void count_randoms(struct lifetime_work *w)
{
	const double *b = w->s.background;
	double width = w->model.hi - w->model.lo;

	w->ask.randoms.number = w->s.share * (double)iso_triples_count(w->t);
	if (cmd_given(w->c, "background"))
		w->ask.randoms.number = (double)iso_triples_between(w->t, b[0], b[1]) * width / (b[1] - b[0]);
	w->ask.randoms.image = w->randoms;
	w->ask.activity = w->activity ? w->activity : w->randoms;
}

static int plan(struct lifetime_work *w)
{
	const struct model_subsets one = { .n = 1 };
	struct iso_plan p = cmd_plan_begin(w->c);

	iso_plan_add(&p, "maps", voxels(w), LIFETIME_MAPS * (int64_t)sizeof(double), false);
	iso_plan_add(&p, "sums", voxels(w), 8 * (int64_t)sizeof(double), false);
	w->p->m->plan(w->p, &p, &one);
	return cmd_plan(w->c, &p);
}

static int read_rest(struct lifetime_work *w)
{
	double v;
	int st = ISO_OK;

	if (w->s.activity) st = read_image(&w->activity, w, w->s.activity, ISO_NONNEGATIVE);
	if (!st && w->model.tau_d > 0 && strcmp(w->s.intensity, "free") != 0 &&
	    !iso_number(&v, w->s.intensity, strlen(w->s.intensity)))
		st = read_image(&w->w, w, w->s.intensity, ISO_NONNEGATIVE);
	w->ask.w = w->w;
	return st ? st : read_regions(w);
}

int lifetime_read(struct lifetime_work *w)
{
	const int columns = strcmp(w->p->m->name, "barrel") == 0 ? 7 : 9;
	int st;

	if (!*events_of(w->p))
		return iso_fail(ISO_EARG, "'events' is missing: a .npy of events with lifetimes");
	record_stage(&w->c->record, "read");
	if ((st = iso_lifetimes_read(&w->times, *events_of(w->p), columns)) ||
	    (st = load(w, w->host, MODEL_NEEDS_DATA | MODEL_NEEDS_SENS)) || (st = plan(w)) ||
	    (st = read_rest(w)))
		return st;
	record_stage(&w->c->record, "sensitivity");
	w->p->ctx = w->c->ctx;
	if ((st = problem_sens(w->p, &w->sens))) return st;
	w->ask.sens = w->sens.v;
	record_stage(&w->c->record, "rows");
	if ((st = make_triples(w)) || (st = read_pairs(w))) return st;
	count_randoms(w);
	return ISO_OK;
}
