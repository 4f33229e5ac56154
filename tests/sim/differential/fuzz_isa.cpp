// fuzz-isa: runs random programs on the software GPU and on the host until it has done as many as
// asked.
#include "reducer.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace fade::sim::differential {
namespace {

struct Options {
  uint64_t count = 0, first = 1;
  std::string arch, variant, keep = "fuzz-failures", text;
  int opt = -1;
  unsigned wave = 0, jobs = std::max(1u, std::thread::hardware_concurrency());
  bool all = false, reduce = false, source = false;
};

class Fuzzer {
public:
  explicit Fuzzer(const Options &options) : options_(options) {}
  int run();

private:
  static constexpr uint64_t batch_size = 8;
  std::vector<Target> targets_for(uint64_t batch) const;
  Program program(uint64_t seed) const;
  void worker();
  void batch(uint64_t number);
  void compare(const std::vector<Program> &programs, const std::vector<Target> &targets,
               bool alone);
  void report(const Disagreement &d, const std::string &source);
  void progress();
  void summary();

  const Options &options_;
  std::atomic<uint64_t> next_{0}, programs_{0}, runs_{0}, disagreements_{0}, not_compiled_{0};
  std::mutex mutex_; // of the output
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// Each program runs on every architecture; optimisation, wave size and flat pointers change from
// batch to batch.
std::vector<Target> Fuzzer::targets_for(uint64_t batch) const {
  std::vector<Target> chosen;
  const int opts[] = {0, 1, 3};
  for (Target t : all_targets()) {
    if (!options_.arch.empty() && t.arch != options_.arch) continue;
    if (options_.opt >= 0 ? t.opt != options_.opt : !options_.all && t.opt != opts[batch % 3])
      continue;
    if (options_.wave ? t.wave != options_.wave
                      : !options_.all && !t.gfx9() && t.wave != (batch / 3 % 2 ? 64u : 32u))
      continue;
    const bool any = options_.variant.empty();
    t.flat = any ? batch / 6 % 4 == 3 : options_.variant == "flat";
    t.few_registers = any ? batch / 6 % 4 == 2 : options_.variant == "few-registers";
    chosen.push_back(t);
  }
  return chosen;
}

Program Fuzzer::program(uint64_t seed) const {
  Program p = generate(seed);
  if (options_.text.empty()) return p;
  std::ifstream in(options_.text);
  if (!in) throw std::runtime_error("cannot read " + options_.text);
  p.text.assign(std::istreambuf_iterator<char>(in), {});
  return p;
}

void Fuzzer::report(const Disagreement &d, const std::string &source) {
  std::lock_guard lock(mutex_);
  std::filesystem::create_directories(options_.keep);
  const std::string base = fmt::format("{}/seed{}-{}-O{}-wave{}", options_.keep, d.seed,
                                       d.target.arch, d.target.opt, d.target.wave);
  std::ofstream(base + ".c") << source;
  std::printf("\rseed %llu disagrees on %s (source in %s.c)\n%s",
              static_cast<unsigned long long>(d.seed), d.target.describe().c_str(), base.c_str(),
              d.what.c_str());
  if (options_.reduce) {
    const Program small = reduce(d.seed, [&](const Program &p) { return disagrees(p, d.target); });
    std::ofstream(base + ".reduced.c") << small.text;
    std::printf("  cut down to %zu of %zu bytes: %s.reduced.c\n", small.text.size(), source.size(),
                base.c_str());
    for (const Disagreement &left : Batch({small}).compare(d.target))
      std::fputs(left.what.c_str(), stdout);
  }
  std::fflush(stdout);
}

void Fuzzer::compare(const std::vector<Program> &programs, const std::vector<Target> &targets,
                     bool alone) {
  Batch batch(programs);
  for (const Target &t : targets) {
    std::vector<Disagreement> found;
    try {
      found = batch.compare(t);
      runs_ += programs.size();
    } catch (const CompileError &e) {
      // A program that the compiler cannot do: leave out that one only.
      if (!alone) {
        for (const Program &p : programs) compare({p}, {t}, true);
        continue;
      }
      not_compiled_++;
      std::lock_guard lock(mutex_);
      std::printf("\rseed %llu does not compile for %s: %.300s\n",
                  static_cast<unsigned long long>(programs[0].seed), t.describe().c_str(),
                  e.what());
    }
    disagreements_ += found.size();
    for (const Disagreement &d : found) report(d, program(d.seed).text);
  }
}

void Fuzzer::batch(uint64_t number) {
  const uint64_t first = number * batch_size, last = std::min(options_.count, first + batch_size);
  std::vector<Program> programs;
  for (uint64_t i = first; i < last; i++) programs.push_back(program(options_.first + i));
  compare(programs, targets_for(number), false);
  programs_ += last - first;
}

void Fuzzer::progress() {
  // On a terminal one line that changes, else a line now and then.
  if (!isatty(1)) {
    if (programs_ / batch_size % 16 != 0) return;
    std::printf("\n");
  }
  std::lock_guard lock(mutex_);
  summary();
}

void Fuzzer::summary() {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  std::printf("\r%llu of %llu programs, %llu runs, %llu disagreements, %.0f s ",
              static_cast<unsigned long long>(programs_),
              static_cast<unsigned long long>(options_.count),
              static_cast<unsigned long long>(runs_),
              static_cast<unsigned long long>(disagreements_), seconds);
  std::fflush(stdout);
}

void Fuzzer::worker() {
  for (uint64_t n; (n = next_++) * batch_size < options_.count;) {
    try {
      batch(n);
    } catch (const std::exception &e) {
      std::lock_guard lock(mutex_);
      disagreements_++;
      std::printf("\rseeds from %llu: %s\n",
                  static_cast<unsigned long long>(options_.first + n * batch_size), e.what());
    }
    progress();
  }
}

int Fuzzer::run() {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options_.jobs; i++) threads.emplace_back([this] { worker(); });
  for (std::thread &t : threads) t.join();
  summary();
  std::printf("\n");
  if (not_compiled_)
    std::printf("%llu programs were left out because clang does not compile them\n",
                static_cast<unsigned long long>(not_compiled_));
  return disagreements_ == 0 ? 0 : 1;
}

} // namespace
} // namespace fade::sim::differential

int main(int argc, char **argv) {
  fade::sim::differential::Options options;
  CLI::App app{"Random programs on the software GPU against the host, bit for bit"};
  app.add_option("count", options.count, "how many programs")->required();
  app.add_option("first-seed", options.first, "seed of the first one")->capture_default_str();
  app.add_option("--arch", options.arch, "only this architecture")
      ->check(CLI::IsMember(
          {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx908"}));
  app.add_option("--opt", options.opt, "only this optimisation level")
      ->check(CLI::IsMember({0, 1, 3}));
  app.add_option("--wave", options.wave, "only this wave size")->check(CLI::IsMember({32, 64}));
  app.add_option("--variant", options.variant, "only this way to compile")
      ->check(CLI::IsMember({"plain", "flat", "few-registers"}));
  app.add_option("--jobs,-j", options.jobs, "batches at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--keep", options.keep, "folder for the sources of programs that disagree")
      ->capture_default_str();
  app.add_flag("--all", options.all, "every program at every optimisation level and wave size");
  app.add_flag("--reduce", options.reduce, "cut disagreeing programs down");
  app.add_option("--text", options.text, "run this file, an edited program of the first seed")
      ->check(CLI::ExistingFile);
  app.add_flag("--source", options.source, "print the programs instead of running them");
  CLI11_PARSE(app, argc, argv);
  if (options.source) {
    for (uint64_t i = 0; i < options.count; i++)
      std::fputs(fade::sim::differential::generate(options.first + i).text.c_str(), stdout);
    return 0;
  }
  return fade::sim::differential::Fuzzer(options).run();
}
