# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by test.sh and test-more.sh: which tests run where, as expressions for ctest.

# in full alone
only_full='^test_(map|map_run|mc|patches|pdhg|prior_step|ratio_step|ratio|ray|ray_rings|scatter|scatter_recon|scatter_with|simulate_physics|srm|sss|strip)_double$|^test_(scatter|scatter_with|seen|srm_stream|ranks_.*_[34]|ranks_ray_problem_1|scatter_poses|scatter_recon|tails)$|^cmd_(bench_end_to_end|gates_decay|gates_simulate|poses_scans|reproduce_nema|reproduce_priors|timing)$'

# in test-more.sh: what a newcomer need not wait for. Attacks, kills and failing allocations; several processes; the papers'
# studies and benchmarks; packages, installed trees, exports with the CUDA half, the site and a browser; simulated studies that
# take longest; the same tests in double storage, which need the library a second time.
not_functional='^cmd_(allocations|barrel|bench.*|browser|damage|exports|gates_decay|gates_simulate|installed|kill|live_hostile|norm_ring|norm_scans|packages|poses_recon|poses_scans|presets|ranks|ranks_failures|ranks_kill|reproduce.*|site.*|timing|validate|without_cmocka)$|^test_(mc|ranks_ray_problem_.*|scatter_poses|scatter_recon|simulate_physics|sss|tails)$|_double$'

# the same of Python: what stands in the docs and examples, run line by line
not_functional_python='test_docs test_examples'

# under the sanitizers in full alone: what takes longest there, less what a small run of every command shows, and what is
# after numbers more than after bounds. What reads files of others, has threads or looks at memory stays. Double storage
# serves the tolerances of the release build alone. test_kinetics passes, but clang's leak sanitizer itself crashes at its end, in
# the thread-local memory of a thread that has gone; a small run shows kinetics under the sanitizers
longest='^cmd_(activity|barrel|bench.*|browser|castor|checks.*|demo|device|events_npy|exchange|exports|files|filter|follow|formats|frames|gates_decay|gates_recon|gates_simulate|head_motion|help|idle|interrupt|live|live_hostile|measure|memory.*|mu|nema|norm|norm_ring|one_command|optoacoustic|petlink|petsird|pipeline|place|poses_recon|presets|poses_scans|priors.*|ranks.*|rates|recon|report|response|recordings|reproduce.*|resume|sensitivity|simulate.*|site.*|sound.*|srm.*|stages|stream|strip|strip_files|timing|turn|turn_width|units|validate|vectors|view|view_page|norm_scans)$|^test_(cg|commit|core|custom|depierro|em|fft|filter|fista|histories|kernel|kinetics|ladder|lifetime|locale|map|map_few|map_models|map_run|material|mc|measure|moving|norm_resume|norm_scatter|panel_norm|panel_scan|panel_simulate|patches|pdhg|phantom|picture|prior|prior_step|problem|psf|randoms|ranks_(ray|report|resample|ring|s).*|ratio|ratio_step|ray_brick|ray_moved|ray_rings|rods|scatter|scatter_poses|scatter_recon|scatter_with|seen|simulate|simulate_physics|sound_stream|spheres|sradon|sradon_arcs|sradon_brick|sradon_faces|sradon_near|sradon_step|srm|srm_op|srm_op_cuda|srm_stream|srm_tables|sss|stop|stream|strip|strip_simulate|svoxel|svoxel_narrow|tails|timing|track_mu|transport|ubp)$'
