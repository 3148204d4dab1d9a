/* SPDX-License-Identifier: BSD-3-Clause */
/* The field of view of a scanner as a grid: what is chosen, what stays as given. */
#include "test.h"
#include "files.h"

#include "scanner/scanner.h"

#define RING "kind: cylinder\nradius_mm: 100\nrings: 10\nring_pitch_mm: 4\ncrystals_per_ring: 160\n"

static iso_scanner *scanner(const char *text)
{
	iso_scanner *s = NULL;

	put_text("field.yaml", text);
	OK(iso_scanner_read(&s, "field.yaml"));
	unlink("field.yaml");
	return s;
}

static struct iso_grid field(const char *text, struct iso_grid given)
{
	iso_scanner *s = scanner(text);

	OK(iso_scanner_grid(&given, s));
	iso_scanner_free(s);
	return given;
}

#define IS(g, nx, ny, nz, vx, vz)                                                                \
	do {                                                                                     \
		struct iso_grid is = (g);                                                        \
		assert_int_equal(is.n[0], nx);                                                   \
		assert_int_equal(is.n[1], ny);                                                   \
		assert_int_equal(is.n[2], nz);                                                   \
		assert_true(fabs(is.voxel[0] - (vx)) < 1e-9 && fabs(is.voxel[1] - (vx)) < 1e-9); \
		assert_true(fabs(is.voxel[2] - (vz)) < 1e-9);                                    \
		assert_true(is.centre[0] == 0 && is.centre[1] == 0 && is.centre[2] == 0);        \
	} while (0)

/* Crystals of 3.93 mm round a ring: voxels of 2 mm; 180 mm across, 40 mm along z. Rings and the places between them
   lie at even numbers of mm, and so do the middles of an odd number of voxels. */
static void of_a_cylinder(void **state)
{
	(void)state;
	IS(field(RING, (struct iso_grid){ 0 }), 90, 90, 19, 2, 2);
	IS(field(RING "crystal_mm: [3, 2.4, 10]\n", (struct iso_grid){ 0 }), 144, 144, 31, 1.25, 1.25);
	/* pairs at least 89.4 degrees apart pass within 71.1 mm of the axis */
	IS(field(RING "min_crystal_distance: 40\n", (struct iso_grid){ 0 }), 72, 72, 19, 2, 2);
}

static void what_is_given_stays(void **state)
{
	(void)state;
	IS(field(RING, (struct iso_grid){ .voxel = { 5, 5, 2.5 } }), 36, 36, 17, 5, 2.5);
	IS(field(RING, (struct iso_grid){ .n = { 60, 60, 10 } }), 60, 60, 10, 3, 4);
	IS(field(RING, (struct iso_grid){ .n = { 7, 7, 7 }, .voxel = { 1, 1, 1 } }), 7, 7, 7, 1, 1);
}

/* Small crystals in a large scanner: at most 400 voxels across, and 4e7 in all. */
static void not_too_many(void **state)
{
	struct iso_grid g = field("kind: cylinder\nradius_mm: 400\nrings: 600\nring_pitch_mm: 3\n"
	                          "crystals_per_ring: 900\ncrystal_mm: [1, 1, 20]\n",
	                          (struct iso_grid){ 0 });

	(void)state;
	assert_true(g.n[0] <= 400 && iso_grid_voxels(&g) <= 40000000 && iso_grid_voxels(&g) > 10000000);
	assert_true(g.voxel[0] == g.voxel[2] && g.n[2] * g.voxel[2] >= 1800);
}

/* A table: the same ring of crystals, moved along z. */
static void of_a_table(void **state)
{
	iso_scanner *ring = scanner(RING), *s;
	struct iso_grid g = { 0 };
	struct iso_array a = { 0 };

	(void)state;
	OK(iso_array_create(&a, 2, (const int64_t[]){ 1600, 3 }));
	for (int i = 0; i < 4800; i++)
		a.v[i] = (iso_real)(iso_scanner_positions(ring)[i] + (i % 3 == 2 ? 300 : 0));
	OK(iso_write("field.npy", &a, NULL));
	s = scanner("kind: detectors\npositions: field.npy\n");
	OK(iso_scanner_grid(&g, s));
	assert_int_equal(g.n[0], 90);
	assert_int_equal(g.n[2], 19);
	assert_true(g.centre[0] == 0 && fabs(g.centre[2] - 300) < 1e-3 && g.voxel[1] == 2);
	unlink("field.npy");
	iso_array_free(&a);
	iso_scanner_free(ring);
	iso_scanner_free(s);
}

/* Two heads have a grid of their own; strips have no crystals. */
static void of_other_kinds(void **state)
{
	iso_scanner *s =
		scanner("kind: panels\ncrystals: [6, 8]\npitch_mm: [2, 2]\ncrystal_mm: [1.9, 1.9, 10]\n"
	                "gap_mm: 20\nvoxels_per_pitch: [2, 2]\nplanes: 6\nplane_mm: 1\n");
	struct iso_grid g = { 0 }, want;

	(void)state;
	iso_panels_grid(&want, iso_scanner_panels(s));
	OK(iso_scanner_grid(&g, s));
	assert_true(iso_grid_same(&g, &want));
	iso_scanner_free(s);
	s = scanner("kind: strips\nradius_mm: 400\nlength_mm: 500\nsigma_z_mm: 10\nsigma_dl_mm: 40\n");
	REFUSED(iso_scanner_grid(&g, s), ISO_EARG, "has no crystals");
	iso_scanner_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_cylinder),  cmocka_unit_test(what_is_given_stays),
		cmocka_unit_test(not_too_many),   cmocka_unit_test(of_a_table),
		cmocka_unit_test(of_other_kinds),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
