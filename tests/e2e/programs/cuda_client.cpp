// A program for CUDA, which knows nothing of HIP: the library with CUDA's names does.
#include <cstddef>

extern "C" int cudaMalloc(void **memory, std::size_t size);
extern "C" int cudaFree(void *memory);

int main() {
  void *memory = nullptr;
  for (int i = 0; i < 3; ++i)
    if (cudaMalloc(&memory, 4096) != 0 || cudaFree(memory) != 0) return 1;
  return 0;
}
