/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings whose activity follows curves: a curve a label of the image, or images of coefficients of basis curves. */
#include "simulate_tacs.h"

#include "core/size.h"
#include "file/out.h"
#include "io/kinds.h"
#include "text/number_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EDGES = 100001, MOST_LABEL = 100000 };

bool simulate_has_tacs(const struct simulate *s)
{
	return s->tacs || s->basis;
}

int simulate_check_tacs(const struct simulate *s)
{
	if (!s->truth_tacs != !s->truth_edges)
		return iso_fail(ISO_EARG, "--truth-tacs and --truth-edges go together");
	if (!simulate_has_tacs(s))
		return s->truth_tacs ? iso_fail(ISO_EARG, "--truth-tacs needs --tacs or --basis") : ISO_OK;
	if (s->tacs && s->basis) return iso_fail(ISO_EARG, "--tacs and --basis: give one of them");
	if (!(s->duration_s > 0))
		return iso_fail(ISO_EARG, "--%s needs --duration-s", s->tacs ? "tacs" : "basis");
	if (s->exact || s->by_rate || s->dead_time || simulate_moves(s) || s->gates || s->singles ||
	    s->randoms >= 1)
		return iso_fail(ISO_EARG,
		                "--%s does not go with --exact, --randoms-by-rate, --dead-time, --singles, "
		                "objects that move, or randoms alone",
		                s->tacs ? "tacs" : "basis");
	if (s->out && !iso_kind_keeps_crystals(s->out))
		return iso_fail(
			ISO_EARG,
			"--%s: %s has no place for the times of events: write CASToR (.Cdh) or PETSIRD "
			"(.petsird)",
			s->tacs ? "tacs" : "basis", s->out);
	return ISO_OK;
}

/* ---- components ---- */

static int make_component(struct tacs *t, int k, const struct iso_array *image, const iso_curve *curve)
{
	struct simulate_component *c = &t->c[k];
	int st = iso_array_on_grid(&c->activity, &image->grid);

	c->curve = curve;
	return st;
}

static int bad_label(const char *path, const char *name)
{
	return iso_fail(ISO_EINPUT, "%s: column '%s' is no label; a label is a whole number from 1 to %d",
	                path, name, MOST_LABEL);
}

static int of_label(struct tacs *t, int k, const struct iso_array *image, const struct simulate *s)
{
	const char *name = iso_curve_name(t->curve[k]);
	int64_t voxels = 0;
	double label;
	int st;

	if (!iso_number(&label, name, strlen(name)) || !(label >= 1 && label <= MOST_LABEL) ||
	    label != (int)label)
		return bad_label(s->tacs, name);
	t->label[k] = (int)label;
	if ((st = make_component(t, k, image, t->curve[k]))) return st;
	for (int64_t i = 0; i < image->n; i++)
		if (image->v[i] == (iso_real)label) {
			t->c[k].activity.v[i] = 1;
			voxels++;
		}
	return voxels > 0
	               ? ISO_OK
	               : iso_fail(ISO_EINPUT, "%s: no voxel of %s has the label %s", s->tacs, s->image, name);
}

/* Labels without a curve have no activity. */
static void warn_of_labels(const struct tacs *t, struct cmd *c, const struct iso_array *image)
{
	int told = 0;

	for (int label = 1; label <= MOST_LABEL && told < 8; label++) {
		bool there = false, known = false;

		for (int k = 0; k < t->n; k++) known |= t->label[k] == label;
		if (known) continue;
		for (int64_t i = 0; i < image->n && !there; i++) there = image->v[i] == (iso_real)label;
		if (!there && label > 256) break;
		if (!there) continue;
		record_warn(&c->record, "label %d has no curve: it has no activity", label);
		told++;
	}
}

static int of_labels(struct tacs *t, struct cmd *c, const struct simulate *s, const struct iso_array *image)
{
	int st = ISO_OK;

	for (int k = 0; k < t->n && !st; k++) st = of_label(t, k, image, s);
	if (!st) warn_of_labels(t, c, image);
	return st;
}

static int of_images(struct tacs *t, const struct simulate *s, const struct iso_array *image)
{
	int st = ISO_OK;

	if (image->n_dim != 4 || image->dim[0] != t->n)
		return iso_fail(ISO_EINPUT,
		                "%s: %d curves, so %s must be a 4-D image of as many coefficients", s->basis,
		                t->n, s->image);
	for (int k = 0; k < t->n && !st; k++) {
		st = make_component(t, k, image, t->curve[k]);
		if (!st)
			memcpy(t->c[k].activity.v, image->v + k * t->c[k].activity.n,
			       (size_t)t->c[k].activity.n * sizeof *image->v);
	}
	return st;
}

/* ---- bins of the truth ---- */

static int make_bins(struct tacs *t, const struct simulate *s)
{
	int n, st;
	bool rising;

	if (!s->truth_edges) return ISO_OK;
	if ((st = number_list_read(&t->edge, &n, 2, MOST_EDGES, s->truth_edges))) return st;
	rising = n >= 2 && t->edge[0] >= 0;
	for (int i = 1; i < n; i++) rising = rising && t->edge[i] > t->edge[i - 1];
	if (!rising)
		return iso_fail(ISO_EARG,
		                "--truth-edges is '%.200s', must be 2 or more rising times in s, from 0 on",
		                s->truth_edges);
	t->bins.n = n - 1;
	t->bins.edge_s = t->edge;
	const int64_t all = (int64_t)t->n * t->bins.n;

	t->bins.mean = size_alloc(all, sizeof *t->bins.mean);
	t->bins.decays = size_alloc(all, sizeof *t->bins.decays);
	t->bins.trues = size_alloc(all, sizeof *t->bins.trues);
	return t->bins.mean && t->bins.decays && t->bins.trues ? ISO_OK : iso_fail_memory("truth", 24 * all);
}

int simulate_read_tacs(struct tacs *t, struct cmd *c, const struct simulate *s, const struct iso_array *image)
{
	const char *path = s->tacs ? s->tacs : s->basis;
	int st;

	if (!simulate_has_tacs(s)) return ISO_OK;
	if (!image->has_grid) return iso_fail(ISO_EINPUT, "%s: holds no voxel size", s->image);
	if ((st = iso_curves_read(&t->curve, &t->curves, path)) || (st = record_input(&c->record, path)))
		return st;
	t->c = size_alloc(t->curves, sizeof *t->c);
	t->label = size_alloc(t->curves, sizeof *t->label);
	if (!t->c || !t->label) return iso_fail_memory("components", t->curves * (int64_t)sizeof *t->c);
	t->n = t->curves;
	st = s->tacs ? of_labels(t, c, s, image) : of_images(t, s, image);
	return st ? st : make_bins(t, s);
}

void simulate_free_tacs(struct tacs *t)
{
	for (int k = 0; t->c && k < t->n; k++) iso_array_free(&t->c[k].activity);
	free(t->c);
	free(t->label);
	iso_curves_free(t->curve, t->curves);
	free(t->edge);
	free(t->bins.mean);
	free(t->bins.decays);
	free(t->bins.trues);
}

/* ---- what is told ---- */

static int write_truth(const struct tacs *t, const char *path)
{
	char line[200], *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f) return iso_fail_memory("truth", 1);
	fputs("component\tbegin_s\tend_s\tmean\tdecays_expected\trecorded\n", f);
	for (int k = 0; k < t->n; k++)
		for (int m = 0; m < t->bins.n; m++) {
			const int at = k * t->bins.n + m;

			iso_snprintf(line, sizeof line, "%d\t%.9g\t%.9g\t%.9g\t%.9g\t%lld\n",
			             t->label[k] ? t->label[k] : k + 1, t->edge[m], t->edge[m + 1],
			             t->bins.mean[at], t->bins.decays[at], (long long)t->bins.trues[at]);
			fputs(line, f);
		}
	bool whole = fclose(f) == 0 && text;
	int st = whole ? iso_out_text(path, text) : iso_fail_memory("truth", (int64_t)size);

	free(text);
	return st;
}

int simulate_tell_tacs(const struct tacs *t, struct cmd *c, const struct simulate *s)
{
	json_t *list = json_array();

	for (int k = 0; k < t->n; k++)
		json_array_append_new(list, record_pack("{s:i, s:f, s:f}", "component",
		                                        t->label[k] ? t->label[k] : k + 1, "seen",
		                                        t->c[k].seen, "decays_expected", t->c[k].expected));
	int st = record_result(&c->record, "components", list);

	return !st && s->truth_tacs ? write_truth(t, s->truth_tacs) : st;
}
