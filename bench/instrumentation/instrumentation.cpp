// What instrumentation costs, counted by the software GPU: the table of docs/cost.md.
#include "cases.h"

#include <fade/clone.h>

#include <cstdio>

using namespace fade::test;

namespace {

uint64_t instructions(const fade::sim::DispatchStats &stats) { return stats.total().waves; }

void measure(const std::string &arch, const std::string &kernel) {
  const Case &c = findCase(kernel);
  bool first = true;
  for (const char *mode : {"accesses", "blocks", "counts", "kernel", "times", "summary"}) {
    Session session(arch, KERNELS_DIR "/cost-" + arch + "-" + mode + ".hsaco", 1);
    Data data(session.device());
    const Arguments arguments = c.arguments(data);
    if (first) {
      const Observed original = session.runOriginal(c.launch, arguments);
      const KernelNeeds needs = session.needs(kernel);
      std::printf("| %s | %s | - | %llu | | | %u | %u |\n", arch.c_str(), kernel.c_str(),
                  static_cast<unsigned long long>(instructions(original.stats)), needs.vgprs,
                  needs.scratch);
      data.reset();
      first = false;
    }
    const Observed original = session.runOriginal(c.launch, arguments);
    data.reset();
    const Recorded twin = session.runTwin(c.launch, arguments);
    const KernelNeeds needs = session.needs(FADE_CLONE_PREFIX + kernel);
    const auto count = instructions(twin.stats);
    std::printf("| %s | %s | %s | %llu | %.2f | %zu | %u | %u |\n", arch.c_str(), kernel.c_str(),
                mode, static_cast<unsigned long long>(count),
                double(count) / double(instructions(original.stats)), twin.bytes.size(),
                needs.vgprs, needs.scratch);
  }
}

} // namespace

int main() {
  std::printf(
      "| architecture | kernel | mode | wave-instructions | times the original | bytes in the "
      "ring | VGPRs | scratch |\n|---|---|---|---|---|---|---|---|\n");
  for (const char *arch : {"gfx90a", "gfx942", "gfx1030"})
    for (const char *kernel : {"vadd", "transpose", "matmul", "spmv", "reduction"})
      measure(arch, kernel);
}
