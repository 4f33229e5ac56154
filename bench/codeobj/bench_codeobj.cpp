// Figures for the code-object library.
//   bench_codeobj                      small operations, and a library of 500 MB made from what is
//   installed FADE_BENCH_SEED=libfoo.so bench_codeobj     … made from another library
#include "codeobj/finder.h"
#include "codeobj/kernarg.h"
#include "codeobj/kernel_code.h"
#include "large_library.h"

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace {

using namespace fade::codeobj;
namespace fs = std::filesystem;

constexpr std::uint64_t kLarge = 500'000'000;

std::string seed() {
  if (const char *path = std::getenv("FADE_BENCH_SEED")) return path;
  for (const char *path :
       {"/usr/lib/" FADE_MULTIARCH "/librocrand.so.1", "/opt/rocm/lib/librocrand.so.1"})
    if (fs::exists(path)) return path;
  return FADE_TEST_DATA "/triton";
}

const fade::bench::LargeLibrary &large() {
  static const fade::bench::LargeLibrary library = fade::bench::make_large_library(seed(), kLarge);
  return library;
}

/// Memory of this process now, in bytes: all of it, and the part that is not a mapped file.
struct Memory {
  double resident = 0, anonymous = 0;
  static Memory now() {
    Memory memory;
    std::ifstream in("/proc/self/status");
    for (std::string word; in >> word;) {
      double *into = word == "VmRSS:"     ? &memory.resident
                     : word == "RssAnon:" ? &memory.anonymous
                                          : nullptr;
      if (into != nullptr && in >> *into) *into *= 1024;
    }
    return memory;
  }
};

void report_memory(benchmark::State &state, const Memory &before) {
  Memory after = Memory::now();
  state.counters["resident_MB"] = (after.resident - before.resident) / 1e6;
  state.counters["heap_MB"] = (after.anonymous - before.anonymous) / 1e6;
}

/// What code is in it: bundles, entries, targets.
void list_code_objects_of_large_library(benchmark::State &state) {
  const auto &library = large();
  for (auto _ : state) {
    Memory before = Memory::now();
    std::vector<FoundCode> found;
    auto status = findCode(library.path, {[&](FoundCode code) {
                                            found.push_back(std::move(code));
                                            return true;
                                          },
                                          {}});
    if (!status || found.size() != library.code_objects) state.SkipWithError("not all were found");
    report_memory(state, before);
  }
  state.counters["file_MB"] = static_cast<double>(library.bytes) / 1e6;
  state.counters["code_objects"] = static_cast<double>(library.code_objects);
}
BENCHMARK(list_code_objects_of_large_library)->Unit(benchmark::kMillisecond);

/// One kernel of one processor, with all its metadata: the others are not parsed.
void find_one_kernel_in_large_library(benchmark::State &state) {
  const auto &library = large();
  for (auto _ : state) {
    Memory before = Memory::now();
    std::optional<Kernel> kernel;
    auto status = findCode(library.path, {[&](const FoundCode &code) {
                                            if (code.target.processor != "gfx1030") return true;
                                            auto object = code.open();
                                            if (!object || (*object)->kernelCount() == 0)
                                              return true;
                                            auto read =
                                                (*object)->kernel((*object)->kernelCount() / 2);
                                            if (read) kernel = *std::move(read);
                                            return !kernel;
                                          },
                                          {}});
    if (!status || !kernel) state.SkipWithError("not found");
    report_memory(state, before);
  }
}
BENCHMARK(find_one_kernel_in_large_library)->Unit(benchmark::kMillisecond);

/// Every code object opened and kept, all names known.
void open_all_of_large_library(benchmark::State &state) {
  const auto &library = large();
  std::size_t kernels = 0;
  for (auto _ : state) {
    Memory before = Memory::now();
    std::vector<std::shared_ptr<const CodeObject>> objects;
    kernels = 0;
    auto status = findCode(library.path, {[&](const FoundCode &code) {
                                            auto object = code.open();
                                            if (object) {
                                              kernels += (*object)->kernelCount();
                                              objects.push_back(*object);
                                            }
                                            return true;
                                          },
                                          {}});
    if (!status || objects.size() != library.code_objects)
      state.SkipWithError("not all could be opened");
    report_memory(state, before);
  }
  state.counters["kernels"] = static_cast<double>(kernels);
}
BENCHMARK(open_all_of_large_library)->Unit(benchmark::kMillisecond);

std::shared_ptr<const CodeObject> triton(const char *name) {
  auto blob = Blob::mapFile(fmt::format("{}/triton/gfx90a/{}.hsaco", FADE_TEST_DATA, name));
  if (!blob) return nullptr;
  auto object = CodeObject::open(*blob);
  return object ? *object : nullptr;
}

void open_small_code_object(benchmark::State &state) {
  auto blob = Blob::mapFile(FADE_TEST_DATA "/triton/gfx90a/matmul.hsaco");
  if (!blob) return state.SkipWithError("no data");
  for (auto _ : state) benchmark::DoNotOptimize(CodeObject::open(*blob).ok());
}
BENCHMARK(open_small_code_object);

void read_kernel_with_14_arguments(benchmark::State &state) {
  auto object = triton("matmul");
  if (!object) return state.SkipWithError("no data");
  for (auto _ : state) benchmark::DoNotOptimize(object->kernel(0).ok());
}
BENCHMARK(read_kernel_with_14_arguments);

/// What every dispatch of an instrumented kernel pays.
void build_clone_kernargs_of_14_arguments(benchmark::State &state) {
  auto object = triton("matmul");
  if (!object) return state.SkipWithError("no data");
  auto kernel = object->kernel(0);
  if (!kernel) return state.SkipWithError("no kernel");
  KernelMetadata clone = kernel->metadata;
  KernelArg control;
  control.offset = clone.kernarg_segment_size;
  control.size = 8;
  control.kind = ArgKind::GlobalBuffer;
  control.kind_text = "global_buffer";
  clone.args.push_back(control);
  clone.kernarg_segment_size += 8;
  auto from = KernargLayout::from(kernel->metadata), to = KernargLayout::from(clone);
  if (!from || !to) return state.SkipWithError("no layout");
  auto rewrite = KernargRewrite::plan(*from, *to);
  if (!rewrite) return state.SkipWithError("no plan");
  std::vector<std::uint8_t> block(from->size), out(rewrite->size());
  DispatchFields dispatch;
  for (auto _ : state) benchmark::DoNotOptimize(rewrite->build(block, dispatch, 42, out));
}
BENCHMARK(build_clone_kernargs_of_14_arguments);

void disassemble_and_analyze(benchmark::State &state) {
  auto object = triton("matmul");
  if (!object) return state.SkipWithError("no data");
  auto kernel = object->kernel(0);
  std::size_t instructions = 0;
  for (auto _ : state) {
    auto code = analyzeKernel(*object, *kernel);
    if (!code) return state.SkipWithError("cannot disassemble");
    instructions += code->instructions.size();
  }
  state.counters["instructions/s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}
BENCHMARK(disassemble_and_analyze)->Unit(benchmark::kMicrosecond);

void source_stack_of_an_address(benchmark::State &state) {
  auto object = triton("softmax");
  if (!object) return state.SkipWithError("no data");
  auto map = SourceMap::open(object);
  auto kernel = object->kernel(0);
  if (!map || !kernel) return state.SkipWithError("no map");
  std::uint64_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize((*map)->stack(kernel->code_address + at));
    at = (at + 4) % kernel->code_size;
  }
}
BENCHMARK(source_stack_of_an_address);

} // namespace

BENCHMARK_MAIN();
