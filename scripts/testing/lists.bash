# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by test.sh and test-more.sh: which tests run where, as expressions for ctest.

# in full alone
only_full='^test_(map|map_run|mc|patches|pdhg|prior_step|ratio_step|ratio|ray|ray_rings|scatter|scatter_recon|scatter_with|simulate_physics|srm|sss|strip)_double$|^test_(scatter|scatter_with|seen|srm_stream|ranks_.*_[34]|ranks_ray_problem_1)$|^cmd_(bench_end_to_end|reproduce_nema|reproduce_priors)$'

# in test-more.sh: what a newcomer need not wait for. Attacks, kills and failing allocations; the papers' studies and
# benchmarks; packages, installed trees, the site and a browser; simulated studies that take longest.
not_functional='^cmd_(allocations|bench.*|browser|damage|gates_decay|installed|kill|live_hostile|packages|ranks_failures|ranks_kill|reproduce.*|site.*|validate|without_cmocka|gates_simulate|norm_ring|poses_scans|timing|norm_scans)$|^test_(mc|scatter_poses|scatter_recon|simulate_physics|sss|tails)$'

# not under the sanitizers: what takes longest there, less what a small run of every command shows. Double storage
# serves the tolerances of the release build alone
longest='^cmd_(bench.*|browser|castor|checks.*|demo|device|events_npy|exchange|files|filter|follow|formats|frames|gates_decay|gates_recon|gates_simulate|head_motion|help|idle|interrupt|live|live_hostile|measure|memory.*|nema|norm|norm_ring|one_command|optoacoustic|petlink|petsird|pipeline|place|poses_recon|poses_scans|priors.*|ranks.*|rates|recon|report|recordings|reproduce.*|resume|simulate.*|site.*|sound.*|srm.*|stages|stream|strip|strip_files|timing|turn|turn_width|units|validate|vectors|view|view_page|norm_scans)$|^test_(cg|commit|core|custom|em|fft|filter|fista|histories|kernel|ladder|locale|map|map_few|material|mc|measure|moving|panel_norm|panel_scan|panel_simulate|patches|pdhg|phantom|picture|prior|prior_step|problem|psf|randoms|ranks_(ray|report|resample|ring|s).*|ratio|ratio_step|ray_brick|ray_rings|rods|scatter|scatter_poses|scatter_recon|scatter_with|seen|simulate|simulate_physics|spheres|sradon|sradon_arcs|sradon_brick|srm|srm_op|srm_op_cuda|srm_stream|srm_tables|sss|stop|stream|strip|strip_simulate|svoxel|tails|transport|ubp)$'
