// Ranks that send messages to each other: `mpi_ranks ROUNDS SLOW` makes as many rounds of work and
// MPI_Allreduce; rank SLOW works 248 ms longer in each. No header of MPI is installed: what is used
// of Open MPI, or of MPICH (E2E_MPICH), is declared here.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

#ifdef E2E_MPICH
using Handle = int;
#else
using Handle = void *;
#endif

extern "C" {
#ifndef E2E_MPICH
extern char ompi_mpi_comm_world, ompi_mpi_int, ompi_mpi_op_sum;
#endif
int MPI_Init(int *, char ***);
int MPI_Finalize();
int MPI_Comm_rank(Handle, int *);
int MPI_Comm_size(Handle, int *);
int MPI_Comm_split(Handle, int, int, Handle *);
int MPI_Comm_free(Handle *);
int MPI_Barrier(Handle);
int MPI_Bcast(void *, int, Handle, int, Handle);
int MPI_Allreduce(const void *, void *, int, Handle, Handle, Handle);
int MPI_Sendrecv(const void *, int, Handle, int, int, void *, int, Handle, int, int, Handle,
                 void *);
int MPI_Isend(const void *, int, Handle, int, int, Handle, Handle *);
int MPI_Recv(void *, int, Handle, int, int, Handle, void *);
int MPI_Wait(Handle *, void *);
}

int main(int argc, char **argv) {
#ifdef E2E_MPICH // as its mpi.h has them
  const Handle world = 0x44000000, integer = 0x4c000405, sum = 0x58000003;
  void *const ignored = reinterpret_cast<void *>(1);
#else
  void *world = &ompi_mpi_comm_world, *integer = &ompi_mpi_int, *sum = &ompi_mpi_op_sum;
  void *const ignored = nullptr;
#endif
  const int rounds = std::atoi(argv[1]), slow = std::atoi(argv[2]);
  int rank = -1, size = 0, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  void *hip = dlopen("libamdhip64.so", RTLD_NOW);
  const auto synchronize =
      hip ? reinterpret_cast<int (*)()>(dlsym(hip, "hipDeviceSynchronize")) : nullptr;
  if (!synchronize || synchronize() != 0) wrong = 1;
  MPI_Barrier(world);
  for (int i = 0; i < rounds; ++i) {
    usleep(rank == slow ? 250'000 : 2'000);
    int all = 0;
    MPI_Allreduce(&rank, &all, 1, integer, sum, world);
    wrong += all != size * (size - 1) / 2;
  }
  // The halves of the world, twice: the second has the handle of the first, maybe.
  for (int i = 0; i < 2; ++i) {
    Handle half{};
    int value = rank;
    MPI_Comm_split(world, rank % 2, rank, &half);
    MPI_Bcast(&value, 1, integer, 0, half);
    wrong += value != rank % 2;
    MPI_Comm_free(&half);
  }
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int got = -1;
  MPI_Sendrecv(&rank, 1, integer, next, 0, &got, 1, integer, before, 0, world, ignored);
  wrong += got != before;
  Handle request{};
  MPI_Isend(&rank, 1, integer, next, 1, world, &request);
  MPI_Recv(&got, 1, integer, before, 1, world, ignored);
  MPI_Wait(&request, ignored);
  wrong += got != before;
  MPI_Finalize();
  if (wrong == 0) std::printf("rank %d of %d is right\n", rank, size);
  return wrong;
}
