/* SPDX-License-Identifier: BSD-3-Clause */
/* What GATE's versions call their columns. */
#include "gate_columns.h"

static const struct names {
	double ps, ms; /* in a unit of time: s, and ns */
	const char *name[GATE_COLUMNS];
} versions[] = {
	{ 1e12,
	  1e3,
	  { "globalPosX1", "globalPosY1", "globalPosZ1", "globalPosX2", "globalPosY2", "globalPosZ2", "time1",
	    "time2", "eventID1", "eventID2", "comptonPhantom1", "comptonPhantom2", "RayleighPhantom1",
	    "RayleighPhantom2" } },
	{ 1e3,
	  1e-6,
	  { "PostPosition_X1", "PostPosition_Y1", "PostPosition_Z1", "PostPosition_X2", "PostPosition_Y2",
	    "PostPosition_Z2", "GlobalTime1", "GlobalTime2", "EventID1", "EventID2", "comptonPhantom1",
	    "comptonPhantom2", "RayleighPhantom1", "RayleighPhantom2" } },
};
enum { VERSIONS = sizeof versions / sizeof *versions };

/* How many of the ends it has. */
static int count_ends(const struct gate_columns *g)
{
	int n = 0;

	for (int i = 0; i < GATE_ENDS; i++) n += g->column[i] != NULL;
	return n;
}

static int check(const struct gate_columns *g, const struct names *v, const char *path, const char *where,
                 bool trues_only)
{
	bool times = g->column[GATE_T1] || g->column[GATE_T2];

	for (int i = 0; i < GATE_COLUMNS; i++) {
		bool needed = i < GATE_ENDS || (i < GATE_READ ? times : trues_only);

		if (!needed || g->column[i]) continue;
		return iso_refuse(path, "%s has no %s%s", where, v->name[i],
		                  i >= GATE_READ ? ", which trues_only needs" : "");
	}
	return ISO_OK;
}

int gate_columns_find(struct gate_columns *g, const char *path, const char *where, bool trues_only,
                      const void *(*find)(const void *arg, const char *name), const void *arg)
{
	struct gate_columns of[VERSIONS];
	int best = 0, st;

	for (int k = 0; k < VERSIONS; k++) {
		of[k] = (struct gate_columns){ .ps = versions[k].ps, .ms = versions[k].ms };
		for (int i = 0; i < GATE_COLUMNS; i++) of[k].column[i] = find(arg, versions[k].name[i]);
		if (count_ends(&of[k]) > count_ends(&of[best])) best = k;
	}
	if (count_ends(&of[best]) == 0)
		return iso_refuse(path,
		                  "%s has neither %s ... of GATE 9 nor %s ... of GATE 10: no coincidences",
		                  where, versions[0].name[0], versions[1].name[0]);
	if ((st = check(&of[best], &versions[best], path, where, trues_only))) return st;
	*g = of[best];
	for (int i = GATE_READ; i < GATE_COLUMNS && !trues_only; i++) g->column[i] = NULL;
	return ISO_OK;
}
