// Lane-instructions per second of the software GPU, per kind of work: bench_sim [FOLDER OF THE
// KERNELS] [WORKERS] [LOOP] [PART]
//   PART        of each loop only so many times less, once: for tools that count instructions
//   1 worker    per second of processor time; all there is if WORKERS is 1
//   N workers   of one GPU
//   ratio       how many times one worker's speed that is, by the clock
//   share       by processor time: what is missing, workers take from each other
//   N GPUs      with one worker each, all at the same time: what the machine gives to N threads
//               that share nothing
#include "../../tests/sim/support/test_device.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <thread>

using namespace fade::sim;

namespace {

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Work {
  const char *kernel;
  uint32_t loops;
  uint64_t in_bytes, out_bytes; // per work-item
  uint32_t workgroup = 256, lds = 1024;
  uint32_t grid = 1; // times the usual number of work-items
};

struct Speed {
  double per_second, per_cpu_second;
};

/// One GPU with the loop's memory, ready to run it.
struct Bench {
  Bench(const char *arch, const std::string &object, const Work &work, unsigned workers)
      : device(arch, workers), code(device.load(read_file(object))), work(work),
        items(256 * 64 * ((workers + 1) / 2) * work.grid), // as much for each worker
        in(device.allocate<uint8_t>(items * work.in_bytes + 64)),
        out(device.allocate<uint8_t>(items * work.out_bytes + 64)) {}

  DispatchResult run() {
    Arguments args;
    if (work.in_bytes) args.add(in.va);
    if (work.out_bytes) args.add(out.va);
    args.add(work.loops);
    DispatchResult r =
        device.run(code, work.kernel, {items, 1, 1}, {work.workgroup, 1, 1}, args, work.lds);
    if (r.status != DispatchResult::Status::ok) {
      std::fprintf(stderr, "%s\n", r.message.c_str());
      std::exit(1);
    }
    return r;
  }

  TestDevice device;
  CodeObject &code;
  const Work &work;
  uint32_t items;
  TestDevice::Buffer<uint8_t> in, out;
};

/// The best of the runs.
Speed measure(const char *arch, const std::string &object, const Work &work, unsigned workers,
              int runs = 5) {
  Bench bench(arch, object, work, workers);
  Speed best{0, 0};
  for (int i = 0; i < runs; i++) {
    const double cpu = cpu_seconds();
    const DispatchResult r = bench.run();
    const auto lanes = static_cast<double>(r.stats.total().lanes);
    best.per_second = std::max(best.per_second, lanes / r.stats.seconds);
    best.per_cpu_second = std::max(best.per_cpu_second, lanes / (cpu_seconds() - cpu));
  }
  return best;
}

/// So many GPUs with one worker each, all together. They begin each run at the same time and it
/// ends with the slowest, as a dispatch of one GPU does.
double measure_apart(const char *arch, const std::string &object, const Work &work, unsigned gpus) {
  using Clock = std::chrono::steady_clock;
  constexpr int runs = 5;
  std::barrier together(gpus + 1);
  std::vector<std::thread> threads;
  std::vector<double> lanes(gpus);
  for (double &count : lanes)
    threads.emplace_back([&] {
      Bench bench(arch, object, work, 1);
      for (int i = 0; i < runs; i++) {
        together.arrive_and_wait();
        count = static_cast<double>(bench.run().stats.total().lanes);
        together.arrive_and_wait();
      }
    });
  double best = 0;
  for (int i = 0; i < runs; i++) {
    together.arrive_and_wait();
    const auto begin = Clock::now();
    together.arrive_and_wait();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::max(best, std::accumulate(lanes.begin(), lanes.end(), 0.0) / seconds);
  }
  for (auto &t : threads) t.join();
  return best;
}

void empty_dispatches(const char *arch, const std::string &object) {
  TestDevice device(arch);
  CodeObject &code = device.load(read_file(object));
  const int n = 10000;
  double seconds = 0;
  for (int i = 0; i < n; i++)
    seconds += device.run(code, "empty", {64, 1, 1}, {64, 1, 1}, Arguments()).stats.seconds;
  std::printf("%-8s %-18s %8.1f us per dispatch\n", arch, "empty", seconds / n * 1e6);
}

} // namespace

int main(int argc, char **argv) {
  const std::string dir = argc > 1 ? argv[1] : "."; // where the kernels lie
  const unsigned workers = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 2;
  const std::string only = argc > 3 ? argv[3] : "";
  const unsigned part = argc > 4 ? static_cast<unsigned>(std::max(1, std::atoi(argv[4]))) : 1;
  Work works[] = {{"alu", 20000, 0, 4},
                  {"alu_f32", 20000, 0, 4},
                  {"alu_divergent", 10000, 0, 4},
                  {"fma_f64", 10000, 0, 8},
                  {"stream", 256, 4 * 256, 4 * 256},
                  {"stream", 256, 4 * 256, 4 * 256, 1024}, // a page of each at a time
                  {"stream_blocks", 256, 4 * 256, 4 * 256},
                  {"copy", 1, 4, 4, 256, 1024, 256}, // short workgroups
                  {"lds_loop", 5000, 0, 4},
                  {"lds_reduce", 200, 0, 4, 256, 4096},
                  {"lds_reduce", 200, 0, 4, 1024, 4096},
                  {"lds_gemm", 200, 0, 4, 256, 4096},
                  {"lds_gemm", 200, 0, 4, 1024, 4096},
                  {"lds_own", 2000, 0, 4, 256, 4096},
                  {"lds_own", 2000, 0, 4, 1024, 4096},
                  {"atomics", 200, 0, 4}};
  for (Work &w : works) {
    w.loops = std::max(1u, w.loops / part);
    w.grid = std::max(1u, w.grid / part);
  }
  if (workers > 1)
    std::printf("%-8s %-18s %12s %11u workers %8s %8s %8u GPUs\n", "arch", "loop", "1 worker",
                workers, "ratio", "share", workers);
  for (const char *arch : {"gfx90a", "gfx1030"}) {
    const std::string object = dir + "/bench-kernels-" + arch + ".hsaco";
    for (const Work &w : works) {
      if (!only.empty() && only != w.kernel) continue;
      const std::string loop = std::string(w.kernel) + "/" + std::to_string(w.workgroup);
      const Speed one = measure(arch, object, w, 1, part > 1 ? 1 : 5);
      if (workers == 1) {
        std::printf("%-8s %-18s %12.4e\n", arch, loop.c_str(), one.per_cpu_second);
        std::fflush(stdout);
        continue;
      }
      const Speed all = measure(arch, object, w, workers);
      const double apart = measure_apart(arch, object, w, workers);
      std::printf("%-8s %-18s %12.2e %19.2e %8.2f %8.2f %13.2e\n", arch, loop.c_str(),
                  one.per_cpu_second, all.per_second, all.per_second / one.per_second,
                  all.per_cpu_second / one.per_cpu_second, apart);
      std::fflush(stdout);
    }
    if (only.empty() && workers > 1) empty_dispatches(arch, object);
  }
}
