// A client of rocprofiler-sdk, as PyTorch and JAX have one, that does nothing: with it preloaded
// rocprofiler-register has somebody to give tables to. STUB_CLIENT_LOG names a file that gets a
// line for each table.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
__attribute__((visibility("default"))) void *rocprofiler_configure(uint32_t, const char *, uint32_t,
                                                                   void *) {
  return nullptr;
}
__attribute__((visibility("default"))) int rocprofiler_set_api_table(const char *name, uint64_t,
                                                                     uint64_t, void **, uint64_t) {
  if (const char *path = std::getenv("STUB_CLIENT_LOG"))
    if (std::FILE *log = std::fopen(path, "a")) {
      std::fprintf(log, "%s\n", name);
      std::fclose(log);
    }
  return 0;
}
}
