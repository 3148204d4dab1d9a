/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon --live. */
#include "recon_parts.h"

#include <stdlib.h>
#include <string.h>

struct opt_set live_params(struct live_page *l)
{
	const struct opt opts[] = {
		{ 0, "live", .text = &l->port, .bare = "0", .value = "[PORT]", .transient = true,
		  .help = "serve a page for a browser, on this machine alone, with image, objective, rate "
		          "and time left. The page follows the run, and can stop it and save a checkpoint. "
		          "Isotome prints the address; without PORT it takes a free port" },
		{ 0, "live-bind", .text = &l->bind, .value = "ADDRESS", .transient = true,
		  .absent = "127.0.0.1",
		  .help = "numeric address on which to serve that page. With 0.0.0.0, anyone who reaches "
		          "this machine and has the page's address can see and stop the run" },
		{ 0 },
	};

	_Static_assert(sizeof l->opts == sizeof opts, "room for the options");
	memcpy(l->opts, opts, sizeof opts);
	return (struct opt_set){ "Live page", l->opts };
}

static bool is_port(const char *text)
{
	return strspn(text, "0123456789") == strlen(text) && strlen(text) <= 5 &&
	       strtol(text, NULL, 10) <= 65535;
}

int live_check(const struct live_page *l)
{
	if (!l->port && l->bind) return iso_fail(ISO_EARG, "--live-bind goes with --live");
	if (!l->port || is_port(l->port)) return ISO_OK;
	return iso_fail(ISO_EARG,
	                "--live is '%s', must be a port from 0 to 65535, or nothing; the live share of the "
	                "time is --live-share",
	                l->port);
}

int live_begin(struct live_page *l, iso_problem *p, const struct cmd *c, const char *out)
{
	const struct iso_live_options o = {
		.size = sizeof o,
		.bind = l->bind,
		.port = l->port ? (int)strtol(l->port, NULL, 10) : 0,
		.title = out,
	};
	int st;

	if (!l->port || c->dry_run || !ranks_is_first()) return ISO_OK;
	if ((st = iso_live_start(&l->live, c->ctx, &o))) return st;
	/* also with --quiet: nobody could guess it */
	fprintf(stderr, "isotome recon: live: %s\n", iso_live_address(l->live));
	iso_problem_set_live(p, l->live);
	return ISO_OK;
}

void live_end(struct live_page *l, int st, const char *out)
{
	char outcome[256];

	if (st == ISO_OK)
		snprintf(outcome, sizeof outcome, "Done: %.200s is written.", out);
	else
		snprintf(outcome, sizeof outcome, "Ended: %.200s", iso_message());
	iso_live_stop(l->live, outcome);
	l->live = NULL;
}
