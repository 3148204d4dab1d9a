/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine allows a run of `bench end-to-end`, stage by stage. */
#include "e2e.h"

#include "limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STARTS 3 /* of the program, without work */

/* ---- rates ---- */

static const char *text(const struct e2e_machine *m, const char *key)
{
	const char *t = json_string_value(json_object_get(m->told, key));

	return t ? t : "";
}

static int measure_rates(struct e2e_machine *m, struct e2e_inputs *in, const char *common)
{
	struct child child;
	char line[256];
	int st;

	snprintf(line, sizeof line, "bench limits --folder .%s", common);
	term_note(&in->c->term, "isotome %s", line);
	if ((st = child_run(&child, in->folder, line))) return st;
	m->told = json_incref(json_object_get(child.record, "results"));
	json_decref(child.record);
	for (int i = 0; i < BENCH_RATES; i++)
		m->rate[i] = json_number_value(json_object_get(m->told, bench_rate_keys[i]));
	m->device = text(m, "device");
	m->device_name = text(m, "device_name");
	in->cuda = m->rate[BENCH_LINK] > 0;
	return ISO_OK;
}

/* The least of some. */
static int measure_start(struct e2e_machine *m, struct e2e_inputs *in, const char *common)
{
	struct child child;
	char line[256];
	int st = ISO_OK;

	snprintf(line, sizeof line, "bench limits --dry-run%s", common);
	m->start_s = INFINITY;
	for (int i = 0; i < STARTS && !st; i++) {
		st = child_run(&child, in->folder, line);
		json_decref(child.record);
		m->start_s = fmin(m->start_s, child.wall_s);
	}
	if (!st && json_object_set_new(m->told, "start_s", record_real(m->start_s)))
		st = iso_fail_memory("bench", 0);
	return st;
}

int e2e_measure(struct e2e_machine *m, struct e2e_inputs *in, const char *common)
{
	int st = measure_rates(m, in, common);

	return st ? st : measure_start(m, in, common);
}

/* ---- the iterations ---- */

static void numbers(double *v, int n, const json_t *record, const char *group, const char *key)
{
	const json_t *value = json_object_get(json_object_get(record, group), key);

	for (int i = 0; i < n; i++)
		v[i] = json_number_value(n > 1 ? json_array_get(value, (size_t)i) : value);
}

/* As the record says that it was run. */
static struct iso_ray ray_of(const json_t *record)
{
	const char *projector =
		json_string_value(json_object_get(json_object_get(record, "parameters"), "projector"));
	struct iso_ray p = { .size = sizeof p, .n_sub = 1 };
	double n[3], rays;

	numbers(n, 3, record, "parameters", "grid");
	numbers(p.grid.voxel, 3, record, "parameters", "voxel");
	numbers(p.grid.centre, 3, record, "parameters", "centre");
	numbers(&rays, 1, record, "parameters", "rays");
	numbers(&p.tof_truncate, 1, record, "parameters", "tof-truncate");
	numbers(&p.tof_fwhm_ps, 1, record, "results", "tof_fwhm_ps");
	numbers(&p.tof_bin_ps, 1, record, "results", "tof_bin_ps");
	for (int a = 0; a < 3; a++) p.grid.n[a] = (int64_t)n[a];
	p.rays = (int)rays;
	p.projector = projector && strcmp(projector, "joseph") == 0 ? ISO_JOSEPH : ISO_SLICE;
	return p;
}

/* Of one pass over all events, both ways: as in the benchmarks ray, strip and srm. */
static double pass_s(const struct e2e_machine *m, const struct e2e_inputs *in, const json_t *record,
                     double *visits)
{
	const struct iso_strip strip = { .size = sizeof strip,
		                         .strips = BENCH_STRIPS,
		                         .ny = 65,
		                         .nz = 75,
		                         .pixel = 4,
		                         .kernel = ISO_STRIP_EQ7,
		                         .n_sub = 1 };

	if (in->kind == E2E_RAY) {
		struct iso_ray p = ray_of(record);

		*visits = (double)in->n * iso_bench_visits(&p, in->rays.v, in->rays.n);
		return *visits / m->rate[BENCH_LOAD] + *visits / m->rate[BENCH_ADD];
	}
	if (in->kind == E2E_STRIP) {
		*visits = (double)in->n * bench_strip_pixels(&strip, &in->strips);
		return *visits * bench_strip_operations(strip.kernel) / m->rate[BENCH_OPERATION];
	}
	*visits = 2 * in->multiply_adds;
	return *visits / m->rate[BENCH_FMA];
}

/* ---- the whole run ---- */

static double bring_s_of(const struct e2e_machine *m, const struct e2e_inputs *in)
{
	double bytes = (double)in->bytes;

	return in->cuda ? bytes / m->rate[BENCH_LINK] : 2 * bytes / m->rate[BENCH_MEMORY];
}

static const char *way_of(const json_t *record)
{
	const json_t *streamed = json_object_get(json_object_get(record, "results"), "streamed");

	if (!streamed) return "memory";
	if (json_integer_value(json_object_get(streamed, "kept")) ==
	    json_integer_value(json_object_get(streamed, "blocks")))
		return "straight";
	return json_is_true(json_object_get(streamed, "scratch")) ? "scratch" : "file";
}

void e2e_floors(json_t *more, const struct e2e_machine *m, const struct e2e_inputs *in, const json_t *record)
{
	double iterations, visits, kernel_s = pass_s(m, in, record, &visits);

	numbers(&iterations, 1, record, "parameters", "iterations");
	json_object_set_new(more, "way", json_string(way_of(record)));
	json_object_set_new(more, "floor_file_s", record_real((double)in->bytes / m->rate[BENCH_FILE]));
	json_object_set_new(more, "floor_link_s", record_real(bring_s_of(m, in)));
	json_object_set_new(more, "floor_kernel_s", record_real(iterations * kernel_s));
}

/* ---- stages ---- */

/* Reading is bound by the file and, as a CUDA device is opened meanwhile, by the start of a program that opens one;
   factors and order by what brings the events to the device or, on the CPU, once through memory; the iterations by
   their kernels. All together: opening the device, reading and bringing may go on at the same time, nothing else. */
void e2e_limit(struct bench_row *row, const struct e2e_machine *m, const struct e2e_inputs *in,
               const json_t *record, const char *stage)
{
	double bytes = (double)in->bytes, file_s = bytes / m->rate[BENCH_FILE];
	double bring_s = bring_s_of(m, in);
	double read_s = in->cuda ? fmax(file_s, m->start_s) : file_s;
	double iterations, visits, kernel_s = pass_s(m, in, record, &visits);

	numbers(&iterations, 1, record, "parameters", "iterations");
	if (strcmp(stage, "read") == 0) {
		row->bytes = bytes;
		row->limit_s = read_s;
		row->limit = read_s > file_s ? "start" : "file read";
	} else if (strcmp(stage, "factors") == 0) {
		row->bytes = bytes;
		row->limit_s = bring_s;
		row->limit = in->cuda ? "link" : "memory";
	} else if (strcmp(stage, "reconstruct") == 0) {
		row->visits = iterations * visits;
		row->limit_s = iterations * kernel_s;
		row->limit = "kernel";
	} else if (strcmp(stage, "wall") == 0) {
		row->bytes = bytes;
		row->limit_s = fmax(m->start_s, fmax(file_s, bring_s)) + iterations * kernel_s;
		row->limit = "all";
	}
}
