// Structures that workgroups share: queues, locks, flags. Clean ones need neither more fences nor
// stricter orders than they have.
#include "cases.h"

template <class T> __device__ T relaxed_load(const T *p) {
  return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> __device__ T acquire_load(const T *p) {
  return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> __device__ void relaxed_store(T *p, T value) {
  __hip_atomic_store(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> __device__ void release_store(T *p, T value) {
  __hip_atomic_store(p, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> __device__ bool claim(T *p, T &expected, T desired) {
  return __hip_atomic_compare_exchange_strong(p, &expected, desired, __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// A bounded queue of many producers and consumers: each cell has a number that says whose turn it
// is. Who has read a cell gives it back while its results may still be on their way to memory.
constexpr unsigned kCells = 8, kEach = 16;
struct Cell {
  unsigned turn, data;
};
struct Ring {
  unsigned head, tail;
  Cell cells[kCells];
};

template <bool broken> __device__ bool push(Ring *ring, unsigned value) {
  unsigned at = relaxed_load(&ring->tail);
  for (;;) {
    Cell *cell = &ring->cells[at % kCells];
    const int ahead = static_cast<int>(acquire_load(&cell->turn) - at);
    if (ahead < 0) return false;
    if (ahead == 0 && claim(&ring->tail, at, at + 1)) {
      cell->data = value; // finds: race, optimized
      if (broken)
        relaxed_store(&cell->turn, at + 1);
      else
        release_store(&cell->turn, at + 1);
      return true;
    }
    if (ahead > 0) at = relaxed_load(&ring->tail);
  }
}

template <bool broken> __device__ bool pop(Ring *ring, unsigned *value) {
  unsigned at = relaxed_load(&ring->head);
  for (;;) {
    Cell *cell = &ring->cells[at % kCells];
    const int ahead = static_cast<int>(acquire_load(&cell->turn) - (at + 1));
    if (ahead < 0) return false;
    if (ahead == 0 && claim(&ring->head, at, at + 1)) {
      *value = cell->data; // finds: race, optimized
      release_store(&cell->turn, at + kCells);
      return true;
    }
    if (ahead > 0) at = relaxed_load(&ring->head);
  }
}

template <bool broken> __global__ void ring_of_cells(Ring *ring, unsigned *out) {
  if (threadIdx.x) return;
  unsigned value = 0;
  for (unsigned i = 0; i < kEach;)
    if (blockIdx.x % 2 == 0)
      i += push<broken>(ring, blockIdx.x * 100 + i);
    else if (pop<broken>(ring, &value))
      out[blockIdx.x * kEach + i++] = value;
}

// One producer and one consumer; a cell is given back before it has been read.
template <bool broken> __global__ void given_back_early(Ring *ring, unsigned *out) {
  if (threadIdx.x) return;
  for (unsigned i = 0; i < kEach; ++i) {
    Cell *cell = &ring->cells[i % kCells];
    if (blockIdx.x == 0) {
      while (acquire_load(&cell->turn) != i) {}
      cell->data = i; // finds: race
      release_store(&cell->turn, i + 1);
    } else {
      while (acquire_load(&cell->turn) != i + 1) {}
      if (broken) release_store(&cell->turn, i + kCells);
      out[i] = cell->data; // finds: race
      if (!broken) release_store(&cell->turn, i + kCells);
    }
  }
}

// Two take turns; what one has stored is not on its way to the other when it gives the turn away.
template <bool broken> __global__ void takes_turns(int *sum, unsigned *turn) {
  if (threadIdx.x) return;
  for (unsigned i = blockIdx.x; i < 6; i += 2) {
    while (acquire_load(turn) != i) {}
    *sum += i; // finds: race, optimized says: comes between, but without __threadfence() before it: make it a release store
    if (broken)
      relaxed_store(turn, i + 1);
    else
      release_store(turn, i + 1);
  }
}

template <bool broken> int run() {
  Device<Ring> ring(1);
  Device<unsigned> out(1024);
  Ring empty{};
  for (unsigned i = 0; i < kCells; ++i) empty.cells[i].turn = i;
  const auto clear = [&] {
    finish();
    HIP(hipMemcpy(ring.data, &empty, sizeof empty, hipMemcpyHostToDevice));
  };
  clear();
  ring_of_cells<broken><<<8, 64>>>(ring.data, out.data), clear();
  given_back_early<broken><<<2, 64>>>(ring.data, out.data), clear();
  Device<int> sum(1);
  Device<unsigned> turn(1, false);
  HIP(hipMemset(turn.data, 0, sizeof(unsigned)));
  takes_turns<broken><<<2, 64>>>(sum.data, turn.data), clear();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
