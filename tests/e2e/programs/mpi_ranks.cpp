// Ranks that send messages to each other: `mpi_ranks ROUNDS SLOW` makes as many rounds of work and
// MPI_Allreduce; rank SLOW works 30 ms longer in each. No header of MPI is installed: what is used
// of Open MPI is declared here.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

extern "C" {
extern char ompi_mpi_comm_world, ompi_mpi_int, ompi_mpi_op_sum;
int MPI_Init(int *, char ***);
int MPI_Finalize();
int MPI_Comm_rank(void *, int *);
int MPI_Comm_size(void *, int *);
int MPI_Comm_split(void *, int, int, void **);
int MPI_Comm_free(void **);
int MPI_Barrier(void *);
int MPI_Bcast(void *, int, void *, int, void *);
int MPI_Allreduce(const void *, void *, int, void *, void *, void *);
int MPI_Sendrecv(const void *, int, void *, int, int, void *, int, void *, int, int, void *,
                 void *);
int MPI_Isend(const void *, int, void *, int, int, void *, void **);
int MPI_Recv(void *, int, void *, int, int, void *, void *);
int MPI_Wait(void **, void *);
}

int main(int argc, char **argv) {
  void *world = &ompi_mpi_comm_world, *integer = &ompi_mpi_int, *sum = &ompi_mpi_op_sum;
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
    usleep(rank == slow ? 32'000 : 2'000);
    int all = 0;
    MPI_Allreduce(&rank, &all, 1, integer, sum, world);
    wrong += all != size * (size - 1) / 2;
  }
  // The halves of the world, twice: the second has the handle of the first, maybe.
  for (int i = 0; i < 2; ++i) {
    void *half = nullptr;
    int value = rank;
    MPI_Comm_split(world, rank % 2, rank, &half);
    MPI_Bcast(&value, 1, integer, 0, half);
    wrong += value != rank % 2;
    MPI_Comm_free(&half);
  }
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int got = -1;
  MPI_Sendrecv(&rank, 1, integer, next, 0, &got, 1, integer, before, 0, world, nullptr);
  wrong += got != before;
  void *request = nullptr;
  MPI_Isend(&rank, 1, integer, next, 1, world, &request);
  MPI_Recv(&got, 1, integer, before, 1, world, nullptr);
  MPI_Wait(&request, nullptr);
  wrong += got != before;
  MPI_Finalize();
  if (wrong == 0) std::printf("rank %d of %d is right\n", rank, size);
  return wrong;
}
