/* SPDX-License-Identifier: BSD-3-Clause */
/* The problem of a command: project, backproject, sens, recon. */
#ifndef ISO_CMD_PROBLEM_H
#define ISO_CMD_PROBLEM_H

#include "cmd.h"
#include "problem/problem.h"

/* A problem of the model that is the first word after the command, or that of the record that --like
   names, with the record of the command. Before --help any will do: the first is taken. The tables of its
   parameters then stand among the sets that are given to cmd_parse. */
int cmd_problem(iso_problem **p, struct cmd *c, int argc, char **argv);

/* The positional `model`, to stand first in the table of a command. */
struct opt cmd_model(struct cmd *c);

/* cmd_begin, with the problem on the context. */
int cmd_problem_begin(iso_problem *p, struct cmd *c);

#endif
