/* SPDX-License-Identifier: BSD-3-Clause */
/* libisotome_mpi.so: what core/comm.c asks of MPI. Nothing else of Isotome names MPI, and this library names no
   symbol of Isotome's but those of messages. */
#include "core/comm.h"
#include "core/size.h"

#include <limits.h>
#include <mpi.h>
#include <string.h>
#if __has_include(<mpi-ext.h>)
#	include <mpi-ext.h>
#endif

#define BLOCK ((int64_t)1 << 27) /* values or bytes of one call: MPI counts by int */

static int check(const char *what, int code)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int n = 0;

	if (code == MPI_SUCCESS) return ISO_OK;
	MPI_Error_string(code, text, &n);
	return iso_fail(ISO_EIO, "MPI: %s: %s", what, text);
}

/* MPI is the whole process's: begun once, and not again after its end. Whoever waits for a rank that failed would wait
   for ever if that rank waited for the others at the end. */
static bool lost;

static void finish(void)
{
	int ended = 0;

	MPI_Finalized(&ended);
	if (!ended && !lost) MPI_Finalize();
}

#ifdef OPEN_MPI
#	define KIND "Open MPI"
#	define OF_OPEN_MPI true
#else
#	define KIND "MPICH or its like"
#	define OF_OPEN_MPI false
#endif

/* Characters of a version, with the 0: as many as any MPI writes. That of this header may be short of it: Open MPI's
   has 256, and MPICH writes 8192. */
enum { VERSION = MPI_MAX_LIBRARY_VERSION_STRING > 8193 ? MPI_MAX_LIBRARY_VERSION_STRING : 8193 };

/* The functions that a process finds may be those of an MPI that was loaded earlier, whose handles and constants are
   others. There are two kinds. */
static int check_kind(char text[VERSION])
{
	int n = 0;

	MPI_Get_library_version(text, &n);
	text[strcspn(text, ",\n")] = '\0';
	if ((strncmp(text, "Open MPI", 8) == 0) == OF_OPEN_MPI) return ISO_OK;
	return iso_fail(ISO_EDEVICE, "MPI: this process has loaded %s; libisotome_mpi.so was built for " KIND,
	                text);
}

/* Who gives a communicator has begun the MPI that it is of. */
static int begin(const void *comm)
{
	char text[VERSION] = "";
	int begun = 0, ended = 0, level = 0, st = check_kind(text);

	if (st) return st;
	MPI_Finalized(&ended);
	if (ended) return iso_fail(ISO_EARG, "MPI: it was ended already in this process");
	MPI_Initialized(&begun);
	if (begun) return ISO_OK;
	if (comm)
		return iso_fail(ISO_EDEVICE,
		                "MPI: a communicator was given, but %s, which libisotome_mpi.so uses, was "
		                "not begun: the communicator is of another MPI",
		                text);
	if (!(st = check("start", MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level)))) atexit(finish);
	return st;
}

/* What c->mpi is. The counts are there from the start: a rank that found no memory for them amid an exchange would leave
   the others waiting. */
struct own {
	MPI_Comm comm;
	int *n, *at; /* c->size each, for gather_small */
};

static MPI_Comm comm_of(const struct iso_comm *c)
{
	return ((const struct own *)c->mpi)->comm;
}

/* ---- made and given back ---- */

static int find_neighbours(struct iso_comm *c, MPI_Comm comm)
{
	MPI_Comm here = MPI_COMM_NULL;
	int st = check("ranks of this machine",
	               MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &here));

	if (st) return st;
	MPI_Comm_rank(here, &c->local_rank);
	MPI_Comm_size(here, &c->local_size);
	return check("ranks of this machine", MPI_Comm_free(&here));
}

static bool takes_device(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
	return MPIX_Query_cuda_support() == 1;
#else
	return false;
#endif
}

/* Failures come back as codes, and a message is made of them. */
static int join(struct iso_comm *c, MPI_Comm *own, const void *comm)
{
	int st = check("duplicate", MPI_Comm_dup(comm ? *(const MPI_Comm *)comm : MPI_COMM_WORLD, own));

	if (st) return st;
	MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN);
	MPI_Comm_rank(*own, &c->rank);
	MPI_Comm_size(*own, &c->size);
	c->takes_device = takes_device();
	return find_neighbours(c, *own);
}

static void mpi_close(struct iso_comm *c)
{
	struct own *own = c->mpi;
	int ended = 0;

	MPI_Finalized(&ended);
	if (c->failed && !c->agreed)
		lost = true;
	else if (!ended)
		MPI_Comm_free(&own->comm);
	free(own->n);
	free(own);
}

static int mpi_open(struct iso_comm *c, const void *comm)
{
	struct own *own = size_alloc(1, sizeof *own);
	int st = own ? begin(comm) : iso_fail_memory("communicator", sizeof *own);

	if (!st) st = join(c, &own->comm, comm);
	if (!st && !(own->n = size_alloc(c->size, 2 * sizeof *own->n)))
		st = iso_fail_memory("ranks", c->size * (int64_t)(2 * sizeof *own->n));
	if (st) {
		free(own);
		return st;
	}
	own->at = own->n + c->size;
	c->mpi = own;
	return ISO_OK;
}

/* ---- exchange ---- */

static int block(int64_t left)
{
	return (int)(left < BLOCK ? left : BLOCK);
}

static int reduce(struct iso_comm *c, char *v, int64_t n, int64_t bytes, MPI_Datatype type, MPI_Op op)
{
	int st = ISO_OK;

	for (int64_t i = 0; i < n && !st; i += BLOCK)
		st = check("reduce",
		           MPI_Allreduce(MPI_IN_PLACE, v + i * bytes, block(n - i), type, op, comm_of(c)));
	return st;
}

static int mpi_sum(struct iso_comm *c, int64_t *v, int64_t n)
{
	return reduce(c, (char *)v, n, sizeof *v, MPI_INT64_T, MPI_SUM);
}

static int mpi_sum_real(struct iso_comm *c, double *v, int64_t n)
{
	return reduce(c, (char *)v, n, sizeof *v, MPI_DOUBLE, MPI_SUM);
}

static int mpi_max(struct iso_comm *c, double *v, int64_t n)
{
	return reduce(c, (char *)v, n, sizeof *v, MPI_DOUBLE, MPI_MAX);
}

static int mpi_broadcast(struct iso_comm *c, void *v, int64_t bytes, int from)
{
	int st = ISO_OK;

	for (int64_t i = 0; i < bytes && !st; i += BLOCK)
		st = check("broadcast",
		           MPI_Bcast((char *)v + i, block(bytes - i), MPI_BYTE, from, comm_of(c)));
	return st;
}

/* Parts that int can count go in one call, as bytes; others by a broadcast of each rank's. */
static int gather_small(struct iso_comm *c, char *v, const int64_t *first)
{
	const struct own *own = c->mpi;

	for (int r = 0; r < c->size; r++) {
		own->n[r] = (int)(first[r + 1] - first[r]);
		own->at[r] = (int)(first[r] - first[0]);
	}
	return check("gather", MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, v + first[0], own->n,
	                                      own->at, MPI_BYTE, own->comm));
}

static int mpi_gather(struct iso_comm *c, void *v, const int64_t *first)
{
	int st = ISO_OK;

	if (first[c->size] - first[0] <= INT_MAX) return gather_small(c, v, first);
	for (int r = 0; r < c->size && !st; r++)
		st = mpi_broadcast(c, (char *)v + first[r], first[r + 1] - first[r], r);
	return st;
}

const char iso_half_version[] = ISO_VERSION; /* library.c */

const struct iso_comm_fn iso_mpi_fn = {
	mpi_open, mpi_close, mpi_sum, mpi_sum_real, mpi_max, mpi_gather, mpi_broadcast,
};
