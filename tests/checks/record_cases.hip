// Structures of which a part was never written, and several waves that say the same.
#include "cases.h"

// Compilers load all members at once.
struct Body {
  float x, y, z, mass;
};
__global__ void place(Body *b) {
  b[threadIdx.x].x = 1;
  b[threadIdx.x].y = 2;
  b[threadIdx.x].z = threadIdx.x;
}
template <bool broken> __global__ void weigh(const Body *bodies, float *out) {
  const Body b = bodies[threadIdx.x]; // finds: init
  out[threadIdx.x] = broken ? b.x * b.y + b.z * b.mass : b.x * b.y + b.z;
}

// To copy what nobody wrote is no mistake, only to use it.
template <bool broken> __global__ void copied(const Body *from, Body *to, float *out) {
  to[threadIdx.x] = from[threadIdx.x];                                         // may: init
  if (broken) out[threadIdx.x] = from[threadIdx.x].x + from[threadIdx.x].mass; // finds: init
}

// The space between members is nobody's.
struct Entry {
  char kind;
  int count;
  char flag;
  double weight;
};
__global__ void fill_entries(Entry *e) {
  e[threadIdx.x].kind = 1;
  e[threadIdx.x].count = threadIdx.x;
  e[threadIdx.x].flag = 2;
  e[threadIdx.x].weight = 0.5;
}
__global__ void sort_entries(const Entry *e, Entry *to, double *out) {
  const Entry mine = e[63 - threadIdx.x];
  to[threadIdx.x] = mine;
  out[threadIdx.x] = mine.weight * mine.count + mine.kind + mine.flag;
}

// Decides by what nobody wrote.
struct Cell {
  int left, right, key, unused;
};
__global__ void plant(Cell *c, bool whole) {
  c[threadIdx.x].left = threadIdx.x;
  c[threadIdx.x].right = threadIdx.x + 1;
  if (whole) c[threadIdx.x].key = 3;
}
template <bool broken> __global__ void find(const Cell *cells, int *out) {
  const Cell c = cells[threadIdx.x]; // finds: init
  out[threadIdx.x] = c.key < 5 ? c.left : c.right;
}

// In LDS: only two of four elements.
template <bool broken> __global__ void quads(float *out) {
  __shared__ float4 tile[64];
  float *p = reinterpret_cast<float *>(tile);
  for (int k = 0; k < (broken ? 3 : 4); ++k) p[threadIdx.x * 4 + k] = k;
  __syncthreads();
  const float4 v = tile[63 - threadIdx.x]; // finds: init
  out[threadIdx.x] = v.x + v.y + v.z + v.w;
}

// All waves may say that there is more to do, but not that there is nothing.
template <bool broken> __global__ void converge(const int *in, int *out) {
  __shared__ int changed;
  int value = in[threadIdx.x], turns = 0;
  do {
    if (!broken) __syncthreads();
    if (threadIdx.x == 0) changed = 0; // finds: race
    __syncthreads();
    if (value < 5 + int(threadIdx.x / 64)) {
      ++value;
      changed = 1;
    }
    __syncthreads();
    ++turns;
  } while (changed); // finds: race
  out[threadIdx.x] = turns;
}

// The same place, and now and then the same value.
template <bool broken> __global__ void sometimes_the_same(int *out) {
  __shared__ int slots[64];
  const int lane = threadIdx.x % 64, wave = threadIdx.x / 64;
  slots[lane] = broken ? lane * wave : lane; // finds: race
  __syncthreads();
  if (wave == 0) out[lane] = slots[lane];
}
template <bool broken> __global__ void same_in_global(int *out) {
  const int lane = threadIdx.x % 64, wave = threadIdx.x / 64;
  out[lane] = broken ? lane * wave : lane; // finds: race
}

template <bool broken> int run() {
  Device<float> floats(64);
  Device<int> out(1024), zeros(256);
  Device<double> doubles(64);
  HIP(hipMemset(zeros.data, 0, 1024));
  {
    Device<Body> bodies(64, false), others(64, false);
    place<<<1, 64>>>(bodies.data);
    weigh<broken><<<1, 64>>>(bodies.data, floats.data);
    copied<broken><<<1, 64>>>(bodies.data, others.data, floats.data);
    finish();
  }
  {
    Device<Entry> entries(64, false), others(64, false);
    fill_entries<<<1, 64>>>(entries.data);
    sort_entries<<<1, 64>>>(entries.data, others.data, doubles.data);
    finish();
  }
  {
    Device<Cell> cells(64, false);
    plant<<<1, 64>>>(cells.data, !broken);
    find<broken><<<1, 64>>>(cells.data, out.data);
    finish();
  }
  quads<broken><<<1, 64>>>(floats.data);
  converge<broken><<<1, 256>>>(zeros.data, out.data);
  sometimes_the_same<broken><<<1, 128>>>(out.data);
  same_in_global<broken><<<1, 128>>>(out.data);
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
