/* SPDX-License-Identifier: BSD-3-Clause */
/* Every public function that returns a status refuses NULL for each pointer that it needs, one after the
   other, before it looks at anything else. The pointers that may be NULL are NULL here. */
#include "test.h"

/* What the other pointers point to: zeros, of more bytes than any struct has. */
static max_align_t zeros[4096];
static int gap; /* the number of the pointer that is NULL, from 0 */

#define P(k) (gap == (k) ? NULL : (void *)zeros)
#define EACH(n, call) \
	for (gap = 0; gap < (n); gap++) refused_at((call), ISO_EARG, "NULL", #call, gap)

static int emit(void *arg, const struct iso_events *piece)
{
	(void)arg;
	(void)piece;
	return ISO_OK;
}

static void null_is_refused(void **state)
{
	(void)state;
	EACH(2, iso_em_create(P(0), P(1), P(2)));
	EACH(1, iso_em_step(P(0)));
	EACH(2, iso_em_image(P(0), P(1)));
	EACH(1, iso_em_run(P(1), NULL, P(0), NULL));
	EACH(2, iso_cg_create(P(0), P(1), P(2)));
	EACH(1, iso_cg_step(P(0)));
	EACH(2, iso_cg_image(P(0), P(1)));
	EACH(1, iso_cg_run(P(1), NULL, P(0), NULL));
	EACH(2, iso_fista_create(P(0), P(1), P(2)));
	EACH(1, iso_fista_step(P(0)));
	EACH(2, iso_fista_image(P(0), P(1)));
	EACH(1, iso_fista_run(P(1), NULL, P(0), NULL));
	EACH(3, iso_prior_create(P(0), P(1), P(2)));
	EACH(2, iso_prior_eval(NULL, NULL, NULL, NULL, P(0), P(1)));
	EACH(2, iso_prior_kind_of(P(0), P(1)));
	iso_prior_free(NULL);
	EACH(3, iso_kernel_create(P(0), P(1), P(2)));
	EACH(2, iso_map_create(P(0), P(1), P(2)));
	EACH(1, iso_map_step(P(0)));
	EACH(2, iso_map_image(P(0), P(1)));
	EACH(1, iso_map_run(P(1), NULL, P(0), NULL));
	assert_true(iso_map_finished(NULL));
	iso_map_free(NULL);
	EACH(2, iso_pdhg_create(P(0), P(1), P(2)));
	EACH(1, iso_pdhg_step(P(0)));
	EACH(2, iso_pdhg_image(P(0), P(1)));
	EACH(1, iso_pdhg_run(P(1), NULL, P(0), NULL));
	iso_pdhg_free(NULL);
	EACH(5, iso_op_em_step(P(1), P(4), P(0), 1, P(2), P(3)));
	EACH(7, iso_op_ratio_step(P(1), P(2), P(6), P(0), 1, false, P(3), P(4), P(5)));
	EACH(3, iso_custom_create(P(0), P(1), P(2)));
	EACH(3, iso_problem_create(P(0), P(1), P(2)));
	EACH(3, iso_problem_model_of(P(0), P(1), P(2)));
	EACH(3, iso_problem_open(P(0), P(1), P(2)));
	EACH(2, iso_problem_set_srm(P(0), P(1)));
	EACH(2, iso_problem_like(P(0), P(1)));
	EACH(1, iso_problem_load(P(0)));
	EACH(2, iso_problem_grid(P(1), P(0)));
	iso_problem_set_each(NULL, NULL, NULL);
	iso_problem_set_live(NULL, NULL);
	EACH(3, iso_live_start(P(0), P(1), P(2)));
	assert_int_equal(iso_problem_shape((int64_t[8]){ 0 }, NULL), 0);
	assert_int_equal(iso_problem_own_rows(NULL), 0);
	EACH(2, iso_problem_op(P(1), P(0)));
	EACH(4, iso_problem_data(P(1), P(2), P(3), P(0)));
	EACH(2, iso_problem_sens(P(1), P(0)));
	EACH(3, iso_problem_project(P(1), P(0), P(2)));
	EACH(3, iso_problem_backproject(P(1), P(0), P(2)));
	EACH(3, iso_problem_write(P(1), P(0), P(2)));
	EACH(2, iso_problem_record(P(1), P(0)));
	EACH(3, iso_scatter_create(P(0), P(1), P(2)));
	EACH(2, iso_scatter_describe(P(0), P(1)));
	EACH(3, iso_scatter_plan(P(0), P(1), P(2)));
	EACH(4, iso_scatter_at(P(0), P(2), P(1), P(3), 0));
	EACH(3, iso_scatter_sum(P(0), P(2), P(1), NULL, 1, 0));
	EACH(4, iso_scatter_single(P(0), P(1), P(2), P(3), NULL, 0));
	EACH(2, iso_scatter_write(P(0), P(1)));
	EACH(2, iso_scatter_scale(P(0), P(1), 1));
	EACH(2, iso_problem_scatter(NULL, "t.h5", P(0), P(1)));
	iso_scatter_free(NULL);
	EACH(3, iso_smoothness_create(P(0), P(1), P(2)));
	EACH(4, iso_penalty_create(P(0), P(1), P(2), P(3)));
	EACH(2, iso_branching(P(0), P(1)));
	EACH(3, iso_seconds_between(P(0), P(1), P(2)));
	EACH(2, iso_suv_factor(P(0), P(1)));
	EACH(2, iso_calibrate(P(0), P(1)));
	EACH(2, iso_calibration_read(P(0), P(1)));
	EACH(2, iso_calibration_write(P(1), P(0), false));
	iso_calibration_free(NULL);
	EACH(2, iso_bids_write(P(0), 9, P(1)));
	EACH(2, iso_roi_parse(P(0), P(1)));
	EACH(2, iso_array_create(P(0), 1, P(1)));
	EACH(2, iso_array_on_grid(P(0), P(1)));
	EACH(2, iso_read(P(0), P(1), 0));
	EACH(2, iso_peek(P(0), P(1)));
	EACH(2, iso_read_within(P(0), NULL, P(1), 0));
	EACH(2, iso_read_image(P(0), P(1), 0, NULL));
	EACH(2, iso_write(P(0), P(1), NULL));
	EACH(2, iso_sidecar_path(P(0), 1, P(1)));
	EACH(1, iso_write_check(P(0), false));
	EACH(2, iso_write_check_grid(P(0), P(1)));
	EACH(1, iso_write_check_series(P(0), 1));
	EACH(2, iso_volume_read(P(0), NULL, P(1)));
	EACH(2, iso_volume_peek(P(0), P(1)));
	EACH(4, iso_volume_resample(P(0), NULL, P(1), P(2), P(3), 0));
	EACH(2, iso_volume_grid(P(0), P(1)));
	EACH(3, iso_dicom_write(P(0), P(1), P(2), NULL));
	EACH(1, iso_dicom_write_check(P(0), false));
	EACH(2, iso_mu_of_hu(P(0), 1, P(1), 120));
	EACH(2, iso_ctx_create(P(0), P(1), 1));
	EACH(2, iso_ctx_create_ahead(P(0), P(1), 1));
	EACH(1, iso_ctx_ready(P(0)));
	EACH(1, iso_ctx_set_stream(P(0), NULL));
	EACH(1, iso_ctx_follow_stream(P(0), NULL));
	EACH(1, iso_ctx_lead_stream(P(0), NULL));
	EACH(1, iso_ctx_wait(P(0)));
	EACH(2, iso_events_read(P(0), P(1), NULL));
	EACH(2, iso_events_scanner(P(0), P(1), NULL, false));
	EACH(2, iso_events_write(P(0), P(1), NULL));
	EACH(2, iso_events_write_with(P(0), P(1), NULL, NULL));
	EACH(1, iso_events_write_check(P(0), false));
	EACH(3, iso_events_crystals(P(0), P(2), P(1)));
	EACH(2, iso_event_file_open(P(0), P(1), NULL));
	EACH(2, iso_event_file_block(P(0), P(1), 1));
	EACH(2, iso_event_file_read(P(0), P(1), 1, 1));
	EACH(2, iso_event_writer_open(P(0), P(1), NULL, 1));
	EACH(2, iso_event_writer_append(P(0), P(1)));
	EACH(1, iso_event_writer_close(P(0), NULL));
	EACH(2, iso_filter_parse(P(0), P(1)));
	EACH(5, iso_filter_apply(P(0), P(1), P(2), P(3), P(4)));
	EACH(4, iso_psf_create(P(0), P(1), P(2), P(3)));
	EACH(1, iso_grid_check(P(0)));
	EACH(3, iso_measure_roi(P(0), P(1), P(2)));
	EACH(4, iso_measure_tbr(P(0), P(1), P(2), P(3)));
	EACH(3, iso_measure_profile(P(0), P(1), P(2)));
	EACH(3, iso_measure_fwhm(P(0), P(1), P(2)));
	EACH(3, iso_measure_rods(P(0), P(1), P(2), 1));
	EACH(2, iso_boxplot_render(P(0), P(1)));
	EACH(2, iso_measure_sharpness(P(0), P(1)));
	EACH(3, iso_measure_rmse(P(0), 1, P(1), P(2), NULL, 0));
	EACH(5, iso_measure_petric(P(0), NULL, 1, P(1), P(2), P(3), P(4), 0, NULL));
	EACH(1, iso_nema_read(P(0), NULL));
	EACH(3, iso_measure_nema(P(0), P(1), P(2)));
	EACH(2, iso_plan_check(P(1), P(0)));
	EACH(1, iso_memory_check(NULL, P(0), 1));
	EACH(3, iso_forward(P(1), P(0), 1, P(2)));
	EACH(3, iso_adjoint(P(1), P(0), 1, P(2)));
	EACH(3, iso_op_sort_device(P(1), P(0), P(2)));
	EACH(3, iso_op_unsort_device(P(1), P(0), P(2)));
	EACH(2, iso_op_clone(P(0), P(1)));
	EACH(3, iso_diag_create(P(0), P(1), 1, P(2)));
	EACH(3, iso_chain_create(P(0), P(1), P(2)));
	EACH(2, iso_weigh_rows(P(0), 1, P(1)));
	EACH(2, iso_weigh_data(P(0), 1, 1, P(1)));
	EACH(2, iso_test_adjoint(P(0), P(1), 1, 1));
	EACH(4, iso_panels_attenuation(P(0), P(1), P(2), P(3)));
	EACH(3, iso_panels_randoms(P(0), P(1), P(2)));
	EACH(2, iso_phantom_create(P(0), P(1), NULL));
	EACH(2, iso_phantom_raster(NULL, NULL, NULL, P(0), P(1), 1));
	EACH(2, iso_phantom_ellipse(P(0), P(1), 1));
	EACH(2, iso_half_life(P(0), P(1)));
	EACH(5, iso_randoms_from_delayed(P(0), P(1), P(2), P(3), P(4)));
	EACH(3, iso_randoms_from_singles(P(0), P(1), P(2), 1, 1));
	EACH(3, iso_picture_render(P(0), NULL, P(1), P(2)));
	EACH(2, iso_picture_scanner(P(0), P(1), NULL, NULL));
	EACH(2, iso_picture_write(P(0), P(1), NULL));
	EACH(2, iso_report_write(P(0), 1, P(1), NULL));
	EACH(2, iso_viewer_write(P(0), P(1), NULL, NULL));
	EACH(1, iso_picture_write_check(P(0), false));
	EACH(4, iso_ray_create(P(0), P(1), P(2), P(3)));
	EACH(4, iso_ray_stream_create(P(0), P(1), P(2), P(3), 1));
	EACH(5, iso_ray_scratch_create(P(0), P(1), P(2), P(3), P(4)));
	EACH(4, iso_ray_attenuation(P(0), P(1), P(2), P(3)));
	EACH(4, iso_ray_sens(P(0), P(1), P(2), P(3)));
	EACH(2, iso_recording_open(P(0), P(1)));
	EACH(3, iso_recording_of(P(0), P(1), P(2)));
	EACH(2, iso_recording_fit(P(0), P(1)));
	EACH(2, iso_recording_read(P(0), P(1), 1, 1));
	EACH(2, iso_recording_read_some(P(0), P(1), 1, 1, 1, 1));
	EACH(2, iso_recording_write(P(0), P(1), NULL));
	EACH(1, iso_recording_write_check(P(0), false));
	EACH(2, iso_scanner_read(P(0), P(1)));
	EACH(2, iso_scanner_grid(P(0), P(1)));
	EACH(4, iso_simulate(P(0), P(1), P(2), P(3)));
	EACH(4, iso_simulate_blocks(P(0), P(1), P(2), gap == 3 ? NULL : emit, NULL));
	EACH(2, iso_simulate_singles(P(0), P(1)));
	EACH(2, iso_panel_simulate_orders(P(0), P(1)));
	EACH(3, iso_ring_events(P(0), P(1), P(2), 1, 1));
	EACH(3, iso_spheres_raster(P(0), NULL, P(1), P(2)));
	EACH(3, iso_spheres_pressure(P(0), NULL, P(1), P(2)));
	EACH(3, iso_phantom_spheres(P(0), P(1), P(2)));
	EACH(3, iso_sradon_create(P(0), P(1), P(2)));
	EACH(3, iso_sradon_integrals(P(0), P(1), P(2)));
	EACH(3, iso_sradon_derivative(P(0), P(1), P(2)));
	EACH(3, iso_sradon_response(P(0), P(1), P(2)));
	EACH(3, iso_srm_create(P(0), P(1), P(2)));
	EACH(2, iso_srm_simulate(P(0), P(1), 1, 1, 1));
	EACH(2, iso_srm_add(P(0), P(1)));
	EACH(3, iso_srm_analytic(P(0), P(1), P(2)));
	EACH(3, iso_srm_import(P(0), P(1), P(2)));
	EACH(2, iso_srm_export(P(0), P(1)));
	EACH(3, iso_srm_threshold(P(0), P(1), P(2)));
	EACH(2, iso_srm_write(P(0), P(1), false, NULL, NULL));
	EACH(1, iso_srm_write_check(P(0), false));
	EACH(2, iso_srm_read(P(0), P(1), false));
	EACH(2, iso_srm_read_within(P(0), NULL, P(1), false));
	EACH(2, iso_srm_peek(P(0), P(1)));
	EACH(4, iso_srm_columns(P(0), P(1), P(2), P(3)));
	EACH(4, iso_srm_rows(P(0), P(1), P(2), P(3)));
	EACH(4, iso_srm_taps(P(0), P(1), P(2), P(3)));
	EACH(3, iso_srm_op_create(P(0), P(1), P(2)));
	EACH(2, iso_strip_events_read(P(0), P(1), NULL));
	EACH(2, iso_strip_events_write(P(0), P(1), NULL));
	EACH(1, iso_strip_events_write_check(P(0), false));
	EACH(2, iso_strip_file_open(P(0), P(1), NULL, false));
	EACH(3, iso_strip_file_next(P(0), P(1), P(2), 1, 1));
	EACH(2, iso_strip_writer_open(P(0), P(1), 1));
	EACH(2, iso_strip_writer_append(P(0), P(1)));
	EACH(1, iso_strip_writer_close(P(0), NULL));
	EACH(4, iso_strip_create(P(0), P(1), P(2), P(3)));
	EACH(2, iso_strip_sens(P(0), P(1), false));
	EACH(4, iso_strip_direct(P(0), P(1), P(2), P(3)));
	EACH(4, iso_strip_simulate(P(0), P(1), P(2), P(3), 1, 1, 1));
	EACH(1, iso_svoxel_lines(P(0), 1));
	EACH(1, iso_svoxel_lines_at(P(0), 1, 1, 1));
	EACH(3, iso_svoxel_create(P(0), P(1), P(2)));
	EACH(4, iso_svoxel_spectra(P(0), P(1), P(2), P(3)));
	EACH(2, iso_traces_check(P(0), P(1)));
	EACH(2, iso_traces_eir(P(0), NULL, P(1)));
	EACH(3, iso_traces_deconvolve(P(0), P(1), P(2), 1, 1));
	EACH(3, iso_traces_band(P(0), P(1), P(2), 1, 1));
	EACH(2, iso_transducers_rings(P(0), P(1)));
	EACH(1, iso_transducers_check(P(0)));
	EACH(3, iso_transducers_hear(P(0), P(1), P(2)));
	EACH(2, iso_transducers_grid(P(0), P(1), NULL));
	EACH(3, iso_ubp_create(P(0), P(1), P(2)));
}

/* What frees takes NULL. */
static void null_is_freed(void **state)
{
	(void)state;
	iso_ctx_free(NULL);
	iso_op_free(NULL);
	iso_event_file_close(NULL);
	iso_live_stop(NULL, NULL);
	iso_event_writer_free(NULL);
	iso_scanner_free(NULL);
	iso_phantom_free(NULL);
	iso_ray_scratch_free(NULL);
	iso_recording_free(NULL);
	iso_srm_free(NULL);
	iso_strip_file_close(NULL);
	iso_strip_writer_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_is_refused),
		cmocka_unit_test(null_is_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
