// Updates that are lost where lanes of a wave meet, and that go through functions: without optimization nearly all of
// HIP's are called, and the program's own are with `__noinline__`.
#include "cases.h"

#include <hip/hip_fp16.h>

template <bool broken> __device__ unsigned placeOf(const int *in) {
  return broken ? in[threadIdx.x] % 32u + threadIdx.x % 8 : threadIdx.x;
}

template <bool broken> __global__ void half_sum(__half *bins, const int *in) {
  const unsigned x = placeOf<broken>(in);
  bins[x] = __hadd(bins[x], __float2half(1.0f)); // finds: race says: one of the updates is lost
}
template <bool broken> __global__ void half_operator(__half *bins, const int *in) {
  const unsigned x = placeOf<broken>(in);
  bins[x] += __float2half(1.0f); // finds: race says: one of the updates is lost
}
template <bool broken> __global__ void half_pair(__half2 *bins, const int *in) {
  const unsigned x = placeOf<broken>(in);
  bins[x] = __hadd2(bins[x], __float2half2_rn(1.0f)); // finds: race says: one of the updates is lost
}

// bf16, by functions of the program.
struct Brief {
  unsigned short bits;
};
__device__ float longOf(Brief b) { return __uint_as_float(unsigned{b.bits} << 16); } // may: race
__device__ Brief briefOf(float f) {
  const unsigned bits = __float_as_uint(f);
  return {static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
__device__ Brief operator+(Brief a, Brief b) { return briefOf(longOf(a) + longOf(b)); }
template <bool broken> __global__ void brief_sum(Brief *bins, const int *in) {
  const unsigned x = placeOf<broken>(in);
  bins[x] = bins[x] + briefOf(1.5f); // finds: race says: one of the updates is lost
}

// A function that is never inlined: what it adds, what it gets, and where it does both.
__device__ __noinline__ int plusOne(int x) { return x + 1; }
template <bool broken> __global__ void called(int *bins, const int *in) {
  const unsigned x = placeOf<broken>(in);
  bins[x] = plusOne(bins[x]); // finds: race says: one of the updates is lost
}
__device__ __noinline__ void addTo(int *to, int by) {
  *to += by; // finds: race says: one of the updates is lost
}
template <bool broken> __global__ void called_with_place(int *bins, const int *in) {
  addTo(bins + placeOf<broken>(in), 3);
}
__device__ __noinline__ float at(const float *from, unsigned x) {
  return from[x]; // may: race
}
__device__ __noinline__ void put(float *to, unsigned x, float value) {
  to[x] = value; // finds: race says: one of the updates is lost
}
template <bool broken> __global__ void got_and_put(float *bins, const int *in) {
  const unsigned x = placeOf<broken>(in);
  put(bins, x, at(bins, x) * 1.5f + 2.0f);
}
struct Sum {
  double value;
  __device__ Sum &operator+=(double by) {
    value = value + by; // finds: race says: one of the updates is lost
    return *this;
  }
};
template <bool broken> __global__ void member(Sum *bins, const int *in) {
  bins[placeOf<broken>(in)] += 2.5;
}
template <bool broken> __global__ void member_in_lds(double *out, const int *in) {
  __shared__ int bins[64];
  bins[threadIdx.x] = bins[threadIdx.x + 32] = 0;
  __syncthreads();
  const unsigned x = placeOf<broken>(in);
  bins[x] = plusOne(bins[x]); // finds: race says: one of the updates is lost
  __syncthreads();
  out[threadIdx.x] = bins[threadIdx.x];
}
// All lanes at one place.
template <bool broken> __global__ void one_counter(unsigned *count) {
  if (broken || threadIdx.x == 0) count[0]++; // finds: race says: one of the updates is lost
}

// Clean from here on: what is stored does not change if it is done twice.
__device__ Brief larger(Brief a, Brief b) { return longOf(a) > longOf(b) ? a : b; }
__global__ void largest_briefs(Brief *bins, const int *in) {
  const unsigned x = placeOf<true>(in);
  bins[x] = larger(bins[x], briefOf(2.0f + x));
  const float old = longOf(bins[x]), mine = 100.0f + x;
  bins[x] = briefOf(fmaxf(old, mine));
  bins[x] = briefOf(longOf(bins[x]) > mine ? longOf(bins[x]) : mine * 2);
}
__global__ void largest_pairs(__half2 *bins, const int *in) {
  const unsigned x = placeOf<true>(in);
  const float2 old = __half22float2(bins[x]);
  bins[x] = __floats2half2_rn(fmaxf(old.x, 2.0f), fmaxf(old.y, 3.0f));
}
__device__ __noinline__ int orOf(int a, int b) { return a | b; }
__device__ __noinline__ int largerOf(int a, int b) { return a > b ? a : b; }
__global__ void marks_by_calls(int *bins, const int *in) {
  const unsigned x = placeOf<true>(in);
  bins[x] = orOf(bins[x], 0x100000);
  bins[x] = largerOf(bins[x], 0x10000000 + int(x));
  if (bins[x] > 5) bins[x] = plusOne(x);
}
// The state of a lane that others only look at.
__device__ __noinline__ void step(unsigned *state) { *state = *state * 1664525u + 1013904223u; }
__global__ void own_states(unsigned *states, int *out) {
  for (int i = 0; i < 4; ++i) step(states + threadIdx.x);
  unsigned sum = 0;
  for (int i = 0; i < 8; ++i) sum += plusOne(states[32 + i]);
  out[threadIdx.x] = sum;
}
// What everybody reads tells where to store, or is stored elsewhere, or is stored back as it was.
__global__ void spreads(int *table, int *out) {
  const int base = plusOne(table[0] & 0);
  out[base + threadIdx.x] = plusOne(table[1]);
  if (threadIdx.x == 0) table[0] = plusOne(table[0]);
  const int before = table[2];
  const int other = plusOne(before);
  table[2] = other - 1;
}
// One lane for all.
__global__ void by_leader(unsigned *count, int *out) {
  __shared__ unsigned base;
  if (threadIdx.x == 0) base = count[0], addTo(reinterpret_cast<int *>(count), 32);
  __syncthreads();
  out[threadIdx.x] = plusOne(base + threadIdx.x);
}

template <bool broken> int run() {
  Device<int> in(64), ints(64), out(128);
  Device<unsigned> words(64);
  Device<float> floats(64);
  Device<double> doubles(64);
  // One wave, of whatever size.
  half_sum<broken><<<1, 32>>>(reinterpret_cast<__half *>(ints.data), in.data);
  half_operator<broken><<<1, 32>>>(reinterpret_cast<__half *>(ints.data), in.data);
  half_pair<broken><<<1, 32>>>(reinterpret_cast<__half2 *>(ints.data), in.data);
  brief_sum<broken><<<1, 32>>>(reinterpret_cast<Brief *>(ints.data), in.data);
  called<broken><<<1, 32>>>(ints.data, in.data);
  called_with_place<broken><<<1, 32>>>(ints.data, in.data);
  got_and_put<broken><<<1, 32>>>(floats.data, in.data);
  member<broken><<<1, 32>>>(reinterpret_cast<Sum *>(doubles.data), in.data);
  member_in_lds<broken><<<1, 32>>>(doubles.data, in.data);
  one_counter<broken><<<1, 32>>>(words.data);
  largest_briefs<<<1, 32>>>(reinterpret_cast<Brief *>(ints.data), in.data);
  largest_pairs<<<1, 32>>>(reinterpret_cast<__half2 *>(ints.data), in.data);
  marks_by_calls<<<1, 32>>>(ints.data, in.data);
  own_states<<<1, 32>>>(words.data, out.data);
  spreads<<<1, 32>>>(ints.data, out.data);
  by_leader<<<1, 32>>>(words.data, out.data);
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
