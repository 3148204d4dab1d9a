/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks exchange, and how they agree on a failure; run by mpirun with one to four ranks. */
#include "core/comm.h"
#include "core/loop/fixed.h"
#include "test.h"

static iso_ctx *all_ranks(void)
{
	iso_ctx *ctx = NULL;

	OK(iso_ctx_create_ranks(&ctx, "cpu", 1, NULL));
	return ctx;
}

static void shares_are_all(void **state)
{
	(void)state;
	for (int ranks = 1; ranks < 9; ranks++)
		for (int64_t n = 0; n < 20; n++) {
			int64_t at = 0;

			for (int r = 0; r < ranks; r++) {
				struct iso_rows s = iso_share_of(n, r, ranks);

				assert_true(s.first == at && s.n >= n / ranks && s.n <= n / ranks + 1);
				at += s.n;
			}
			assert_true(at == n);
		}
}

static void sums_and_greatest(void **state)
{
	iso_ctx *ctx = all_ranks();
	int rank = iso_ctx_rank(ctx), ranks = iso_ctx_ranks(ctx);
	int64_t v[3] = { rank, INT64_C(1) << 60, -rank };
	double most[2] = { rank, -rank }, counts = rank + 1, seconds;
	int64_t bytes;

	(void)state;
	OK(iso_comm_sum(ctx, ISO_OK, v, 2));
	assert_true(v[0] == ranks * (ranks - 1) / 2 && v[2] == -rank);
	assert_true(v[1] == (int64_t)((uint64_t)ranks << 60));
	OK(iso_comm_max(ctx, ISO_OK, most, 2));
	assert_true(most[0] == ranks - 1 && most[1] == 0);
	OK(iso_comm_sum_real(ctx, ISO_OK, &counts, 1));
	assert_true(counts == ranks * (ranks + 1) / 2);
	OK(iso_comm_broadcast(ctx, ISO_OK, &rank, sizeof rank));
	assert_true(rank == 0);
	iso_ctx_exchanged(&bytes, &seconds, ctx);
	assert_true(bytes == 16 + 16 + 8 + (int64_t)sizeof rank && seconds >= 0);
	iso_ctx_free(ctx);
}

static void parts_are_gathered(void **state)
{
	iso_ctx *ctx = all_ranks();
	enum { PIECES = 7, LONG = 3 };
	float v[PIECES * LONG], is[PIECES * LONG];
	struct iso_rows mine = iso_share(ctx, PIECES);

	(void)state;
	for (int i = 0; i < PIECES * LONG; i++) {
		is[i] = sqrtf((float)i);
		v[i] = i / LONG >= mine.first && i / LONG < mine.first + mine.n ? is[i] : -1;
	}
	OK(iso_comm_gather(ctx, ISO_OK, v, PIECES, LONG * sizeof *v));
	assert_memory_equal(v, is, sizeof v);
	iso_ctx_free(ctx);
}

/* A last piece that is shorter: what lies behind it stays as it is. */
static void last_piece_is_cut(void **state)
{
	iso_ctx *ctx = all_ranks();
	enum { PIECES = 7, LONG = 3, ALL = PIECES * LONG - 1 };
	int rank = iso_ctx_rank(ctx);
	float v[ALL + 1];
	struct iso_rows mine = iso_share(ctx, PIECES);

	(void)state;
	for (int i = 0; i < ALL; i++)
		v[i] = i / LONG >= mine.first && i / LONG < mine.first + mine.n ? (float)i : -1;
	v[ALL] = (float)rank;
	OK(iso_comm_gather_cut(ctx, ISO_OK, v, PIECES, LONG * sizeof *v, ALL * sizeof *v));
	for (int i = 0; i < ALL; i++) assert_true(v[i] == (float)i);
	assert_true(v[ALL] == (float)rank);
	iso_ctx_free(ctx);
}

/* Thread copies of several ranks: one sum. */
static void fixed_sums(void **state)
{
	iso_ctx *ctx = all_ranks();
	enum { N = 5 };
	struct iso_fixed f;
	iso_real x[N];

	(void)state;
	OK(iso_fixed_create(&f, ctx, N, 1e9));
	iso_fixed_begin(&f, ctx, 100);
	for (int i = 0; i < N; i++) iso_fixed_add(&f, 0, i, (i + iso_rank(ctx)) * f.scale);
	OK(iso_fixed_sum(&f, ctx, ISO_OK));
	iso_fixed_end(x, &f, ctx);
	for (int i = 0; i < N; i++)
		assert_true(x[i] == iso_ranks(ctx) * i + iso_ranks(ctx) * (iso_ranks(ctx) - 1) / 2);
	iso_fixed_free(&f);
	iso_ctx_free(ctx);
}

/* Of the ranks that fail all take the lowest one's message, and go on failing. */
static void failures_are_shared(void **state)
{
	iso_ctx *ctx = all_ranks();
	int rank = iso_ctx_rank(ctx), lowest = iso_ctx_ranks(ctx) > 1;
	int64_t v[1] = { 7 };
	char expected[64];
	int st = rank >= lowest ? iso_fail(ISO_EINPUT, "rank %d found a hole", rank) : ISO_OK;

	(void)state;
	snprintf(expected, sizeof expected, "rank %d found a hole", lowest);
	assert_int_equal(iso_comm_sum(ctx, st, v, 1), ISO_EINPUT);
	assert_string_equal(iso_message(), expected);
	assert_true(v[0] == 7);
	iso_fail(ISO_EARG, "another message");
	assert_int_equal(iso_comm_agree(ctx, ISO_OK), ISO_EINPUT);
	assert_string_equal(iso_message(), expected);
	double most = rank, seconds;
	int64_t bytes;

	OK(iso_comm_greatest(ctx->comm, &most)); /* also now */
	assert_true(most == iso_ctx_ranks(ctx) - 1);
	iso_ctx_exchanged(&bytes, &seconds, ctx);
	assert_int_equal(bytes, 0); /* no result went from rank to rank */
	iso_ctx_free(ctx);
}

/* At the end of work that failed rank 0 speaks for all, once. A status above 0 is no failure. */
static void rank_0_concludes(void **state)
{
	iso_ctx *ctx = all_ranks();
	char own[64];
	int rank = iso_ctx_rank(ctx);

	(void)state;
	assert_int_equal(iso_comm_conclude(ctx->comm, rank), rank);
	OK(iso_comm_agree(ctx, ISO_OK));
	int st = iso_comm_agree(ctx, rank == 0 ? iso_fail(ISO_EIO, "no disk") : ISO_OK);

	assert_int_equal(iso_comm_conclude(ctx->comm, iso_fail(st, "rank %d: no disk", rank)), ISO_EIO);
	assert_string_equal(iso_message(), "rank 0: no disk");
	snprintf(own, sizeof own, "rank %d goes home", rank);
	assert_int_equal(iso_comm_conclude(ctx->comm, iso_fail(ISO_EARG, "%s", own)), ISO_EARG);
	assert_string_equal(iso_message(), own);
	iso_ctx_free(ctx);
}

/* Who is short of memory, or has no GPU, is told, unless all are. */
static void short_of_memory(void **state)
{
	static const int lack[] = { ISO_ENOMEM, ISO_EDEVICE };

	(void)state;
	for (int k = 0; k < 4; k++) {
		iso_ctx *ctx = all_ranks();
		int from = k % 2, code = lack[k / 2];
		bool all = from == 0 || iso_ctx_ranks(ctx) == 1;
		char expected[64] = "no room";

		if (!all) snprintf(expected, sizeof expected, "rank 1 of %d: no room", iso_ctx_ranks(ctx));
		int st = all || iso_ctx_rank(ctx) >= from ? iso_fail(code, "no room") : ISO_OK;

		assert_int_equal(iso_comm_agree(ctx, st), code);
		assert_string_equal(iso_message(), expected);
		iso_ctx_free(ctx);
	}
}

/* Each rank sees one GPU, number 0: ranks 0 and 1 the same one, the others one of their own, in one machine. */
static void gpus_are_compared(void **state)
{
	iso_ctx *ctx = all_ranks();
	int rank = iso_ctx_rank(ctx), ranks = iso_ctx_ranks(ctx);
	struct iso_gpu own = { "node", "0000:01:00.0", { 1, 2, 3 } };

	(void)state;
	assert_int_equal(iso_ranks_of_device(ctx), 1); /* on the CPU */
	own.uuid[15] = (unsigned char)(rank > 1 ? rank : 1);
	OK(iso_comm_share_gpu(ctx->comm, ISO_OK, &own));
	assert_int_equal(iso_ranks_of_device(ctx), rank < 2 && ranks > 1 ? 2 : 1);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_all),      cmocka_unit_test(sums_and_greatest),
		cmocka_unit_test(parts_are_gathered),  cmocka_unit_test(fixed_sums),
		cmocka_unit_test(failures_are_shared), cmocka_unit_test(short_of_memory),
		cmocka_unit_test(gpus_are_compared),   cmocka_unit_test(last_piece_is_cut),
		cmocka_unit_test(rank_0_concludes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
