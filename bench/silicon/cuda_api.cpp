#include "cuda_api.h"

#include <dlfcn.h>

namespace fade::silicon {

bool CudaApi::load(std::string &why) {
  // Never closed: the driver keeps threads of its own.
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    why = "no NVIDIA GPU: there is no driver (libcuda.so.1)";
    return false;
  }
  const auto find = [&](const char *symbol) {
    void *at = dlsym(library, symbol);
    if (!at) why = std::string("the driver of the NVIDIA GPU has no ") + symbol;
    return at;
  };
#define FADE_CUDA_FIND(member, symbol, parameters)                                                 \
  if (!(member = reinterpret_cast<CUresult(*) parameters>(find(symbol)))) return false;
  FADE_CUDA_FUNCTIONS(FADE_CUDA_FIND)
#undef FADE_CUDA_FIND
  return true;
}

std::string CudaApi::errorText(CUresult result) const {
  const char *text = nullptr;
  getErrorString(result, &text);
  return text ? text : "error " + std::to_string(result);
}

} // namespace fade::silicon
