/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of response by photons: the same bits for threads and devices, counts that add up, and areas of a ring whose crystals
   stop what they should. */
#include "response_table.h"

#include "core/op.h"

static const char ring_text[] =
	"kind: modules\nrings: [{modules: 24, radius_mm: 120, first_deg: 0}]\n"
	"module: {crystals: [4, 3], pitch_mm: [7, 7], crystal_mm: [6.9, 6.9, 20], blocks: [1, 2], "
	"block_gap_mm: [0, 1]}\n"
	"detector: {material: {formula: Lu2SiO5, density: 7.4}, readout: block}\n"
	"energy: {resolution: 0.115, window_kev: [435, 650]}\ninteraction_depth_mm: 7\n";

static iso_response *make(iso_ctx *ctx, const iso_scanner *s, int64_t photons, bool no_energies)
{
	const struct iso_response_make p = {
		.size = sizeof p, .scanner = s, .photons = photons, .no_energies = no_energies, .seed = 3
	};
	iso_response *r = NULL;

	OK(iso_response_create(&r, ctx, &p));
	return r;
}

static void same(const iso_response *a, const iso_response *b)
{
	int64_t places = RESPONSE_DIRECTIONS * response_places_of(&a->shape);

	assert_memory_equal(a->count, b->count, RESPONSE_DIRECTIONS * response_crystals_of(&a->shape) * 4);
	assert_memory_equal(a->d_energy, b->d_energy, RESPONSE_ENERGIES * RESPONSE_DIRECTIONS * 4);
	for (int k = 0; k < 2; k++) assert_memory_equal(a->hist[k], b->hist[k], places * RESPONSE_BINS * 4);
	assert_memory_equal(a->beyond, b->beyond, places * 4);
	assert_true(a->info.depth_mm == b->info.depth_mm);
}

static void any_threads(void **state)
{
	iso_ctx *ctx[3] = { cpu(1), cpu(2), cpu(7) };
	iso_scanner *s = scanner_of_text(ring_text);
	iso_response *r[3];

	(void)state;
	for (int k = 0; k < 3; k++) r[k] = make(ctx[k], s, sized(60000, 20000), false);
	same(r[0], r[1]);
	same(r[0], r[2]);
	for (int k = 0; k < 3; k++) {
		iso_response_free(r[k]);
		iso_ctx_free(ctx[k]);
	}
	iso_scanner_free(s);
}

static void counts_add_up(void **state)
{
	iso_ctx *ctx = cpu(2);
	iso_scanner *s = scanner_of_text(ring_text);
	iso_response *r = make(ctx, s, sized(400000, 100000), true);
	int64_t crystals = response_crystals_of(&r->shape), places = response_places_of(&r->shape), all = 0;

	(void)state;
	assert_int_equal(crystals, 24);
	assert_int_equal(places, 12);
	for (int64_t d = 0; d < RESPONSE_DIRECTIONS; d++) {
		int64_t sum[4] = { 0 };

		for (int64_t c = 0; c < crystals; c++) sum[0] += r->count[d * crystals + c];
		for (int64_t k = 0; k < places; k++) sum[3] += r->beyond[d * places + k];
		for (int a = 0; a < 2; a++)
			for (int64_t k = 0; k < places * RESPONSE_BINS; k++)
				sum[1 + a] += r->hist[a][d * places * RESPONSE_BINS + k];
		assert_int_equal(sum[0], sum[1] + sum[3]);
		assert_int_equal(sum[1], sum[2]);
		all += sum[0];
	}
	assert_int_equal(all, r->info.records);
	/* a crystal of 6.9 mm stops 82.4 % of the photons along its axis; about half of them stay in the window */
	assert_true(r->info.area_mm2 > .3 * 49 && r->info.area_mm2 < .8 * 49);
	assert_true(r->info.depth_mm > 6 && r->info.depth_mm < 9);
	assert_true(r->info.joined > 0);
	iso_response_free(r);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
}

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_scanner *s = scanner_of_text(RING_OF_BLOCKS);
	struct iso_response_make p = { .size = sizeof p, .scanner = s };
	iso_response *r = NULL;

	(void)state;
	REFUSED(iso_response_create(&r, ctx, &p), ISO_EINPUT, "detector");
	p.scanner = NULL;
	REFUSED(iso_response_create(&r, ctx, &p), ISO_EARG, "no scanner");
	iso_scanner_free(s);
	p.scanner = s = scanner_of_text(ring_text);
	p.photons = -1;
	REFUSED(iso_response_create(&r, ctx, &p), ISO_EARG, "photons");
	iso_scanner_free(s);
	iso_ctx_free(ctx);
}

static void cuda_same_table(void **state)
{
	iso_ctx *ctx[2] = { cuda_or_skip(), cpu(0) };
	iso_scanner *s = scanner_of_text(ring_text);
	iso_response *r[2];

	(void)state;
	for (int k = 0; k < 2; k++) r[k] = make(ctx[k], s, 300000, false);
	same(r[0], r[1]);
	for (int k = 0; k < 2; k++) {
		iso_response_free(r[k]);
		iso_ctx_free(ctx[k]);
	}
	iso_scanner_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_threads),
		cmocka_unit_test(counts_add_up),
		cmocka_unit_test(refused),
		cmocka_unit_test(cuda_same_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
