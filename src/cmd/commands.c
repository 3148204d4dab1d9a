/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of commands. */
#include "cmd.h"

/* Options of commands without a problem, of which the library speaks as of parameters. */
static const char *const of_info[] = { "bins", "negative", "no-multiplicity", NULL };
static const char *const of_convert[] = {
	"bins", "negative", "no-multiplicity", "scanner", "scanner-differs", "duration-s", "start-s", NULL
};
static const char *const of_gate[] = { "frame-s", "band", NULL };
static const char *const of_kinetics[] = { "input",    "input-unit", "plasma-ratio", "basis",  "isotope",
	                                   "evaluate", "from-s",     "weights",      "nonneg", "model",
	                                   NULL };
static const char *const of_warp[] = { "field", "field-axes", NULL };

static const struct command commands[] = {
	{ "info", "say what a file is: kind, sizes, units, statistics, warnings", .run = main_info,
	  .options = of_info },
	{ "phantom", "make a test image", .run = main_phantom },
	{ "simulate", "simulate the events that a scanner records of an image", .run = main_simulate,
	  .shares = true },
	{ "response", "make the table of what crystals of a ring make of photons", .run = main_response },
	{ "srm", "make the system matrix of a dual-head scanner, by photon transport", .run = main_srm,
	  .shares = true },
	{ "norm", "make the normalisation of a scanner from a known source", .run = main_norm,
	  .shares = true },
	{ "timing", "find time offsets and time resolution of a ring's crystals", .run = main_timing },
	{ "rates", "find the dead time of a scanner from a decaying source", .run = main_rates },
	{ "sens", "make the sensitivity image of a scanner", .run = main_sens, .shares = true,
	  .has_problem = true },
	{ "project", "project an image to data: y = A x", .run = main_project, .shares = true,
	  .has_problem = true },
	{ "backproject", "project data back to an image: x = A* y", .run = main_backproject, .shares = true,
	  .has_problem = true },
	{ "recon", "reconstruct an image from measured data", .run = main_recon, .shares = true,
	  .has_problem = true },
	{ "scatter", "estimate the scattered coincidences of a ring", .run = main_scatter, .shares = true,
	  .has_problem = true },
	{ "calibrate", "calibrate a scanner with a uniform phantom", .run = main_calibrate,
	  .has_problem = true },
	{ "motion", "find how a head moves during a scan, from its events", .run = main_motion },
	{ "filter", "smooth an image: Gaussian or median", .run = main_filter },
	{ "mu", "turn a CT into attenuation, on the grid of an image", .run = main_mu },
	{ "resample", "put an image onto another grid, or that of another image", .run = main_resample },
	{ "warp", "move an image by a displacement field, or back by its transpose", .run = main_warp,
	  .options = of_warp },
	{ "gate", "make a table of gates from a trace, triggers or events", .run = main_gate,
	  .options = of_gate },
	{ "lifetime", "make maps of the life of positronium, with their errors", .run = main_lifetime,
	  .has_problem = true },
	{ "kinetics", "fit kinetic models to the frames of a scan: Patlak, Logan, ...", .run = main_kinetics,
	  .options = of_kinetics },
	{ "unmix", "turn images of several wavelengths into maps of what absorbs", .run = main_unmix },
	{ "delays", "compute and draw delays of sound through tissue", .run = main_delays },
	{ "measure", "measure an image: regions, profiles, widths, differences", .run = main_measure },
	{ "nema", "compute figures of merit of a scanner after NEMA NU 2 and NU 4", .run = main_nema },
	{ "view", "draw a picture: slices, montage, maximum-intensity projection", .run = main_view },
	{ "convert", "convert a file to another format", .run = main_convert, .options = of_convert },
	{ "bids", "put an image into a PET-BIDS data set", .run = main_bids, .has_problem = true },
	{ "report", "show images and how they were made, on one HTML page", .run = main_report },
	{ "bench", "measure how fast Isotome and this machine are", .outside = "isotome-bench" },
	{ "reproduce", "repeat the experiments of a paper, and compare the figures",
	  .outside = "isotome-bench" },
	{ "demo", "run a small complete example, from a phantom to a report", .run = main_demo },
};

const struct command *command_at(int k)
{
	return k >= 0 && k < (int)(sizeof commands / sizeof *commands) ? &commands[k] : NULL;
}
