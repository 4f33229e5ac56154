// Device memory that is not freed, in the ways in which it gets lost.
#include "cases.h"

#include <memory>

__global__ void touch(int *p) { p[threadIdx.x] = threadIdx.x; }

// The pointer is overwritten by that of the next turn.
template <bool broken> void in_a_loop() {
  int *p = nullptr;
  for (int i = 0; i < 3; ++i) {
    HIP(hipMalloc(&p, 1024)); // finds: leak
    touch<<<1, 64>>>(p);
    if (!broken) HIP(hipFree(p));
  }
}

// A way out that forgets what was allocated before it.
template <bool broken> bool early_return(int size) {
  void *p;
  HIP(hipMalloc(&p, 512)); // finds: leak
  touch<<<1, 64>>>(static_cast<int *>(p));
  if (broken && size > 100) return false;
  HIP(hipFree(p));
  return true;
}

// Of memory with a pitch.
template <bool broken> void pitched() {
  void *p;
  size_t pitch;
  HIP(MALLOC_PITCH(&p, &pitch, 256, 4)); // finds: leak
  touch<<<1, 64>>>(static_cast<int *>(p));
  if (!broken) HIP(hipFree(p));
}

// An object that is thrown away without its destructor.
template <bool broken> void object() {
  struct Buffer {
    int *data = nullptr;
    Buffer() {
      HIP(hipMalloc(&data, 256)); // finds: leak
    }
    ~Buffer() { HIP(hipFree(data)); }
  };
  auto buffer = std::make_unique<Buffer>();
  touch<<<1, 64>>>(buffer->data);
  if (broken) (void)buffer.release();
}

template <bool broken> int run() {
  in_a_loop<broken>();
  early_return<broken>(200);
  pitched<broken>();
  object<broken>();
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
