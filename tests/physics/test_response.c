/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of response: nodes of given histograms against an independent program (tests/data/response), smooth areas, mirror images,
   joined places, the file; also built in double. */
#include "response_table.h"

#include "core/philox.h"
#include "text/json_file.h"

#include <unistd.h>

/* Of each beam of the vectors: counts from first_edge on in bins, and the nodes. */
static void nodes_of_histograms(void **state)
{
	json_t *all = NULL, *one;
	const char *name;

	(void)state;
	OK(iso_json_read(&all, TEST_DATA "/response/nodes.json"));
	assert_int_equal(json_object_size(all), 6);
	json_object_foreach (all, name, one) {
		json_t *counts = json_object_get(one, "counts");
		double h[RESPONSE_BINS], first = json_number_value(json_object_get(one, "first_edge"));
		int n = (int)json_array_size(counts);

		for (int i = 0; i < n; i++) h[i] = json_number_value(json_array_get(counts, (size_t)i));
		for (int p = 3; p <= 7; p += 2) {
			char key[2] = { (char)('0' + p), 0 };
			json_t *want = json_object_get(one, key);
			double node[7];

			response_shares(node, p, h, n, first, json_number_value(json_object_get(one, "bin")));
			for (int k = 0; k < p; k++)
				NEAR(node[k], json_number_value(json_array_get(want, (size_t)k)), 1e-5);
		}
	}
	json_decref(all);
}

static void shares_by_hand(void **state)
{
	const double even[4] = { 1, 1, 1, 1 }, one[4] = { 0, 0, 5, 0 }, none[4] = { 0 };
	double node[3];

	(void)state;
	response_shares(node, 3, even, 4, -2, 1);
	NEAR(node[0], -4. / 3, 1e-12);
	NEAR(node[1], 0, 1e-12);
	NEAR(node[2], 4. / 3, 1e-12);
	response_shares(node, 3, one, 4, 0, 3);
	NEAR(node[0], 6.5, 1e-12);
	NEAR(node[2], 8.5, 1e-12);
	response_shares(node, 3, none, 4, 0, 3);
	NEAR(node[1], 0, 0);
}

/* Nodes have the mean of their histogram. */
static void nodes_keep_the_mean(void **state)
{
	iso_scanner *s = scanner_of_text(RING_OF_BLOCKS);
	iso_response *r = made_response(s, 3000);
	double u[7], v[7];

	(void)state;
	for (int p = 3; p <= 7; p += 2)
		for (int phi = 1; phi < RESPONSE_PHIS; phi += 5) {
			const int64_t direction = (int64_t)phi * RESPONSE_THETAS + 1;
			const uint32_t *h =
				r->hist[0] + direction * response_places_of(&r->shape) * RESPONSE_BINS;
			double sum = 0, moment = 0, mean = 0;

			for (int b = 0; b < RESPONSE_BINS; b++) {
				sum += h[b];
				moment += h[b] * ((b - RESPONSE_BINS / 2 + .5) * RESPONSE_BIN_MM);
			}
			OK(iso_response_nodes(u, v, r, p, (int64_t[]){ 0, 0 }, 0, 2.5 * phi, 5));
			for (int k = 0; k < p; k++) mean += u[k] / p;
			NEAR(mean, moment / sum, 1e-5);
		}
	iso_response_free(r);
	iso_scanner_free(s);
}

static void mirror_images(void **state)
{
	iso_scanner *s = scanner_of_text(RING_OF_BLOCKS);
	iso_response *r = made_response(s, 3000);
	double u[5], v[5], u2[5], v2[5];

	(void)state;
	OK(iso_response_nodes(u, v, r, 5, (int64_t[]){ 1, 2 }, 0, 31, 12));
	OK(iso_response_nodes(u2, v2, r, 5, (int64_t[]){ 2, 2 }, 0, -31, 12));
	for (int k = 0; k < 5; k++) {
		NEAR(u2[k], -u[4 - k], 0);
		NEAR(v2[k], v[k], 0);
		assert_true(k == 0 || u[k] > u[k - 1]);
	}
	OK(iso_response_nodes(u2, v2, r, 5, (int64_t[]){ 2, 0 }, 0, -31, -12));
	for (int k = 0; k < 5; k++) NEAR(v2[k], -v[4 - k], 0);
	/* along the normal both signs meet */
	OK(iso_response_nodes(u, v, r, 5, (int64_t[]){ 1, 0 }, 0, 1e-9, -1e-9));
	OK(iso_response_nodes(u2, v2, r, 5, (int64_t[]){ 1, 0 }, 0, -1e-9, 1e-9));
	for (int k = 0; k < 5; k++) {
		NEAR(u2[k], u[k], 1e-6);
		NEAR(v2[k], v[k], 1e-6);
	}
	/* half way between two angles of the table, the mean of their nodes */
	double low[5], high[5];

	OK(iso_response_nodes(low, v, r, 5, (int64_t[]){ 1, 2 }, 0, 30, 10));
	OK(iso_response_nodes(high, v, r, 5, (int64_t[]){ 1, 2 }, 0, 32.5, 10));
	OK(iso_response_nodes(u, v, r, 5, (int64_t[]){ 1, 2 }, 0, 31.25, 10));
	for (int k = 0; k < 5; k++) NEAR(u[k], (low[k] + high[k]) / 2, 1e-6);
	/* energies between those of the table, and below it */
	NEAR(iso_response_area(r, 300, 0, 0), 60, 1e-4);
	NEAR(iso_response_area(r, 315, 0, 0), 2.5 * 60, 1e-4);
	NEAR(iso_response_area(r, 511, 0, 0), 23 * 60, 1e-3);
	NEAR(iso_response_area(r, 510.5, 0, 0), 22.5 * 60, 1e-3);
	NEAR(iso_response_area(r, 299, 0, 0), 0, 0);
	iso_response_free(r);
	iso_scanner_free(s);
}

/* Few counts: places are joined, and told of; none at all: lines go through the nominal point. */
static void few_counts(void **state)
{
	iso_scanner *s = scanner_of_text(RING_OF_BLOCKS);
	iso_response *many = made_response(s, 3000), *few = made_response(s, 150),
		     *none = made_response(s, 0);
	double u[3], v[3];

	(void)state;
	assert_int_equal(many->info.joined, 0);
	assert_true(few->info.joined > RESPONSE_DIRECTIONS * response_places_of(&few->shape));
	OK(iso_response_nodes(u, v, none, 3, (int64_t[]){ 1, 1 }, 0, 20, 0));
	for (int k = 0; k < 3; k++) NEAR(u[k], 0, 0);
	/* 4 x 3 crystals of 150 counts: all three of a column, which differ in their means by the place */
	OK(iso_response_nodes(u, v, few, 3, (int64_t[]){ 1, 1 }, 0, 2.5, 5));
	double sum = 0, want = 0;

	for (int k = 0; k < 3; k++) sum += u[k] / 3;
	for (int iz = 0; iz < 3; iz++) want += ((iz * 4 + 1) % 5 * .1 - .1) / 3;
	NEAR(sum, want, .02);
	iso_response_free(many);
	iso_response_free(few);
	iso_response_free(none);
	iso_scanner_free(s);
}

/* A polynomial of degree 4 comes back; its noise has chi^2 of 1. */
static void smooth_areas(void **state)
{
	enum { CRYSTALS = 60 };
	uint32_t *count = calloc(RESPONSE_DIRECTIONS * CRYSTALS, sizeof *count);
	float *d = calloc(RESPONSE_DIRECTIONS * CRYSTALS, sizeof *d);
	double mm2[RESPONSE_DIRECTIONS], chi2, worst = 0;

	(void)state;
	for (int noisy = 0; noisy < 2; noisy++) {
		for (int i = 0; i < RESPONSE_DIRECTIONS; i++) {
			double x = (double)(i / RESPONSE_THETAS) / RESPONSE_PHIS,
			       y = (double)(i % RESPONSE_THETAS) / RESPONSE_THETAS;

			mm2[i] = noisy ? .02 : 1e-4;
			for (int k = 0; k < CRYSTALS; k++) {
				double area = 8 + 3 * x - 4 * y * y + 2 * x * x * y - x * x * x * x + .01 * k;
				double mean = area / mm2[i], g[4];
				struct philox u = philox_draw(7, (uint64_t)(i * CRYSTALS + k), 0);

				for (int j = 0; j < 4; j++) g[j] = (u.w[j] + .5) / 4294967296.;
				double normal = sqrt(-2 * log(g[0])) * cos(2 * M_PI * g[1]);

				count[i * CRYSTALS + k] =
					(uint32_t)fmax(0, rint(mean + (noisy ? sqrt(mean) * normal : 0)));
			}
		}
		response_smooth(d, &chi2, count, mm2, CRYSTALS);
		for (int i = 0; i < RESPONSE_DIRECTIONS && !noisy; i++) {
			double x = (double)(i / RESPONSE_THETAS) / RESPONSE_PHIS,
			       y = (double)(i % RESPONSE_THETAS) / RESPONSE_THETAS;
			double area = 8 + 3 * x - 4 * y * y + 2 * x * x * y - x * x * x * x;

			worst = fmax(worst, fabs((double)d[i * CRYSTALS] - area));
		}
	}
	BELOW(worst, 1e-3);
	NEAR(chi2, 1, .06);
	free(count);
	free(d);
}

/* Written and read, a table is the same; of another scanner it is refused. */
static void as_a_file(void **state)
{
	iso_scanner *s = scanner_of_text(RING_OF_BLOCKS),
		    *other = scanner_of_text(
			    "kind: cylinder\nradius_mm: 101\nrings: 6\ncrystals_per_ring: 48\n"
			    "ring_pitch_mm: 9\nblock: {crystals: 4, rings: 3}\n");
	iso_response *r = made_response(s, 3000), *back = NULL;
	char path[] = "/tmp/isotome-table-XXXXXX.h5";
	int fd = mkstemps(path, 3);
	struct iso_response_info a = { .size = sizeof a }, b = { .size = sizeof b };

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	if (iso_response_write(path, r, NULL) == ISO_EARG) { /* no HDF5 */
		unlink(path);
		iso_response_free(r);
		iso_scanner_free(s);
		iso_scanner_free(other);
		skip_without("this build has no HDF5");
	}
	OK(iso_response_read(&back, path));
	OK(iso_response_describe(&a, r));
	OK(iso_response_describe(&b, back));
	assert_memory_equal(&a, &b, sizeof a);
	int64_t places = RESPONSE_DIRECTIONS * response_places_of(&r->shape);

	assert_memory_equal(r->d, back->d, RESPONSE_DIRECTIONS * response_crystals_of(&r->shape) * 4);
	assert_memory_equal(r->hist[1], back->hist[1], places * RESPONSE_BINS * 4);
	assert_memory_equal(r->beyond, back->beyond, places * 4);
	assert_memory_equal(r->node[2], back->node[2], places * 2 * 7 * 4);
	OK(iso_response_fits(back, s));
	REFUSED(iso_response_fits(back, other), ISO_EINPUT, "made for a scanner with hash");
	REFUSED(iso_response_write("/tmp/table.npy", r, NULL), ISO_EARG, ".h5");
	REFUSED(iso_response_read(&back, TEST_DATA "/response/nodes.json"), ISO_EINPUT, "");
	iso_response_free(back);
	iso_response_free(r);
	iso_scanner_free(s);
	iso_scanner_free(other);
	unlink(path);
}

static void refused(void **state)
{
	iso_scanner *s = scanner_of_text(RING_OF_BLOCKS);
	iso_response *r = made_response(s, 3000), *none = NULL;
	const struct response_shape bad = { { 4, 4 }, { 0, 1 }, 1 }, large = { { 1000, 1000 }, { 2, 1 }, 1 };
	struct response_view view;
	double u[7], v[7];

	(void)state;
	REFUSED(response_create(&none, &bad), ISO_EINPUT, "must be 1 to");
	REFUSED(response_create(&none, &large), ISO_EINPUT, "must be 1 to");
	REFUSED(iso_response_nodes(u, v, r, 4, (int64_t[]){ 0, 0 }, 0, 0, 0), ISO_EARG, "3, 5 or 7");
	REFUSED(iso_response_nodes(u, v, r, 3, (int64_t[]){ 4, 0 }, 0, 0, 0), ISO_EARG, "must be 0 to 3");
	REFUSED(response_view(&view, r, s, 4), ISO_EARG, "9, 25 or 49");
	r->d[3] = NAN;
	REFUSED(response_finish(r), ISO_EINPUT, "effective area");
	iso_response_free(r);
	iso_scanner_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_of_histograms), cmocka_unit_test(shares_by_hand),
		cmocka_unit_test(nodes_keep_the_mean), cmocka_unit_test(mirror_images),
		cmocka_unit_test(few_counts),          cmocka_unit_test(smooth_areas),
		cmocka_unit_test(as_a_file),           cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
