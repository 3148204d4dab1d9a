/* SPDX-License-Identifier: BSD-3-Clause */
/* 'response' of model ray: lines of an event by the response of its crystals, and the weights of pairs. */
#include "model_ray.h"

#include "physics/response/response.h"
#include "scanner/scanner.h"

enum { LINES = 25 }; /* the default of 'response-lines' */

static double weigh(const void *response, const double p1[3], const double p2[3])
{
	return response_pair_weight(response, p1, p2);
}

static int check(const struct ray_problem *ray)
{
	if (!ray->response_file) {
		if (ray->response_lines != LINES)
			return iso_fail(ISO_EARG, "'response-lines' needs 'response'");
		return ISO_OK;
	}
	if (ray->rays > 1)
		return iso_fail(ISO_EARG,
		                "'rays' and 'response' both say where the lines of an event lie: give "
		                "one of them ('response-lines' says how many)");
	if (ray->response_lines != 9 && ray->response_lines != 25 && ray->response_lines != 49)
		return iso_fail(ISO_EARG, "'response-lines' is %" PRId64 ", must be 9, 25 or 49",
		                ray->response_lines);
	if (!ray->s) return iso_fail(ISO_EARG, "'response' needs 'scanner', a description with its crystals");
	return ISO_OK;
}

/* What the record and the log say of the table. */
static int tell(struct ray_problem *ray)
{
	struct record *record = ray->p->record;
	struct iso_response_info i = { .size = sizeof i };
	int st = iso_response_describe(&i, ray->response);

	if (st) return st;
	if (i.joined > 0)
		record_warn(record,
		            "%s: %" PRId64
		            " of its histograms of offsets have fewer than %d counts, and were "
		            "joined with those of neighbouring crystals; isotome response with more photons "
		            "leaves each its own",
		            ray->response_file, i.joined, RESPONSE_FEW);
	json_t *told =
		record_pack("{s:i, s:f, s:f, s:i, s:s, s:f, s:f, s:i}", "lines", (int)ray->lines, "area_mm2",
	                    i.area_mm2, "chi2", i.chi2, "joined", (int)i.joined, "scanner", i.scanner,
	                    "depth_mm", i.depth_mm, "photons", (double)i.photons, "nodes", ray->weights->p);

	return record_result(record, "response", told);
}

int ray_response_load(struct ray_problem *ray)
{
	int st = check(ray);

	ray->lines = ray->response_file ? ray->response_lines : ray->rays;
	if (st || !ray->response_file) return st;
	ray_response_free(ray);
	if ((st = iso_response_read(&ray->response, ray->response_file)) ||
	    (st = record_input(ray->p->record, ray->response_file)))
		return st;
	if (!(ray->weights = calloc(1, sizeof *ray->weights)))
		return iso_fail_memory("response", sizeof *ray->weights);
	int p = ray->lines == 9 ? 3 : ray->lines == 25 ? 5 : 7;

	if ((st = response_view(ray->weights, ray->response, ray->s, p))) return st;
	ray->s->weigh = weigh;
	ray->s->response = ray->weights;
	return tell(ray);
}

void ray_response_free(struct ray_problem *ray)
{
	if (ray->s) ray->s->weigh = NULL;
	iso_response_free(ray->response);
	free(ray->weights);
	ray->response = NULL;
	ray->weights = NULL;
}
