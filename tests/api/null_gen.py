# SPDX-License-Identifier: BSD-3-Clause
"""null_gen.py INCLUDE FILE: C source that calls every public function with NULL for each of its pointers, in turn.

Writes into FILE one function per function of the headers, and a table of calls that tests/api/test_null.c goes through. The other
pointers are what the headers want: handles and structs of test_null.c where it has one of the type, else zeros, with
`size` where a struct begins with it. A function with a status must refuse NULL by ISO_EARG, except for arguments of
OPTIONAL; another does nothing, and returns 0 or NULL, except those of RETURNS.
"""

import re
import sys

from headers import functions, handles, structs

# What NULL is allowed for: its header says what that means.
OPTIONAL = {
    "iso_replicate_weights": "event", "iso_replicate_counts": "line", "iso_part_events": "event", "iso_spread_get": "mean sd",
    "iso_intervals": "covariance", "iso_problem_replicates": "mean sd",
    "iso_basis_bins": "mean weight", "iso_frame_fit": "se s2", "iso_logan_fit": "intercept skipped",
    "iso_kinetic_run": "r run", "iso_kinetic_scores": "score misfit region",
    "iso_panel_sensitivity": "o",
    "iso_activity_scan": "counts prompts prompts_arg delayeds delayeds_arg",
    "iso_array_free": "a", "iso_calibration_write": "", "iso_cg_run": "r run", "iso_ctx_create_ranks": "mpi_comm",
    "iso_ctx_follow_stream": "stream", "iso_ctx_lead_stream": "stream", "iso_ctx_set_stream": "stream",
    "iso_barrel_events_read": "o", "iso_barrel_file_open": "o", "iso_barrel_sens": "mu", "iso_barrel_simulate": "mu", "iso_barrel_simulate_places": "mu",
    "iso_barrel_writer_close": "sidecar", "iso_dicom_write": "sidecar", "iso_em_run": "r run", "iso_event_file_open": "o", "iso_event_writer_close": "sidecar",
    "iso_event_writer_open": "s", "iso_events_read": "o", "iso_events_scanner": "o", "iso_events_write": "sidecar",
    "iso_events_write_with": "s sidecar", "iso_fista_run": "r run", "iso_lifetime_likelihood_at": "background", "iso_lifetime_moments": "sums", "iso_live_image": "live image",
    "iso_map_run": "r run", "iso_fisher_run": "u r", "iso_measure_petric": "aem voi", "iso_measure_rmse": "mask", "iso_memory_check": "ctx",
    "iso_motion_clusters": "cluster_of", "iso_nema_read": "path", "iso_panel_norm": "efficiency", "iso_panel_simulate_events": "arg", "iso_pdhg_run": "r run",
    "iso_nema_resolution": "o", "iso_nema_run": "o", "iso_phantom_create": "at", "iso_phantom_raster": "activity mu ctx", "iso_picture_render": "info",
    "iso_picture_scanner": "e title", "iso_picture_write": "sidecar",
    "iso_poses_create": "options name", "iso_poses_read": "options", "iso_poses_reference": "options",
    "iso_poses_write_with": "sidecar",
    "iso_prior_eval": "value gradient curvature hessian", "iso_problem_recon": "x path",
    "iso_problem_scatter": "r table", "iso_ray_sens_moved": "info", "iso_read_image": "want", "iso_read_within": "ctx",
    "iso_register_find": "start",
    "iso_recording_write": "sidecar", "iso_report_write": "o", "iso_scatter_single": "u", "iso_scatter_sum": "eff",
    "iso_simulate_blocks": "arg", "iso_spheres_pressure": "ctx", "iso_spheres_raster": "ctx", "iso_spheres_traces": "ctx",
    "iso_spheres_traces_faces": "ctx faces",
    "iso_delays_points": "amplitude", "iso_delays_ray": "amplitude", "iso_spheres_traces_through": "ctx faces delays",
    "iso_srm_read_within": "ctx", "iso_srm_write": "command sidecar", "iso_strip_events_read": "o",
    "iso_strip_events_write": "sidecar", "iso_strip_file_open": "o", "iso_strip_simulate_blocks": "arg",
    "iso_strip_writer_close": "sidecar", "iso_traces_band": "ctx", "iso_traces_deconvolve": "ctx", "iso_traces_eir": "ctx",
    "iso_transducers_grid": "field", "iso_triples_of_op": "sigma", "iso_triples_of_rows": "sigma", "iso_viewer_write": "overlay o", "iso_volume_read": "ctx",
    "iso_volume_resample": "outside", "iso_warp_jacobian": "det folds", "iso_write": "sidecar",
    "iso_gates_by_amplitude": "level",
    "iso_rates_write": "singles record", "iso_response_write": "sidecar", "iso_times_create": "crystal_sigma_ps", "iso_times_fit": "info",
    "iso_times_read": "scanner", "iso_times_write": "record", "iso_timing_fit": "crystal_sigma_ps info",
    "iso_norm_axial": "factor key", "iso_norm_make": "found", "iso_norm_plan": "ctx", "iso_norm_transaxial": "factor key", "iso_norm_write": "record",
}

# Functions of type int that return no status: all others of that type are ISO_CHECKED.
COUNTS = {"iso_basis_count", "iso_basis_maps", "iso_replicator_batch", "iso_gates_at", "iso_gates_count", "iso_ctx_rank", "iso_ctx_ranks", "iso_ctx_threads", "iso_op_n_sub", "iso_phantom_shapes", "iso_plan_size",
          "iso_problem_shape"}

# What a function without a status returns of NULL, if it is not 0, NULL or NaN.
RETURNS = {"iso_cg_finished": 1, "iso_ctx_ranks": 1, "iso_em_finished": 1, "iso_event_bad": 1, "iso_fista_finished": 1, "iso_gates_at": -1,
           "iso_live_address": 1, "iso_map_finished": 1, "iso_measure_quartiles": 1, "iso_pdhg_finished": 1, "iso_scanner_nearest": -1, "iso_strip_event_bad": 1}

# Calls that are left out: (function, argument).
LEFT_OUT = {("iso_ctx_create_ranks", "mpi_comm"): "starts MPI"}

# Valid values by type, const or not: members of `made` of test_null.c.
MADE = {
    "iso_cg_state *": "made.cg", "iso_ctx *": "made.ctx", "iso_em_state *": "made.em", "iso_fista_state *": "made.fista",
    "iso_map_state *": "made.map", "iso_op *": "made.op", "iso_pdhg_state *": "made.pdhg", "iso_phantom *": "made.phantom",
    "iso_prior *": "made.prior", "iso_problem *": "made.problem", "iso_scanner *": "made.scanner",
    "struct iso_array *": "&made.array", "struct iso_events *": "&made.events", "struct iso_grid *": "&made.grid",
    "struct iso_em *": "&made.of_em", "struct iso_cg *": "&made.of_cg", "struct iso_fista *": "&made.of_fista",
    "struct iso_map *": "&made.of_map", "struct iso_pdhg *": "&made.of_pdhg", "struct iso_plan *": "&made.plan", "struct iso_panels *": "&made.panels",
    "char *": "made.text", "iso_emit_fn": "emit", "iso_strip_emit_fn": "emit_strips",
}

# The same for one argument of one function.
MADE_FOR = {
    ("iso_problem_set_array", "name"): '"mu"', ("iso_problem_set_events", "name"): '"events"', ("iso_problem_set", "name"): '"grid"',
    ("iso_problem_set_reals", "name"): '"grid"',

}


def value(f, k, sized, opaque):
    """An expression for a valid argument number k, and whether it is one: zeros are no handle."""
    argument = f.arguments[k]
    if (f.name, argument.name) in MADE_FOR:
        return MADE_FOR[f.name, argument.name], True
    bare = argument.type.removeprefix("const ")
    if bare in MADE:
        return MADE[bare], True
    base = bare.rstrip(" *")
    if not argument.pointer:
        return ("NULL" if bare.endswith("_fn") else "0"), True
    struct = base.removeprefix("struct ") if bare.count("*") == 1 else ""
    size = f"sizeof({base})" if struct in sized else "0"
    return f"zeros({k}, {size})", not (base in opaque and bare.count("*") == 1)


def kind(f, argument):
    """What must come of NULL: as enum wanted of test_null.c has it."""
    if argument and argument.name in OPTIONAL.get(f.name, "").split():
        return "NO_CRASH"
    if f.status:
        return "REFUSED_NULL"
    return "NOTHING"


def call(f, sized, opaque):
    """The function that calls f, in C."""
    lines = [f"static double call_{f.name}(int gap)", "{"]
    names = []
    for k, a in enumerate(f.arguments):
        v = value(f, k, sized, opaque)[0]
        names.append(f"(gap == {k} || gap == ALL ? NULL : {v})" if a.pointer else v)
    text = f"{f.name}({', '.join(names)})"
    if f.result == "void":
        lines += [f"\t{text};", "\treturn 0;"]
    elif f.result.endswith("*"):
        lines += [f"\treturn {text} != NULL;"]
    elif f.result.startswith("struct"):
        lines += [f"\t{f.result} made_of_null = {text};", "\treturn all_zeros(&made_of_null, sizeof made_of_null);"]
    else:
        lines += [f"\treturn (double){text};"]
    return "\n".join(lines + ["}", ""])


def rows(f, sized, opaque):
    """The calls of f, as rows of the table."""
    pointers = [(k, a) for k, a in enumerate(f.arguments) if a.pointer]
    others = {k: all(value(f, j, sized, opaque)[1] for j in range(len(f.arguments)) if j != k) for k, _ in pointers}
    want = RETURNS.get(f.name, 0)
    for k, a in pointers:
        what = kind(f, a)
        if (f.name, a.name) not in LEFT_OUT and (others[k] or what == "REFUSED_NULL"):
            yield f'\t{{ "{f.name}", "{a.name}", {k}, {what}, {want}, call_{f.name} }},'
    required = [a for _, a in pointers if a.name not in OPTIONAL.get(f.name, "").split()]
    if pointers:
        yield f'\t{{ "{f.name}", "every pointer", ALL, {kind(f, None) if required else "NO_CRASH"}, {want}, call_{f.name} }},'


def main(include, file):
    sized = {name for name, (_, members) in structs(include).items() if re.match(r"\s*size_t size;", members)}
    opaque, found = handles(include), [f for f in functions(include) if any(a.pointer for a in f.arguments)]
    known = {f.name for f in found}
    unknown = sorted((set(OPTIONAL) | COUNTS | set(RETURNS)) - known)
    unchecked = {f.name for f in found if f.result == "int" and not f.status} ^ COUNTS
    if unchecked:
        sys.exit(f"null_gen.py: ISO_CHECKED, or in COUNTS, but not both: {', '.join(sorted(unchecked))}")
    if unknown:
        sys.exit(f"null_gen.py: the headers have no function {', '.join(unknown)} with a pointer")
    with open(file, "w") as out:
        out.write("/* Made by tests/api/null_gen.py: see there. */\n")
        out.write("\n".join(call(f, sized, opaque) for f in found))
        out.write("\nstatic const struct row rows[] = {\n")
        out.writelines(row + "\n" for f in found for row in rows(f, sized, opaque))
        out.write("};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
