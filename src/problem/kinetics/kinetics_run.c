/* SPDX-License-Identifier: BSD-3-Clause */
/* A reconstruction with 'kinetics': basis, bins, nested EM, and what it leaves. */
#include "kinetic_run.h"

#include "file/out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the basis ---- */

int kinetics_check_times(const struct frames *f, double duration_s)
{
	for (int m = 0; m < f->n && duration_s > 0; m++)
		if (f->edge_s[m] >= duration_s)
			return iso_fail(ISO_EARG,
			                "'frames': bin %d begins at %g s, behind the end of the scan, which "
			                "took %g s",
			                m + 1, f->edge_s[m], duration_s);
	return ISO_OK;
}

static int take_edges(struct kinetic_run *k)
{
	const struct frames *f = &k->r->s->frames;

	k->bins = f->n;
	ISO_HOST(&k->room, k->edge, k->bins + 1);
	ISO_HOST(&k->room, k->weight, k->bins);
	if (k->room.status) return k->room.status;
	for (int m = 0; m < k->bins; m++) {
		k->edge[m] = frames_begin_s(f, m);
		k->edge[m + 1] = frames_end_s(f, m);
	}
	return ISO_OK;
}

static int check_input_unit(struct kinetic_run *k)
{
	const char *input = k->r->s->kinetics.input;
	struct kinetic_frames f = { 0 };
	char path[PATH_MAX];
	int length, st;

	if (!kinetic_input_is_image(&length, input)) return ISO_OK;
	if (!(st = recon_path(path, input, length))) st = kinetic_frames_read(&f, k->r->record, path, true);
	if (!st && strcmp(f.unit, k->r->problem->found.unit) != 0)
		st = iso_refuse(path, "its frames are in %s, the image will be in %s",
		                *f.unit ? f.unit : "no unit", k->r->problem->found.unit);
	kinetic_frames_free(&f);
	return st;
}

static int make_basis(struct kinetic_run *k)
{
	const struct settings *s = k->r->s;
	const struct kinetic_words w = kinetic_words_of(&s->kinetics);
	int st = take_edges(k);

	if (!st) st = check_input_unit(k);
	if (!st)
		st = kinetic_basis_make(&k->basis, k->r->record, &w, s->kinetics.spec, s->frames.half_life_s,
		                        k->edge[0]);
	if (st) return st;
	k->k = iso_basis_count(k->basis);
	if (k->bins < k->k)
		return iso_fail(
			ISO_EARG,
			"'kinetics' has %d coefficients and 'frames' %d bins, must be as many or more", k->k,
			k->bins);
	if (s->kinetics.beta && s->kinetics.n_beta != k->k)
		return iso_fail(ISO_EARG, "'penalty' has %d strengths, the model %d coefficients",
		                s->kinetics.n_beta, k->k);
	ISO_HOST(&k->room, k->mean, k->k * k->bins);
	const struct iso_bins bins = { sizeof bins, k->bins, k->edge, s->frames.live, s->frames.half_life_s };

	return k->room.status ? k->room.status : iso_basis_bins(k->mean, NULL, k->basis, &bins);
}

/* ---- the start ---- */

static int make_image(struct kinetic_run *k)
{
	const struct iso_grid *g = &k->r->grid;
	struct iso_array *x = &k->r->x;
	int st = iso_array_create(x, 4, (const int64_t[]){ k->k, g->n[2], g->n[1], g->n[0] });

	x->has_grid = true;
	x->grid = *g;
	return st;
}

static int read_start(struct kinetic_run *k)
{
	struct iso_array a = { 0 };
	const char *path = k->r->s->start;
	int st = record_read(k->r->record, &a, path, ISO_NONNEGATIVE);

	if (!st && a.n != k->r->x.n)
		st = iso_refuse(path,
		                "has %" PRId64 " values, expected %d coefficients of %" PRId64 " voxels", a.n,
		                k->k, k->sens.n);
	if (!st && a.v) memcpy(k->r->x.v, a.v, (size_t)a.n * sizeof *a.v);
	iso_array_free(&a);
	return st ? st : record_input(k->r->record, path);
}

static int make_start(struct kinetic_run *k)
{
	const struct model_found *is = &k->r->problem->found;
	int st = make_image(k);

	if (st) return st;
	return k->r->s->start ? read_start(k) : iso_kinetic_start(k->r->x.v, &k->em, (double)is->rows);
}

/* ---- the run ---- */

static void fill_em(struct kinetic_run *k)
{
	const struct settings *s = k->r->s;

	k->em = (struct iso_kinetic){
		.size = sizeof k->em,
		.op = k->r->op,
		.bins = k->bins,
		.coefficients = k->k,
		.iterations = (int)s->iterations,
		.inner = (int)s->kinetics.inner,
		.mean = k->mean,
		.weight = k->weight,
		.data = { k->r->data.y, k->r->data.add, k->r->data.mult },
		.sens = k->sens.v,
	};
}

static int describe_run(struct kinetic_run *k, const struct iso_kinetic_result *of)
{
	struct recon *r = k->r;
	json_t *bins = json_array();
	int st;

	for (int m = 0; m < k->bins; m++) json_array_append_new(bins, json_integer(k->in_bin[m]));
	if ((st = record_result(r->record, "phi", record_reals(of->n, of->phi))) ||
	    (st = record_result(r->record, "resumed_from_update", json_integer(of->resumed_from)))) {
		json_decref(bins);
		return st;
	}
	if ((st = record_result(r->record, "events_of_bins", bins)) ||
	    (st = record_result(r->record, "basis_means", record_reals(k->k * k->bins, k->mean))) ||
	    (st = record_result(r->record, "bin_weights", record_reals(k->bins, k->weight))))
		return st;
	return record_result(r->record, "events",
	                     record_pack("{s:I, s:I, s:f}", "used", (json_int_t)of->used, "skipped",
	                                 (json_int_t)of->skipped, "counts_lost", of->lost));
}

static int iterate(struct kinetic_run *k)
{
	struct iso_kinetic_result of = { .size = sizeof of };
	struct recon *r = k->r;
	struct iso_run run;
	int st = recon_run(r, &run, true);

	if (!st) st = iso_kinetic_run(r->x.v, &of, &k->em, &run);
	record_stage(r->record, NULL);
	if (!st && of.used == 0)
		st = iso_fail(ISO_EINPUT, "none of the %" PRId64 " events can be used", of.skipped);
	if (!st && of.stopped) st = recon_stopped_early(r, of.n / (int)r->s->subsets);
	if (!st) st = describe_run(k, &of);
	iso_kinetic_result_free(&of);
	return st;
}

/* Each coefficient through the filter. */
static int filter(struct kinetic_run *k)
{
	int st = ISO_OK;

	for (int c = 0; c < k->k && !st && k->r->s->filter_text; c++) {
		iso_real *x = k->r->x.v + c * k->sens.n;

		st = iso_filter_host(x, k->r->ctx, &k->r->s->filter, &k->r->grid);
		for (int64_t i = 0; i < k->sens.n && !st; i++)
			if (!(k->sens.v[i] > 0)) x[i] = 0;
	}
	return st;
}

static int describe(struct kinetic_run *k)
{
	struct recon *r = k->r;
	const struct settings *s = r->s;
	json_t *maps;
	double *duration;
	int st;

	ISO_HOST(&k->room, duration, k->bins);
	if (k->room.status) return k->room.status;

	maps = json_object();
	for (int i = 0; i < iso_basis_maps(k->basis); i++) {
		struct iso_basis_map m = { .size = sizeof m };

		if ((st = iso_basis_map(&m, k->basis, i))) {
			json_decref(maps);
			return st;
		}
		json_object_set_new(maps, m.name, json_string(m.unit));
	}
	if ((st = record_result(r->record, "maps", maps))) return st;
	for (int m = 0; m < k->bins; m++) duration[m] = k->edge[m + 1] - k->edge[m];
	if ((st = record_set(r->record, "BinTimesStart", record_reals(k->bins, k->edge))) ||
	    (st = record_set(r->record, "BinDuration", record_reals(k->bins, duration))))
		return st;
	return recon_describe(r, "subsets", "iterations",
	                      json_pack("[I,I]", (json_int_t)s->subsets, (json_int_t)s->iterations));
}

static int run(struct kinetic_run *k)
{
	struct recon *r = k->r;
	iso_real *start = NULL;
	int st = make_basis(k);

	if (!st) st = kinetic_bins_make(k);
	if (st) return st;
	fill_em(k);
	if ((st = make_start(k)) || (st = kinetic_penalty_make(k, r->x.v))) return st;
	ISO_HOST(&k->room, start, r->x.n);
	if ((st = k->room.status)) return st;
	memcpy(start, r->x.v, (size_t)r->x.n * sizeof *start);
	if ((st = iterate(k)) || (st = filter(k)) || (st = recon_check_image(r)) || (st = describe(k)) ||
	    (st = record_ranks(r->record, r->ctx, &r->s->since)) || (st = kinetic_maps_write(k, start)))
		return st;
	if (r->m->finish) st = r->m->finish(r->problem);
	if (!st && r->s->out) {
		st = problem_write_image(r->problem, r->s->out, &r->x, recon_stop(r));
		st = recon_stopped(r, st, r->s->checkpoint);
		if (!st) iso_out_remove(r->s->checkpoint);
	}
	return st;
}

int kinetics_run(struct recon *r, struct iso_array *to, const struct kinetic_host *host)
{
	struct kinetic_run k = { .r = r, .host = host, .room = iso_room_of(NULL, "kinetics") };
	int st = ISO_OK;

	if (r->problem->found.on_disk)
		st = iso_fail(ISO_EARG, "'kinetics' needs the events in memory, which is too small for them: "
		                        "raise the memory "
		                        "limit, or take a part of the events ('isotome convert --share')");
	if (!st) st = run(&k);
	if (!st) recon_give(r, to);
	kinetic_penalty_free(&k);
	iso_basis_free(k.basis);
	iso_room_free(&k.room);
	return st;
}
