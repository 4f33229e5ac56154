// What instrumentation costs, counted by the software GPU: the tables of
// docs/evidence/instrumentation-cost.md.
#include "cases.h"

#include <fade/clone.h>

#include <cstdio>
#include <string_view>

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

// Wave-instructions of a record, the call included: those of a twin less those of one that only
// announces its waves.
double ofRecord(const std::string &arch, const std::string &mode, const std::string &kernel,
                const Stream &stream) {
  constexpr uint32_t items = 256;
  uint64_t counts[2];
  std::size_t records = 0;
  for (const bool with : {false, true}) {
    Session session(
        arch, KERNELS_DIR "/record-" + arch + "-" + mode + (with ? "-with" : "-without") + ".hsaco",
        1);
    Data data(session.device());
    const Arguments out = Arguments().add(data.add(std::vector<int>(1024)));
    const Recorded twin = session.runTwin({kernel, {items, 1, 1}, {64, 1, 1}}, out, stream);
    counts[with] = instructions(twin.stats);
    records = twin.accesses.size();
  }
  return double(counts[1] - counts[0]) / double(records);
}

void measureRecords(const std::string &arch) {
  for (const char *kernel : {"one_store", "tile", "scattered", "half_scattered", "one_lane"}) {
    Stream in_device_memory, all;
    in_device_memory.flags = FADE_CONTROL_SEGMENTED;
    all.records_only = true;
    std::printf("| %s | %s | %.4g | %.4g | %.4g |\n", arch.c_str(), kernel,
                ofRecord(arch, "accesses", kernel, {}),
                ofRecord(arch, "accesses", kernel, in_device_memory),
                ofRecord(arch, "summary", kernel, all));
  }
}

// Of n × n elements; the waves' own share gets smaller the larger it is.
void measureMatmul(const std::string &arch, const std::string &kernel, uint32_t n) {
  std::printf("| %s | %s | %u |", arch.c_str(), kernel.c_str(), n);
  for (const std::string mode : {"accesses", "summary"}) {
    const std::string file = kernel == "matmul" ? "/cost-" + arch + "-" + mode + ".hsaco"
                                                : "/record-" + arch + "-" + mode + "-with.hsaco";
    Session session(arch, KERNELS_DIR + file, 1);
    Data data(session.device());
    const std::vector<float> matrix(std::size_t{n} * n, 1.0f);
    const Arguments arguments =
        Arguments().add(data.add(matrix)).add(data.add(matrix)).add(data.add(matrix)).add<int>(n);
    const Launch launch{kernel, {n, n, 1}, {16, 16, 1}};
    const auto original = instructions(session.runOriginal(launch, arguments).stats);
    Stream stream;
    stream.capacity = 1 << 26;
    std::printf(" %.2f |", double(instructions(session.runTwin(launch, arguments, stream).stats)) /
                               double(original));
  }
  std::printf("\n");
}

// Kernels whose lanes go anywhere: n work-items, and data of a length that grows with them.
Launch irregularCase(const std::string &kernel, uint32_t n, Data &data, Arguments &arguments) {
  constexpr uint32_t rounds = 16;
  if (kernel == "spmv") {
    std::vector<int> rows{0};
    for (const int length : random<int>(n, 18, 5)) rows.push_back(rows.back() + length);
    const auto entries = static_cast<std::size_t>(rows.back());
    arguments.add(data.add(rows)).add(data.add(random<int>(entries, n, 6)));
    arguments.add(data.add(counted<float>(entries))).add(data.add(counted<float>(n)));
    arguments.add(data.add(zeros<float>(n))).add<int>(static_cast<int>(n));
  } else {
    const bool is_gather = kernel == "gather";
    arguments.add(data.add(random<int>(std::size_t{n} * rounds, is_gather ? n : 1u << 30, 7)));
    if (is_gather) arguments.add(data.add(counted<float>(n)));
    arguments.add(data.add(zeros<float>(is_gather ? n : 256)));
    arguments.add<int>(static_cast<int>(n)).add<int>(rounds);
  }
  return {kernel, {n, 1, 1}, {256, 1, 1}};
}

void measureIrregular(const std::string &arch, const std::string &kernel, uint32_t n) {
  std::printf("| %s | %s | %u |", arch.c_str(), kernel.c_str(), n);
  std::size_t left = 0;
  for (const std::string mode : {"accesses", "summary"}) {
    Session session(arch, KERNELS_DIR "/irregular-" + arch + "-" + mode + ".hsaco", 1);
    Data data(session.device());
    Arguments arguments;
    const Launch launch = irregularCase(kernel, n, data, arguments);
    const auto original = instructions(session.runOriginal(launch, arguments).stats);
    Stream stream;
    stream.capacity = 1 << 28;
    stream.irregular = FADE_IRREGULAR(arch == "gfx90a" ? 6 : 7, 5); // as libfade says it
    const Recorded twin = session.runTwin(launch, arguments, stream);
    left = twin.bytes.size();
    std::printf(" %.2f |", double(instructions(twin.stats)) / double(original));
  }
  std::printf(" %zu |\n", left);
}

// What blocks cost that could be recorded, in twins that add up: loops of n iterations, and
// products of n × n elements.
void measureDefault(const std::string &arch, const std::string &kernel, uint32_t n) {
  std::printf("| %s | %s | %u |", arch.c_str(), kernel.c_str(), n);
  for (const std::string mode : {"summary", "default"}) {
    Session session(arch, KERNELS_DIR "/record-" + arch + "-" + mode + "-with.hsaco", 1);
    Data data(session.device());
    const bool is_product = kernel == "naive_matmul";
    const std::vector<float> matrix(is_product ? std::size_t{n} * n : 256);
    Arguments arguments;
    for (int i = 0; i < (is_product ? 3 : 1); ++i) arguments.add(data.add(matrix));
    arguments.add<int>(static_cast<int>(n));
    const Launch launch = is_product ? Launch{kernel, {n, n, 1}, {16, 16, 1}}
                                     : Launch{kernel, {256, 1, 1}, {64, 1, 1}};
    const auto original = instructions(session.runOriginal(launch, arguments).stats);
    std::printf(" %.2f |", double(instructions(session.runTwin(launch, arguments, {}).stats)) /
                               double(original));
  }
  std::printf("\n");
}

} // namespace

int main(int argc, char **argv) {
  // Which table, if not all.
  const auto wanted = [&](std::string_view table) { return argc < 2 || table == argv[1]; };
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (wanted("kernels")) {
    std::printf(
        "| architecture | kernel | mode | wave-instructions | times the original | bytes in "
        "the ring | VGPRs | scratch |\n|---|---|---|---|---|---|---|---|\n");
    for (const char *arch : {"gfx90a", "gfx942", "gfx1030"})
      for (const char *kernel : {"vadd", "transpose", "matmul", "spmv", "reduction"})
        measure(arch, kernel);
  }
  if (wanted("records")) {
    std::printf("\n| architecture | record | instructions | ring in device memory | of a `summary` "
                "twin |\n|---|---|---|---|---|\n");
    for (const char *arch : {"gfx90a", "gfx942", "gfx1030", "gfx1100"}) measureRecords(arch);
  }
  if (wanted("matmul")) {
    std::printf("\n| architecture | product of matrices | n | `accesses` | `summary` |\n"
                "|---|---|---|---|---|\n");
    for (const char *arch : {"gfx90a", "gfx1030"})
      for (const char *kernel : {"naive_matmul", "matmul"})
        for (const uint32_t n : {16u, 32u, 64u, 128u}) measureMatmul(arch, kernel, n);
  }
  if (wanted("default")) {
    std::printf("\n| architecture | kernel | n | `summary` | `summary;blocks` |\n"
                "|---|---|---|---|---|\n");
    for (const char *arch : {"gfx90a", "gfx1030"})
      for (const char *kernel : {"blocks_alone", "naive_matmul"})
        for (const uint32_t n : {16u, 32u, 64u, 128u}) measureDefault(arch, kernel, n);
  }
  if (wanted("irregular")) {
    std::printf(
        "\n| architecture | kernel | work-items | `accesses` | `summary` | bytes left in the "
        "ring |\n|---|---|---|---|---|---|\n");
    for (const char *arch : {"gfx90a", "gfx1030"})
      for (const char *kernel : {"spmv", "gather", "histogram"})
        for (const uint32_t n : {256u, 1024u, 4096u, 16384u}) measureIrregular(arch, kernel, n);
  }
}
