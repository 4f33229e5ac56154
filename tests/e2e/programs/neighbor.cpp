// Loads a library beside this one, which only this one's RUNPATH leads to.
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) int load_inner() {
  return dlopen("libe2e_inner.so", RTLD_NOW | RTLD_LOCAL) != nullptr ? 1 : 0;
}
