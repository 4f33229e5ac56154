// fade-silicon: proves the record protocol on a machine that runs waves, and measures it. See
// README.md.
#include "bench.h"
#include "checks.h"
#include "cuda_backend.h"
#include "five_checks.h"
#include "report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

namespace {

using namespace fade::silicon;

constexpr int kFailed = 1, kUsage = 2, kNoGpu = 77;

constexpr char kHelp[] =
    R"(usage: fade-silicon [options]
  --backend cuda|cpu  where waves run: an NVIDIA GPU (default) or CPU threads
  --checks            the checks only            --group NAME  one group of them
  --self-test         the checks of the checker only
  --kernels           the five kernels only
  --bench             the measurements only      --only TEXT   those whose title contains it,
                                                 e.g. "device side", "sustained host"
  --quick             less of everything
  --artefacts DIR     where the PTX is (default: build-silicon)
  --out DIR           writes results.json and table.txt there
Without a part, all parts run that the backend has. Exit code: 0 all checks passed, 1 not,
3 a kernel hung, 77 there is no such GPU.
)";

struct Options {
  std::string backend = "cuda", group, only, artefacts = "build-silicon", out;
  bool checks = false, self_test = false, kernels = false, bench = false, quick = false;
};

bool parse(int argc, char **argv, Options &o) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&](std::string &to) {
      if (i + 1 == argc) return false;
      to = argv[++i];
      return true;
    };
    bool good = true;
    if (arg == "--backend")
      good = value(o.backend);
    else if (arg == "--group")
      good = o.checks = value(o.group);
    else if (arg == "--only")
      good = o.bench = value(o.only);
    else if (arg == "--artefacts")
      good = value(o.artefacts);
    else if (arg == "--out")
      good = value(o.out);
    else if (arg == "--checks")
      o.checks = true;
    else if (arg == "--self-test")
      o.self_test = true;
    else if (arg == "--kernels")
      o.kernels = true;
    else if (arg == "--bench")
      o.bench = true;
    else if (arg == "--quick")
      o.quick = true;
    else
      good = false;
    if (!good) return false;
  }
  const auto groups = checkGroups();
  if (!o.group.empty() && std::find(groups.begin(), groups.end(), o.group) == groups.end())
    return false;
  if (!o.checks && !o.self_test && !o.kernels && !o.bench)
    o.checks = o.self_test = o.kernels = o.bench = true;
  return o.backend == "cpu" || o.backend == "cuda";
}

int run(const Options &o) {
  std::unique_ptr<Backend> backend;
  if (o.backend == "cpu") {
    backend = makeCpuBackend();
  } else {
    std::string why;
    backend = makeCudaBackend(o.artefacts, why);
    if (!backend) {
      std::cerr << "fade-silicon: " << why << std::endl;
      return kNoGpu;
    }
  }
  Report report(o.out);
  report.set("device", backend->device());
  if (o.backend == "cuda") report.watch(90, [&] { return backend->doing; });
  unsigned failed = 0;
  if (o.self_test) failed += runSelfTest(*backend, report, o.quick);
  if (o.checks) failed += runChecks(*backend, report, o.group, o.quick);
  if (auto *gpu = dynamic_cast<CudaBackend *>(backend.get())) {
    if (o.kernels) failed += runFive(*gpu, report, o.artefacts);
    if (o.bench) runBench(*gpu, report, o.artefacts, o.only, o.quick);
  }
  report.set("failed", uint64_t{failed});
  return failed == 0 ? 0 : kFailed;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kHelp, stderr);
    return kUsage;
  }
  try {
    return run(options);
  } catch (const std::exception &e) {
    std::cerr << "fade-silicon: " << e.what() << std::endl;
    return kFailed;
  }
}
