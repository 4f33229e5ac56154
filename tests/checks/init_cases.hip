// What is read before anybody wrote it, and all the ways in which memory gets written.
#include "cases.h"

// The space between the rows of a copy.
template <bool broken> __global__ void padding(const float *p, int pitch, int w, float *out) {
  float sum = 0;
  for (int x = 0; x < (broken ? pitch : w); ++x) sum += p[threadIdx.x * pitch + x]; // finds: init
  out[threadIdx.x] = sum;
}

struct Particle {
  float x, y;
  int kind, unused;
};
__global__ void place_particles(Particle *p) {
  p[threadIdx.x].x = threadIdx.x;
  p[threadIdx.x].y = 1;
}
template <bool broken> __global__ void a_member(const Particle *p, int *out) {
  out[threadIdx.x] = broken ? p[threadIdx.x].kind : int(p[threadIdx.x].y); // finds: init
}

__global__ void write_even_bytes(char *p) { p[2 * threadIdx.x] = 1; }
template <bool broken> __global__ void odd_bytes(const char *p, char *out) {
  out[threadIdx.x] = p[2 * threadIdx.x + (broken ? 1 : 0)]; // finds: init
}

// The last of four is loaded whole, and what is beyond the end is not used: compilers add first and select then.
template <bool broken> __global__ void sum_of_fours(const float4 *p, float *out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < (n + 3) / 4; i += 64) {
    const float4 v = p[i]; // finds: init
    const int begin = i * 4, end = n + (broken ? 1 : 0);
    sum += v.x;
    if (begin + 1 < end) sum += v.y;
    if (begin + 2 < end) sum += v.z;
    if (begin + 3 < end) sum += v.w;
  }
  atomicAdd(out, sum);
}

// Adds to what was never set to 0.
template <bool broken> __global__ void accumulate(int *sums) {
  sums[threadIdx.x] += threadIdx.x; // finds: init
}

// As many bytes as there are elements: the last three quarters are missing.
template <bool broken> __global__ void copied_too_little(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x * 256]; // finds: init
}
template <bool broken> __global__ void filled_too_little(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x]; // finds: init
}

// Likewise, within one page: the host's copy has touched all of it, and written an eighth.
template <bool broken> __global__ void copied_an_eighth(const int *p, int n, int *out) {
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += 64) sum += p[i]; // finds: init
  out[threadIdx.x] = sum;
}
// Rows of a small table, of which the last was not copied.
template <bool broken> __global__ void copied_rows(const float *p, float *out) {
  out[threadIdx.x] = p[threadIdx.x] * 2; // finds: init
}

// Unwritten, in pieces of 16 bytes, and only copied.
__global__ void copied_and_never_used(const float4 *in, float4 *out) {
  __shared__ float4 tile[128];
  if (threadIdx.x < 40) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  tile[64 + threadIdx.x] = tile[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 40) out[threadIdx.x] = tile[64 + threadIdx.x];
}

// Copied from buffer to buffer, also over what was written, and used by another kernel or not.
__global__ void copy_all(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x]; }
template <bool broken> __global__ void use_copy(const int *p, int *out) {
  if (p[threadIdx.x] > 4) out[threadIdx.x] = 1; // finds: init says: byte 64 of allocation
}

// A table that was written, read here and there until that is known, and then in part replaced.
template <bool broken> __global__ void replaced_in_part(int *table, const int *by, int *out) {
  int sum = 0;
  for (int i = 0; i < 40; ++i) sum += table[threadIdx.x * 251 + i];
  __syncthreads();
  table[threadIdx.x * 251] = by[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = sum + table[(63 - threadIdx.x) * 251]; // finds: init
}

// Of two buffers that take turns, the other one is read first.
template <bool broken> __global__ void ping_pong(const int *from, int *to) {
  to[threadIdx.x] = from[threadIdx.x] + 1; // finds: init
}

// What was in memory before it was freed is not what is in it now.
template <bool broken> __global__ void allocated_again(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x]; // finds: init
}

// Those that had nothing to do wrote nothing.
__global__ void write_some(int *p, int n) {
  if (int(threadIdx.x) < n) p[threadIdx.x] = 1;
}
template <bool broken> __global__ void results_of_all(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x]; // finds: init
}

// A tree in LDS over more leaves than there are.
template <bool broken> __global__ void tree(const int *in, int *out, int n) {
  __shared__ int leaf[64];
  if (int(threadIdx.x) < n)
    leaf[threadIdx.x] = in[threadIdx.x];
  else if (!broken)
    leaf[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < 32)
    out[threadIdx.x] = leaf[threadIdx.x] + leaf[threadIdx.x + 32]; // finds: init
}

// A private array of which only the first elements are written.
template <bool broken> __global__ void private_array(const int *in, int *out, int n) {
  int own[24];
#pragma unroll 1
  for (int i = 0; i < n; ++i) own[i] = in[i] + threadIdx.x;
  const int at = in[threadIdx.x] + threadIdx.x % n + (broken ? n : 0);
  out[threadIdx.x] = own[at]; // finds: init
}

__device__ int from_host[64], not_written_by_all[64];
__constant__ int constants[64];
// Written in all kinds of ways, and never by a store that anybody sees.
// Loads all over an allocation, of which everything but the last element was written.
template <bool broken> __global__ void scattered(const int *p, int n, int *out) {
  int sum = 0;
  for (int k = 0; k < 40; ++k) sum += p[(threadIdx.x * 257 + k * 64) % (n - 1)];
  sum += p[threadIdx.x == 63 ? n - 1 : threadIdx.x * 200]; // finds: init
  out[threadIdx.x] = sum;
}

__global__ void sum_of(const int *p, int n, int *out) {
  int sum = from_host[threadIdx.x % 64] + constants[threadIdx.x % 64] + not_written_by_all[3];
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += p[i];
  out[threadIdx.x] = sum;
}

void written_in_other_ways(int *out) {
  std::vector<int> host(4096, 3);
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(from_host), host.data(), 256));
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(constants), host.data(), 256));
  {
    Device<int> p(4096, false);
    HIP(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(p.data), 7, 4096));
    sum_of<<<1, 64>>>(p.data, 4096, out);
    finish();
  }
  {
    Device<int> p(64 * 64, false);
    HIP(hipMemset2D(p.data, 256, 0, 128, 64));
    HIP(hipMemcpy2D(p.data + 32, 256, host.data(), 128, 128, 64, hipMemcpyHostToDevice));
    sum_of<<<1, 64>>>(p.data, 4096, out);
    finish();
  }
  {
    Device<int> p(4096, false), q(4096, false);
    HIP(hipMemcpyAsync(p.data, host.data(), 4096 * 4, hipMemcpyHostToDevice, nullptr));
    HIP(hipMemcpyAsync(q.data, p.data, 4096 * 4, hipMemcpyDeviceToDevice, nullptr));
    sum_of<<<1, 64>>>(q.data, 4096, out);
    finish();
  }
  int *shared;
  HIP(hipMallocManaged(reinterpret_cast<void **>(&shared), 4096 * 4));
  for (int i = 0; i < 4096; ++i) shared[i] = i;
  sum_of<<<1, 64>>>(shared, 4096, out);
  finish();
  HIP(hipFree(shared));
  HIP(hipHostRegister(host.data(), 4096 * 4, hipHostRegisterDefault));
  void *mapped;
  HIP(hipHostGetDevicePointer(&mapped, host.data(), 0));
  sum_of<<<1, 64>>>(static_cast<int *>(mapped), 4096, out);
  finish();
  HIP(hipHostUnregister(host.data()));
}

template <bool broken> int run() {
  Device<int> out(1024), in(1024);
  Device<float> floats(64);
  Device<char> chars(64);
  HIP(hipMemset(in.data, 0, 4096));
  std::vector<int> host(4096, 3);
  {
    Device<float> p(64 * 16, false);
    HIP(hipMemcpy2D(p.data, 64, host.data(), 40, 40, 64, hipMemcpyHostToDevice));
    padding<broken><<<1, 64>>>(p.data, 16, 10, floats.data);
    finish();
  }
  {
    Device<Particle> p(64, false);
    place_particles<<<1, 64>>>(p.data);
    a_member<broken><<<1, 64>>>(p.data, out.data);
    fetch(out);
  }
  {
    Device<char> p(128, false);
    write_even_bytes<<<1, 64>>>(p.data);
    odd_bytes<broken><<<1, 64>>>(p.data, chars.data);
    fetch(chars);
  }
  {
    Device<int> p(64, !broken);
    accumulate<broken><<<1, 64>>>(p.data);
    finish();
  }
  {
    constexpr int n = 16384;
    Device<int> p(n, false), q(64, false);
    const std::vector<int> source(n, 3);
    HIP(hipMemcpy(p.data, source.data(), broken ? n : n * 4, hipMemcpyHostToDevice));
    HIP(hipMemset(q.data, 0, broken ? 64 : 256));
    copied_too_little<broken><<<1, 64>>>(p.data, out.data);
    fetch(out);
    filled_too_little<broken><<<1, 64>>>(q.data, out.data);
    fetch(out);
  }
  {
    // Zeros, which is what nobody wrote is, too.
    constexpr int n = 700;
    Device<int> p(n, false), q(n, false), mixed(n, false);
    Device<float> rows(64, false);
    const std::vector<int> source(n, 0);
    HIP(hipMemcpy(p.data, source.data(), broken ? n / 2 : n * 4, hipMemcpyHostToDevice));
    copied_an_eighth<broken><<<1, 64>>>(p.data, n, out.data);
    HIP(hipMemcpy2D(rows.data, 64, source.data(), 64, 64, broken ? 3 : 4, hipMemcpyHostToDevice));
    copied_rows<broken><<<1, 64>>>(rows.data, floats.data);
    HIP(hipMemcpyAsync(q.data, source.data(), 1000, hipMemcpyHostToDevice, nullptr));
    HIP(hipMemcpyHtoD(q.data + 250, const_cast<int *>(source.data()), 1800));
    copied_an_eighth<false><<<1, 64>>>(q.data, n, out.data);
    HIP(hipMemset(mixed.data, 0, 4 * n));
    HIP(hipMemcpy(mixed.data, source.data(), 1000, hipMemcpyHostToDevice));
    copied_an_eighth<false><<<1, 64>>>(mixed.data, n, out.data);
    copied_and_never_used<<<1, 64>>>(reinterpret_cast<float4 *>(in.data), reinterpret_cast<float4 *>(out.data));
    finish();
  }
  {
    constexpr int n = 1 << 14;
    Device<int> p(n, false);
    HIP(hipMemset(p.data, 1, 4 * n - (broken ? 4 : 0)));
    scattered<broken><<<1, 64>>>(p.data, n, out.data);
    finish();
  }
  {
    Device<int> a(64, false), b(64), c(64, false), used(64);
    HIP(hipMemset(a.data, 1, 64));
    copy_all<<<1, 64>>>(a.data, b.data);
    copy_all<<<1, 64>>>(b.data, c.data);
    if (!broken) write_some<<<1, 64>>>(c.data, 64);
    use_copy<broken><<<1, 64>>>(c.data, used.data);
    HIP(hipMemcpy(host.data(), c.data, 64, hipMemcpyDeviceToHost)); // what was written
    fetch(used);
  }
  {
    Device<int> table(1 << 14), by(64, !broken);
    replaced_in_part<broken><<<1, 64>>>(table.data, by.data, out.data);
    fetch(out);
  }
  {
    constexpr int n = 101;
    Device<float> p(104, false), sum(1);
    HIP(hipMemset(p.data, 0, 4 * n));
    sum_of_fours<broken><<<1, 64>>>(reinterpret_cast<float4 *>(p.data), sum.data, n);
    fetch(sum);
  }
  {
    Device<int> a(64), b(64, false);
    ping_pong<broken><<<1, 64>>>(broken ? b.data : a.data, broken ? a.data : b.data);
    finish();
  }
  {
    int *p;
    HIP(hipMalloc(&p, 1 << 20));
    HIP(hipMemset(p, 1, 1 << 20));
    HIP(hipFree(p));
    HIP(hipMalloc(&p, 1 << 20));
    if (!broken) HIP(hipMemset(p, 1, 1 << 20));
    allocated_again<broken><<<1, 64>>>(p, out.data);
    fetch(out);
    HIP(hipFree(p));
  }
  {
    Device<int> p(64, false);
    write_some<<<1, 64>>>(p.data, broken ? 50 : 64);
    results_of_all<broken><<<1, 64>>>(p.data, out.data);
    fetch(out);
  }
  tree<broken><<<1, 64>>>(in.data, out.data, 50);
  private_array<broken><<<1, 64>>>(in.data, out.data, 12);
  finish();
  written_in_other_ways(out.data);
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
