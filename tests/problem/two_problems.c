/* SPDX-License-Identifier: BSD-3-Clause */
/* Two problems of different models in one process: interleaved on one thread, then each on a thread of its
   own, several times; every image must be the one that the problem gave alone.

	two_problems SCANNER_OF_RING SCANNER_OF_STRIPS

   scripts/tsan.sh runs it under the thread sanitizer. */
#include <isotome.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 3000, REPEATS = 3 };

/* One problem with a context of its own. */
struct side {
	iso_ctx *ctx;
	iso_problem *p;
	struct iso_array alone, image;
	int st;
	char message[512]; /* of the thread that failed */
};

static int set_all(iso_problem *p, const char *const (*set)[2])
{
	int st = ISO_OK;

	for (; (*set)[0] && !st; set++) st = iso_problem_set(p, (*set)[0], (*set)[1]);
	return st;
}

/* Lines through the middle of a ring of 40 mm radius, spread by a few mm. */
static int make_ray(struct side *s, const char *scanner)
{
	const char *const set[][2] = { { "scanner", scanner }, { "grid", "16" },         { "voxel", "3" },
		                       { "psf", "4" },         { "iterations", "2" },    { "method", "osem" },
		                       { "subsets", "3" },     { "sens-share", "1e-4" }, { NULL, NULL } };
	struct iso_event *v = calloc(EVENTS, sizeof *v);
	struct iso_events e = { .n = EVENTS, .v = v };
	int st;

	for (int i = 0; v && i < EVENTS; i++) {
		double a = 2.4 * i, off = i % 11 - 5;

		v[i] = (struct iso_event){
			.p1 = { (float)(40 * cos(a)), (float)(40 * sin(a)), (float)off },
			.p2 = { (float)(-40 * cos(a) + off), (float)(-40 * sin(a)), (float)-off },
		};
	}
	if (!(st = iso_problem_create(&s->p, s->ctx, "ray")) && !(st = set_all(s->p, set)))
		st = iso_problem_set_events(s->p, "events", &e);
	free(v);
	return st;
}

static int make_strip(struct side *s, const char *scanner)
{
	const char *const set[][2] = { { "scanner", scanner },
		                       { "pixel", "10" },
		                       { "kernel", "tan" },
		                       { "iterations", "2" },
		                       { NULL, NULL } };
	struct iso_strip_event *v = calloc(EVENTS, sizeof *v);
	struct iso_strip_events e = { .n = EVENTS, .v = v };
	int st;

	for (int i = 0; v && i < EVENTS; i++)
		v[i] = (struct iso_strip_event){ (float)(i % 41 - 20), (float)(i % 37 - 18),
			                         (float)(i % 29 - 14) * 5 };
	if (!(st = iso_problem_create(&s->p, s->ctx, "strip")) && !(st = set_all(s->p, set)))
		st = iso_problem_set_strip_events(s->p, &e);
	free(v);
	return st;
}

static void *run(void *arg)
{
	struct side *s = arg;

	for (int i = 0; i < REPEATS && !s->st; i++) {
		iso_array_free(&s->image);
		s->st = iso_problem_recon(&s->image, NULL, s->p);
		if (s->st) snprintf(s->message, sizeof s->message, "%s", iso_message());
	}
	return NULL;
}

static int differs(const struct side *s, const char *when)
{
	bool same = s->image.n == s->alone.n &&
	            memcmp(s->image.v, s->alone.v, (size_t)s->alone.n * sizeof *s->alone.v) == 0;

	if (!same) fprintf(stderr, "another image %s\n", when);
	return same ? 0 : 1;
}

/* Loading, sensitivity and image of the two in turn, on this thread. */
static int interleave(struct side side[2])
{
	struct iso_array sens = { 0 };
	int bad = 0, st = ISO_OK;

	for (int step = 0; step < 2 && !st; step++)
		for (int k = 0; k < 2 && !st; k++) {
			struct side *s = &side[k];

			iso_array_free(step ? &s->image : &sens);
			st = step ? iso_problem_recon(&s->image, NULL, s->p) : iso_problem_sens(&sens, s->p);
		}
	for (int k = 0; k < 2 && !st; k++) bad |= differs(&side[k], "interleaved");
	if (st) fprintf(stderr, "%s\n", iso_message());
	iso_array_free(&sens);
	return st || bad;
}

static int at_once(struct side side[2])
{
	pthread_t thread[2];
	int bad = 0;

	for (int k = 0; k < 2; k++)
		if (pthread_create(&thread[k], NULL, run, &side[k])) return 1;
	for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
	for (int k = 0; k < 2; k++) {
		if (side[k].st) fprintf(stderr, "%s\n", side[k].message);
		bad |= side[k].st || differs(&side[k], "at once");
	}
	return bad;
}

int main(int argc, char **argv)
{
	struct side side[2] = { 0 };
	int bad = argc != 3;

	for (int k = 0; k < 2 && !bad; k++)
		bad = iso_ctx_create(&side[k].ctx, "cpu", 2) ||
		      (k ? make_strip : make_ray)(&side[k], argv[k + 1]) ||
		      iso_problem_recon(&side[k].alone, NULL, side[k].p);
	if (bad) fprintf(stderr, "two_problems: %s\n", argc == 3 ? iso_message() : "two scanners are needed");
	bad = bad || interleave(side) || at_once(side);
	for (int k = 0; k < 2; k++) {
		iso_array_free(&side[k].alone);
		iso_array_free(&side[k].image);
		iso_problem_free(side[k].p);
		iso_ctx_free(side[k].ctx);
	}
	if (!bad) puts("the same images interleaved and at once");
	return bad;
}
