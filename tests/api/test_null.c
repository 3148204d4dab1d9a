/* SPDX-License-Identifier: BSD-3-Clause */
/* Every public function with NULL for each of its pointers, in turn, and for all of them: refused by ISO_EARG where it
   returns a status, else nothing; never a crash. null_gen.py makes the calls from the headers. Each runs in a process
   of its own, so that a crash is told by function and argument. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL (-1)   /* every pointer at once */
#define SECONDS 20 /* no call may take longer */

enum wanted {
	REFUSED_NULL, /* ISO_EARG, by a message that says NULL, or what there is not */
	NOTHING,      /* no status: `returns` of the row */
	NO_CRASH,     /* NULL is allowed, what comes of it depends on the rest */
};

struct row {
	const char *function, *argument;
	int gap; /* the argument that is NULL, or ALL */
	enum wanted wanted;
	double returns;
	double (*call)(int gap);
};

/* What the calls work on. */
static struct {
	iso_ctx *ctx;
	iso_op *op; /* 8 values to 8 */
	iso_scanner *scanner;
	iso_phantom *phantom;
	iso_problem *problem;
	iso_prior *prior;
	iso_em_state *em;
	iso_cg_state *cg;
	iso_fista_state *fista;
	iso_map_state *map;
	iso_pdhg_state *pdhg;
	struct iso_em of_em; /* what the states were made of */
	struct iso_cg of_cg;
	struct iso_fista of_fista;
	struct iso_map of_map;
	struct iso_pdhg of_pdhg;
	struct iso_grid grid; /* 2 x 2 x 2 */
	struct iso_array array;
	struct iso_events events;
	struct iso_plan plan;
	struct iso_panels panels;
	char text[64];
} made;

/* Argument k where there is nothing better: zeros, of more bytes than any struct has, with a size of the struct. */
static void *zeros(int k, size_t size)
{
	static max_align_t room[16][2048];

	memset(room[k], 0, sizeof room[k]);
	assert_true(size < sizeof room[k]);
	memcpy(room[k], &size, sizeof size);
	return room[k];
}

static int emit(void *arg, const struct iso_events *piece)
{
	(void)arg;
	return piece ? ISO_OK : ISO_EARG;
}

static int emit_strips(void *arg, const struct iso_strip_events *piece)
{
	(void)arg;
	return piece ? ISO_OK : ISO_EARG;
}

/* 0 if all bytes are. */
static double all_zeros(const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	while (n > 0 && *b == 0) b++, n--;
	return n > 0;
}

#include "null_calls.h"

static void make_states(void)
{
	static iso_real ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct iso_em_data data = { .y = ones };
	struct iso_sens sens = { 1, 1, ones };
	struct iso_prior_spec spec = { .size = sizeof spec, .grid = made.grid };
	struct iso_em em = { .size = sizeof em, .op = made.op, .data = data, .sens = sens, .iterations = 2 };
	struct iso_cg cg = { .size = sizeof cg, .op = made.op, .y = ones, .iterations = 2 };
	struct iso_fista fista = { .size = sizeof fista,
		                   .op = made.op,
		                   .y = ones,
		                   .grid = made.grid,
		                   .iterations = 2,
		                   .tv_steps = 20 };
	struct iso_map map = { .size = sizeof map, .op = made.op, .data = data, .sens = sens, .passes = 2 };
	struct iso_pdhg pdhg = { .size = sizeof pdhg,
		                 .op = made.op,
		                 .data = data,
		                 .sens = sens,
		                 .grid = made.grid,
		                 .iterations = 2 };

	made.of_em = em;
	made.of_cg = cg;
	made.of_fista = fista;
	made.of_map = map;
	made.of_pdhg = pdhg;
	OK(iso_prior_create(&made.prior, made.ctx, &spec));
	OK(iso_em_create(&made.em, &em, ones));
	OK(iso_cg_create(&made.cg, &cg, ones));
	OK(iso_fista_create(&made.fista, &fista, ones));
	OK(iso_map_create(&made.map, &map, ones));
	OK(iso_pdhg_create(&made.pdhg, &pdhg, ones));
}

static int setup(void **state)
{
	static const iso_real two[8] = { 2, 2, 2, 2, 2, 2, 2, 2 };

	(void)state;
	/* one thread: those of OpenMP would not live on in a child */
	OK(iso_ctx_create(&made.ctx, "cpu", 1));
	OK(iso_diag_create(&made.op, made.ctx, 8, two));
	OK(iso_scanner_read(&made.scanner, TEST_EXAMPLES "/scanners/small-animal.yaml"));
	OK(iso_phantom_create(&made.phantom, "spheres", NULL));
	OK(iso_problem_create(&made.problem, made.ctx, "ray"));
	made.grid = (struct iso_grid){ { 2, 2, 2 }, { 1, 1, 1 }, { 0 } };
	OK(iso_array_on_grid(&made.array, &made.grid));
	make_states();
	iso_scanner *heads = NULL;

	OK(iso_scanner_read(&heads, TEST_EXAMPLES "/scanners/meng2019.yaml"));
	made.panels = *iso_scanner_panels(heads);
	made.panels.crystals[0] = made.panels.crystals[1] = 2;
	iso_scanner_free(heads);
	strcpy(made.text, "no/such/file.nii");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	iso_pdhg_free(made.pdhg);
	iso_map_free(made.map);
	iso_fista_free(made.fista);
	iso_cg_free(made.cg);
	iso_em_free(made.em);
	iso_prior_free(made.prior);
	iso_array_free(&made.array);
	iso_problem_free(made.problem);
	iso_phantom_free(made.phantom);
	iso_scanner_free(made.scanner);
	iso_op_free(made.op);
	iso_ctx_free(made.ctx);
	return 0;
}

/* In the child: 0 if all is well. */
static int judge(const struct row *r)
{
	double found = r->call(r->gap);

	switch (r->wanted) {
	case REFUSED_NULL:
		if (found == ISO_EARG &&
		    (strstr(iso_message(), "NULL") || strstr(iso_message(), "there is no ")))
			return 0;
		print_error("%s: with NULL for %s: status %g, '%s'\n", r->function, r->argument, found,
		            iso_message());
		return 1;
	case NOTHING:
		if (found == r->returns || isnan(found)) return 0;
		print_error("%s: with NULL for %s: %g, not %g\n", r->function, r->argument, found,
		            r->returns);
		return 1;
	default:
		return 0;
	}
}

/* Whether the call does as it should, in a process of its own. */
static bool well(const struct row *r)
{
	int status = 0;

	fflush(NULL);
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		static const int caught[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS }; /* by cmocka */

		for (int i = 0; i < N_OF(caught); i++) signal(caught[i], SIG_DFL);
		alarm(SECONDS);
		_exit(judge(r));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		print_error("%s: with NULL for %s: ended by signal %d\n", r->function, r->argument,
		            WTERMSIG(status));
	return status == 0;
}

static void null_is_no_crash(void **state)
{
	int bad = 0;

	(void)state;
	for (int i = 0; i < N_OF(rows); i++) bad += !well(&rows[i]);
	print_message("%d calls with NULL, %d of them wrong\n", N_OF(rows), bad);
	assert_int_equal(bad, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_is_no_crash),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
