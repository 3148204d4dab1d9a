/* SPDX-License-Identifier: BSD-3-Clause */
/* The stored table of elements: curves of straight lines in log-log. */
#include "elements.h"

#include <math.h>
#include <stddef.h>

struct node {
	float x, y;
};

struct curve {
	const struct node *node;
	int n;
};

struct element {
	int z;
	double weight;
	struct curve cs[3], form;
};

#define CURVE(nodes)                                  \
	{                                             \
		nodes, sizeof nodes / sizeof nodes[0] \
	}
#define ELEMENT(z, weight, name)                                                                   \
	{                                                                                          \
		z, weight, { CURVE(name##_photo), CURVE(name##_compton), CURVE(name##_rayleigh) }, \
			CURVE(name##_form)                                                         \
	}

#include "elements_table.h"

/* Beyond its ends a curve goes on level. */
static double at(const struct curve *c, double x)
{
	int low = 0, high = c->n - 1;

	if (!(x > c->node[0].x)) return c->node[0].y;
	if (x >= c->node[high].x) return c->node[high].y;
	while (high - low > 1) {
		int mid = (low + high) / 2;

		*(x < c->node[mid].x ? &high : &low) = mid;
	}
	const struct node *a = &c->node[low], *b = &c->node[high];

	return a->y * pow((double)b->y / a->y, log(x / a->x) / log((double)b->x / a->x));
}

static const struct element *find(int z)
{
	for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
		if (elements[i].z == z) return &elements[i];

	return NULL;
}

static bool has(int z)
{
	return find(z) != NULL;
}

static double weight(int z)
{
	return find(z)->weight;
}

static double cs(int z, enum iso_process process, double kev)
{
	return at(&find(z)->cs[process], kev);
}

static double form(int z, double q)
{
	return at(&find(z)->form, q);
}

const struct iso_elements iso_elements_stored = { "stored table", has, weight, cs, form };
