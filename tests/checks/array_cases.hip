// Arrays and their ends, as programs get them wrong: tiles, halos, strides, pointers in memory.
#include "cases.h"

#include <dlfcn.h>
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

// A loop with the stride of the grid that runs once too often.
template <bool broken> __global__ void grid_stride(int *p, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; broken ? i <= n : i < n;
       i += gridDim.x * blockDim.x)
    p[i] = i; // finds: memory
}

// A tile with its neighbors: the last one has none.
template <bool broken> __global__ void halo(const int *in, int *out, int n) {
  __shared__ int tile[66];
  const int i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x + 1] = in[i];
  if (threadIdx.x == 0) tile[0] = i > 0 ? in[i - 1] : 0;
  if (threadIdx.x == 63) tile[65] = broken || i + 1 < n ? in[i + 1] : 0; // finds: memory
  __syncthreads();
  out[i] = tile[threadIdx.x] + tile[threadIdx.x + 2];
}

// Rows for columns: right for squares alone.
template <bool broken> __global__ void transpose(const int *in, int *out, int w, int h) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (broken ? x < h && y < w : x < w && y < h)
    out[x * h + y] = in[y * w + x]; // finds: memory, may: race
}

// The pointer to what was freed is still in device memory.
struct Node {
  Node *next;
  int value;
};
template <bool broken> __global__ void stale_pointer(const Node *first, int *out) {
  const Node *second = first->next;
  out[threadIdx.x] = second->value; // finds: memory
}

// As many bytes as there are elements.
template <bool broken> __global__ void forgot_sizeof(double *p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i; // finds: memory
}

// Four elements at a time, and the last ones are fewer.
template <bool broken> __global__ void vector_of_the_tail(int *p, int n) {
  const int i = 4 * threadIdx.x;
  if (broken ? i < n : i + 3 < n)
    *reinterpret_cast<int4 *>(p + i) = int4{i, i, i, i}; // finds: memory
}

template <bool broken> __global__ void misaligned_counter(char *bytes) {
  atomicAdd(reinterpret_cast<unsigned *>(bytes + (broken ? 2 : 4)),
            1u); // a memory fault, on cards too
}

template <bool broken> __global__ void private_array(const int *index, int *out) {
  int own[32];
  for (int i = 0; i < 32; ++i) own[i] = index[i] + i;
  // Far enough to be beyond whatever else is on the stack.
  const int at = index[threadIdx.x] + (broken ? 40000 : 0);
  out[threadIdx.x] = own[at]; // finds: memory
}

// The row behind the last one of a tile in LDS.
template <bool broken> __global__ void row_of_a_tile(int *out) {
  __shared__ int tile[16][16];
  tile[threadIdx.y][threadIdx.x] = threadIdx.x;
  __syncthreads();
  const int row = broken ? threadIdx.y + 1 : (threadIdx.y + 1) % 16;
  out[threadIdx.y * 16 + threadIdx.x] = tile[row][threadIdx.x]; // finds: memory
}

// The neighbor on the left, which the first one does not have.
template <bool broken> __global__ void before_lds(int *out) {
  __shared__ int line[64];
  line[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const int left = int(threadIdx.x) - (broken || threadIdx.x > 0);
  out[threadIdx.x] = line[left]; // finds: memory optimized says: at byte -4 of LDS, of which
}

// Two arrays in dynamic LDS, of which the second does not fit.
template <bool broken> __global__ void carved_lds(int *out) {
  extern __shared__ int space[];
  int *first = space, *second = space + blockDim.x;
  first[threadIdx.x] = threadIdx.x;
  second[threadIdx.x] = 2 * threadIdx.x; // finds: memory
  __syncthreads();
  out[threadIdx.x] = first[63 - threadIdx.x];
}

// A pointer that may be of LDS or of global memory.
__device__ __noinline__ void put(int *p, int i) {
  p[i] = i; // finds: memory
}
template <bool broken> __global__ void generic_pointer(int *out, int choice) {
  __shared__ int local[64];
  int *p = choice ? local : out;
  put(p, threadIdx.x + (broken ? 1 : 0));
  __syncthreads();
  out[threadIdx.x] = choice && threadIdx.x ? local[threadIdx.x] : 0;
}

// One row too many of memory with a pitch.
template <bool broken> __global__ void pitched_rows(char *p, size_t pitch, int w, int h) {
  for (int y = 0; broken ? y <= h : y < h; ++y)
    if (int(threadIdx.x) < w)
      reinterpret_cast<float *>(p + y * pitch)[threadIdx.x] = y; // finds: memory
}

template <bool broken> __global__ void pinned(const int *p, int *out, int n) {
  if (broken || int(threadIdx.x) < n) out[threadIdx.x] = p[threadIdx.x]; // finds: memory
}

// A dimension of the grid that nobody checks.
template <bool broken> __global__ void third_dimension(int *p, int w, int h, int d) {
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (broken || z < d) p[(z * h + threadIdx.y) * w + threadIdx.x] = z; // finds: memory
}

// Found by a search that ends behind the last element.
template <bool broken> __global__ void lower_bound(const int *sorted, int n, int *out) {
  int low = 0, high = n;
  const int wanted = threadIdx.x * 1000;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (sorted[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  out[threadIdx.x] = broken || low < n ? sorted[low] : -1; // finds: memory
}

// The end of a row is the start of the next; the last one has no next but one. Compilers make one
// load of the ends that two iterations look at, and it has no line.
template <bool broken>
__global__ void rows_of_matrix(const int *rows, const int *columns, const float *values,
                               const float *x, float *y, int n) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float sum = 0;
  for (int k = rows[r]; k < rows[r + (broken ? 2 : 1)]; ++k) // finds: memory
    sum += values[k] * x[columns[k]];
  y[r] = sum;
}

template <bool broken> __global__ void behind_the_arguments(int *out, int n) {
  const auto *arguments = (const int *)__builtin_amdgcn_kernarg_segment_ptr();
  out[threadIdx.x] = arguments[broken ? n : 2]; // finds: memory, may: init
}

template <bool broken> int run() {
  Device<int> out(1024), index(64);
  HIP(hipMemset(index.data, 0, 256));
  {
    Device<int> p(1000);
    grid_stride<broken><<<2, 64>>>(p.data, 1000);
    finish();
  }
  {
    Device<int> in(256);
    halo<broken><<<4, 64>>>(in.data, out.data, 256);
    finish();
  }
  {
    Device<int> in(40 * 24), turned(24 * 40);
    transpose<broken><<<dim3(3, 3), dim3(16, 16)>>>(in.data, turned.data, 40, 24);
    finish();
  }
  {
    Node *first, *second;
    HIP(hipMalloc(&first, sizeof(Node)));
    HIP(hipMalloc(&second, sizeof(Node)));
    const Node node{second, 5};
    HIP(hipMemcpy(first, &node, sizeof node, hipMemcpyHostToDevice));
    HIP(hipMemset(second, 0, sizeof node));
    if (broken) HIP(hipFree(second));
    stale_pointer<broken><<<1, 64>>>(first, out.data);
    finish();
    if (!broken) HIP(hipFree(second));
    HIP(hipFree(first));
  }
  {
    double *p;
    HIP(hipMalloc(&p, broken ? 500 : 500 * sizeof(double)));
    forgot_sizeof<broken><<<2, 256>>>(p, 500);
    finish();
    HIP(hipFree(p));
  }
  {
    Device<int> p(101);
    vector_of_the_tail<broken><<<1, 64>>>(p.data, 101);
    finish();
  }
  private_array<broken><<<1, 64>>>(index.data, out.data);
  row_of_a_tile<broken><<<1, dim3(16, 16)>>>(out.data);
#ifdef __OPTIMIZE__ // without, through a generic pointer: it is in no memory at all, and ends the
                    // program
  before_lds<broken><<<1, 64>>>(out.data);
#endif
  carved_lds<broken><<<1, 64, 64 * sizeof(int) + (broken ? 128 : 256)>>>(out.data);
  generic_pointer<broken><<<1, 64>>>(out.data, 1);
  finish();
  {
    void *p;
    size_t pitch;
    HIP(MALLOC_PITCH(&p, &pitch, 200, 10));
    pitched_rows<broken><<<1, 64>>>(static_cast<char *>(p), pitch, 50, 10);
    finish();
    HIP(hipFree(p));
  }
  {
    int *p;
    HIP(hipHostMalloc(&p, 50 * sizeof(int)));
    for (int i = 0; i < 50; ++i) p[i] = i;
    pinned<broken><<<1, 64>>>(p, out.data, 50);
    finish();
    HIP(hipHostFree(p));
  }
  {
    Device<int> p(4 * 4 * 10);
    third_dimension<broken><<<dim3(1, 1, 3), dim3(4, 4, 4)>>>(p.data, 4, 4, 10);
    finish();
  }
  {
    std::vector<int> sorted(32);
    for (int i = 0; i < 32; ++i) sorted[i] = 1500 * i;
    Device<int> p(32);
    HIP(hipMemcpy(p.data, sorted.data(), 128, hipMemcpyHostToDevice));
    lower_bound<broken><<<1, 64>>>(p.data, 32, out.data);
    finish();
  }
  {
    std::vector<int> starts(65);
    for (int i = 0; i < 65; ++i) starts[i] = i;
    Device<int> rows(65);
    HIP(hipMemcpy(rows.data, starts.data(), 260, hipMemcpyHostToDevice));
    Device<float> values(256);
    HIP(hipMemset(out.data, 0, 64 * sizeof(int)));
    rows_of_matrix<broken>
        <<<1, 64>>>(rows.data, out.data, values.data, values.data + 64, values.data + 128, 64);
    finish();
  }
  behind_the_arguments<broken><<<1, 64>>>(out.data, 100);
  finish();
  std::printf("done\n");
  return 5;
}

// Far from everything, but nearer to what HIP has allocated for itself than to what is meant.
__global__ void far_before(int *p, int n) { p[int(threadIdx.x) - n] = 1; }

// Whether neither the program nor HIP has allocated these bytes.
bool isNobodys(const void *at, size_t bytes) {
  const auto info = reinterpret_cast<decltype(&hsa_amd_pointer_info)>(
      dlsym(RTLD_DEFAULT, "hsa_amd_pointer_info"));
  for (const char *p : {static_cast<const char *>(at), static_cast<const char *>(at) + bytes - 1}) {
    hsa_amd_pointer_info_t found = {};
    found.size = sizeof(found);
    if (info(p, &found, nullptr, nullptr, nullptr) != HSA_STATUS_SUCCESS ||
        found.type != HSA_EXT_POINTER_TYPE_UNKNOWN)
      return false;
  }
  return true;
}

// Where HIP's own memory lies differs from run to run: the store goes to none of it.
int farBefore() {
  Device<int> p(300000);
  int n = 260000; // 4 bytes each, less than a MiB in all
  while (n > 20000 && !isNobodys(p.data - n, 64 * sizeof(int))) n -= 10000;
  std::printf("%d bytes before\n", n * 4);
  far_before<<<1, 64>>>(p.data, n);
  finish();
  return 0;
}

template <bool broken> int misaligned() {
  Device<char> p(64);
  misaligned_counter<broken><<<1, 64>>>(p.data);
  finish();
  return 0;
}

// The process goes on as another program, with the same number.
int misalignedLater(const char *name) {
  Device<int> out(256);
  row_of_a_tile<true><<<1, dim3(16, 16)>>>(out.data);
  finish();
  return execl("/proc/self/exe", name, "misaligned", nullptr);
}

int main(int argc, char **argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "far-before") return farBefore();
  if (word == "misaligned-later") return misalignedLater(argv[0]);
  if (word.rfind("misaligned", 0) == 0)
    return word == "misaligned" ? misaligned<true>() : misaligned<false>();
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
