/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon --beta-scan. */
#include "recon_parts.h"

#include "file/out.h"
#include "io/format.h"
#include "report/scan.h"

#include <math.h>
#include <string.h>

struct opt_set scan_params(struct scan *s)
{
	const struct opt opts[] = {
		{ 0, "beta-scan", .text = &s->list, .value = "[rel=]B,B,...", .transient = true,
		  .help = "reconstruct with each of these strengths, each starting from the image "
		          "before. The images are x_rel0.1.nii (or x_beta0.1.nii) and so on; x.html "
		          "shows the L-curve and the images. --penalty then has no strength" },
		{ 0, "beta-background", .text = &s->background, .file = OPT_MAY_READ, .value = "FILE",
		  .transient = true,
		  .help = "mask of a uniform background; the page then shows contrast against noise" },
		{ 0, "beta-region", .text = &s->region, .file = OPT_MAY_READ, .value = "FILE",
		  .transient = true, .help = "mask of the region whose contrast the page shows" },
		{ 0 },
	};

	_Static_assert(sizeof s->opts == sizeof opts, "room for the options");
	memcpy(s->opts, opts, sizeof opts);
	return (struct opt_set){ "Strengths of a penalty", s->opts };
}

/* ---- before the work ---- */

static int parse(struct scan *s)
{
	const char *list = s->list;

	s->relative = strncmp(list, "rel=", 4) == 0;
	s->n = iso_numbers(s->strength, SCAN_MOST, list + (s->relative ? 4 : 0));
	for (int i = 0; i < s->n; i++)
		if (!(s->strength[i] > 0)) s->n = 0;
	if (s->n >= 2) return ISO_OK;
	return iso_fail(
		ISO_EARG,
		"--beta-scan is '%s', must be 2 to %d strengths above 0, such as rel=0.05,0.1,0.2,0.4", list,
		SCAN_MOST);
}

/* x.nii with the strength 0.1: x_rel0.1.nii. */
static int name_image(const struct scan *s, char path[PATH_MAX], int k)
{
	const char *slash = strrchr(s->out, '/'), *name = slash ? slash + 1 : s->out;
	int stem = (int)(name - s->out) + (int)strcspn(name, ".");
	int n = iso_snprintf(path, PATH_MAX, "%.*s_%s%g%s", stem, s->out, s->relative ? "rel" : "beta",
	                     s->strength[k], s->out + stem);

	return n < PATH_MAX ? ISO_OK : iso_fail(ISO_EARG, "%s: name too long", s->out);
}

static int name_page(struct scan *s)
{
	const char *slash = strrchr(s->out, '/'), *name = slash ? slash + 1 : s->out;
	int stem = (int)(name - s->out) + (int)strcspn(name, ".");

	return snprintf(s->page, sizeof s->page, "%.*s.html", stem, s->out) < PATH_MAX
	               ? ISO_OK
	               : iso_fail(ISO_EARG, "%s: name too long", s->out);
}

static void give(iso_problem *p, const char *name, const char *value)
{
	struct opt *o = opt_find(p->sets, name);

	*o->text = value;
	o->given = true;
}

/* KIND:rel=B and what was given besides; `more`: parameters that the first run has found. */
static int set_strength(struct scan *s, iso_problem *p, int k, const char *more)
{
	const char *colon = strchr(s->penalty, ':');
	int n = iso_snprintf(s->text, sizeof s->text, "%.*s:%s%.17g%s%s%s", (int)strcspn(s->penalty, ":"),
	                     s->penalty, s->relative ? "rel=" : "", s->strength[k],
	                     colon && colon[1] ? "," : "", colon ? colon + 1 : "", more);

	if (n >= (int)sizeof s->text) return iso_fail(ISO_EARG, "--penalty is too long: %s", s->penalty);
	give(p, "penalty", s->text);
	return name_image(s, s->path, k);
}

int scan_begin(struct scan *s, iso_problem *p, struct cmd *c, const char *out)
{
	char path[PATH_MAX];
	int st;

	if (!s->list) {
		if (s->background || s->region)
			return iso_fail(ISO_EARG, "--beta-background and --beta-region go with --beta-scan");
		return ISO_OK;
	}
	if ((st = parse(s))) return st;
	s->out = out;
	s->penalty = p->s.penalties.text;
	if (!(method_find(p->m, p->s.method)->takes & TAKES_PAIRS) || !s->penalty)
		return iso_fail(
			ISO_EARG,
			"--beta-scan needs --method svrg, or another of these, and --penalty, such as rdp");
	if (!s->background != !s->region)
		return iso_fail(ISO_EARG, "--beta-background and --beta-region go together");
	if (cmd_given(c, "frames") || cmd_given(c, "resume") || cmd_given(c, "curve") ||
	    cmd_given(c, "save-every"))
		return iso_fail(ISO_EARG,
		                "--beta-scan does not go with --frames, --resume, --curve or --save-every");
	if ((st = name_page(s)) || (st = iso_target_check(s->page, c->force))) return st;
	for (int k = 0; k < s->n; k++)
		if ((st = name_image(s, path, k)) || (st = cmd_check_array(c, path))) return st;
	return set_strength(s, p, 0, "");
}

/* ---- the runs ---- */

/* Parameters of the kind that the first run took from its start image: the others have the same. */
static void found(char *more, size_t size, const struct scan *s, const json_t *map)
{
	const struct iso_prior_parameter *q;
	enum iso_prior_kind kind;
	size_t n = 0;

	more[0] = '\0';
	if (iso_prior_kind_of(&kind, json_string_value(json_object_get(map, "penalty")))) return;
	for (int i = 0; (q = iso_prior_parameter(kind, i)) && n < size; i++) {
		char word[16];

		snprintf(word, sizeof word, "%s=", q->name);
		if (q->rule == ISO_PRIOR_NUMBER || strstr(s->penalty, word)) continue;
		n += (size_t)iso_snprintf(more + n, size - n, ",%s%.17g", word,
		                          json_number_value(json_object_get(map, q->name)));
	}
}

static double last(const json_t *looks, const char *name)
{
	const json_t *list = json_object_get(looks, name);
	const json_t *v = json_array_get(list, json_array_size(list) - 1);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static struct iso_scan_point point_of(const json_t *map)
{
	const json_t *looks = json_object_get(map, "looks");
	double beta = json_number_value(json_object_get(map, "beta"));

	return (struct iso_scan_point){
		.relative = json_number_value(json_object_get(map, "relative")),
		.beta = beta,
		.loglik = last(looks, "loglik"),
		.penalty = last(looks, "penalty") / beta,
		.passes = json_number_value(json_object_get(map, "passes")),
		.converged = json_is_true(json_object_get(map, "converged")),
		.noise = NAN,
		.contrast = NAN,
	};
}

/* Noise and contrast of the image that was just written. */
static int look(struct iso_scan_point *p, const struct scan *s, const struct iso_array mask[2])
{
	struct iso_array x = { 0 };
	struct iso_roi_stats of[2] = { { .size = sizeof *of }, { .size = sizeof *of } };
	int st = iso_read_image(&x, s->path, ISO_FINITE, NULL);

	for (int i = 0; i < 2 && !st; i++)
		st = iso_measure_roi(&of[i], &x,
		                     &(const struct iso_roi){ .kind = ISO_ROI_MASK, .mask = &mask[i] });
	if (!st) {
		p->noise = of[0].std / of[0].mean;
		p->contrast = of[1].mean / of[0].mean;
	}
	iso_array_free(&x);
	return st;
}

static int write_page(struct scan *s, const struct iso_scan_point *p)
{
	char names[ISO_REPORT_MOST][PATH_MAX];
	const char *paths[ISO_REPORT_MOST];
	struct iso_text page = { 0 };
	struct iso_report r;
	int n = s->n < ISO_REPORT_MOST ? s->n : ISO_REPORT_MOST, st = ISO_OK;

	for (int k = 0; k < n && !st; k++) {
		paths[k] = names[k];
		st = name_image(s, names[k],
		                k * (s->n - 1) / (n - 1)); /* from the weakest to the strongest */
	}
	if (st || (st = iso_report_read(&r, n, paths, NULL))) return st;
	if (!(st = iso_report_scan(&page, &r, s->n, p))) st = iso_out_text(s->page, page.v);
	iso_text_free(&page);
	iso_report_free(&r);
	return st;
}

static int run_all(struct scan *s, iso_problem *p, struct cmd *c, const struct iso_array mask[2])
{
	struct iso_scan_point point[SCAN_MOST];
	char more[64] = "";
	int st = ISO_OK;

	for (int k = 0; k < s->n && !st; k++) {
		if (k > 0) {
			memcpy(s->from, s->path, sizeof s->from);
			give(p, "start", s->from);
			if ((st = set_strength(s, p, k, more))) break;
		}
		record_part(p->record, "strength", k + 1, s->n);
		if ((st = problem_record_parameters(p)) || (st = iso_problem_recon(NULL, s->path, p))) break;
		const json_t *map = json_object_get(json_object_get(c->record.root, "results"), "map");

		point[k] = point_of(map);
		if (k == 0) found(more, sizeof more, s, map);
		if (s->region) st = look(&point[k], s, mask);
	}
	return st ? st : write_page(s, point);
}

int scan_run(struct scan *s, iso_problem *p, struct cmd *c)
{
	const char *const path[2] = { s->background, s->region };
	struct iso_array mask[2] = { 0 };
	int st = ISO_OK;

	for (int i = 0; i < 2 && path[i] && !st; i++)
		if (!(st = record_input(&c->record, path[i])))
			st = iso_read_image(&mask[i], path[i], ISO_FINITE, NULL);
	if (!st) st = run_all(s, p, c, mask);
	for (int i = 0; i < 2; i++) iso_array_free(&mask[i]);
	return st;
}
