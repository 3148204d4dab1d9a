/* SPDX-License-Identifier: BSD-3-Clause */
/* The curves of penalised likelihood in a report: the objective Phi and its two parts, and the gradient, over passes. */
#include "page.h"

#include "core/size.h"
#include "report/markup/value.h"

#include <math.h>

#define MOST_LOOKS 1000 /* points of a curve */

struct looks {
	int64_t n;
	bool gap; /* `gradient` is the relative duality gap, of primal-dual methods */
	double passes[MOST_LOOKS], phi[MOST_LOOKS], loglik[MOST_LOOKS], penalty[MOST_LOOKS],
		gradient[MOST_LOOKS];
};

static double number(const json_t *list, size_t i)
{
	const json_t *v = json_array_get(list, i);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* All looks; every k-th where there are too many. */
static void take(struct looks *l, const json_t *of)
{
	const json_t *passes = json_object_get(of, "passes"), *phi = json_object_get(of, "objective"),
		     *loglik = json_object_get(of, "loglik"), *penalty = json_object_get(of, "penalty"),
		     *gradient = json_object_get(of, "gradient");
	size_t n = json_array_size(passes), step = n / MOST_LOOKS + 1;

	l->gap = !gradient;
	if (l->gap) gradient = json_object_get(of, "relative_gap");

	l->n = 0;
	for (size_t i = 0; i < n; i += step, l->n++) {
		l->passes[l->n] = number(passes, i);
		l->phi[l->n] = number(phi, i);
		l->loglik[l->n] = number(loglik, i);
		l->penalty[l->n] = number(penalty, i);
		l->gradient[l->n] = number(gradient, i);
	}
}

static void draw(struct iso_text *t, const struct iso_svg_chart *chart, const char *name)
{
	iso_text_add(t, "<figure class='chart'>");
	iso_svg_chart(t, chart);
	iso_text_html(t, "<figcaption><b>%.60s</b></figcaption></figure>\n", name);
}

/* The first look is of the start, far below the others: left out where three more follow. */
static void draw_image(struct iso_text *t, const struct iso_report *r, int i, struct looks *l)
{
	const json_t *results = json_object_get(iso_history_recon(&r->image[i].history), "results");
	const char *name = iso_value_base(r->image[i].path);

	take(l, json_object_get(json_object_get(results, "map"), "looks"));
	if (l->n < 2) return;
	int64_t from = l->n > 3, n = l->n - from;
	const struct iso_svg_curve phi[] = { { "objective", i + 1, n, l->passes + from, l->phi + from },
		                             { "log-likelihood", 0, n, l->passes + from, l->loglik + from } };
	const struct iso_svg_curve penalty = { "", i + 1, n, l->passes + from, l->penalty + from };
	const struct iso_svg_curve gradient = { "", i + 1, l->n, l->passes, l->gradient };
	const struct iso_svg_chart charts[] = {
		{ "Objective against passes", "passes", "objective", 2, phi, ISO_SVG_PLAIN },
		{ "Penalty against passes", "passes", "beta R", 1, &penalty, ISO_SVG_FROM_ZERO },
		{ l->gap ? "Duality gap against passes" : "Gradient against passes", "passes",
		  l->gap ? "gap / counts" : "|P gradient| / |x|", 1, &gradient, ISO_SVG_LOG },
	};

	for (int k = 0; k < 3; k++) draw(t, &charts[k], name);
}

int iso_report_objective(struct iso_text *t, const struct iso_report *r)
{
	struct iso_text charts = { 0 };
	struct looks *l = size_alloc(1, sizeof *l);

	if (!l) return iso_fail_memory("report", sizeof *l);
	for (int i = 0; i < r->n; i++) draw_image(&charts, r, i, l);
	iso_text_part(t,
	              "<section>\n<h2>Objective</h2>\n<p>Penalised likelihood: objective, which is the "
	              "log-likelihood less the penalty beta R; the penalty by itself; and the preconditioned "
	              "gradient over the size of the image, or the duality gap over the counts, which go to "
	              "0.</p>\n<div class='charts'>\n",
	              &charts, "</div>\n</section>\n");
	free(l);
	return ISO_OK;
}
