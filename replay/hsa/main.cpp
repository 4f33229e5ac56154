// fade-replay: runs a capture through the HSA runtime. fadeprobe replay starts it, in an
// environment like that of any application; so tools see a dispatch like any other.
#include "base/progress_line.h"
#include "fade/replay.h"
#include "replay/comparison.h"
#include "replay/hsa/hsa_machine.h"
#include "replay/summary.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <sys/personality.h>
#include <unistd.h>

namespace fade::replay {
namespace {

void complain(const std::string &text) { fmt::print(stderr, "fadeprobe: {}\n", text); }
void print(const std::string &text) { std::fputs(text.c_str(), stdout); }

std::string conflictText(const Conflict &conflict) {
  return fmt::format("{} bytes at {:#x} are not available: {}", conflict.range.size,
                     conflict.range.address, conflict.who);
}

/// Where a process has its libraries is another place each time: perhaps not in the way.
void startAgain(char **argv) {
  constexpr int most = 20;
  constexpr const char *variable = "FADE_REPLAY_ATTEMPT";
  const char *text = std::getenv(variable);
  const int attempt = text ? std::atoi(text) : 0;
  if (attempt >= most) return;
  setenv(variable, std::to_string(attempt + 1).c_str(), 1);
  const int now = personality(0xffffffff);
  (void)personality(static_cast<unsigned long>(attempt == 0 ? now | ADDR_NO_RANDOMIZE
                                                            : now & ~ADDR_NO_RANDOMIZE));
  execv("/proc/self/exe", argv);
}

// For the progress line.
std::atomic<uint64_t> bytes_loaded{0}, runs_done{0};

Result<double> runOnce(HsaMachine &machine) {
  auto seconds = machine.run();
  ++runs_done;
  return seconds;
}

Result<Outcome> replayOnce(HsaMachine &machine) {
  if (Status done = machine.restore(); !done) return std::move(done).error();
  if (auto seconds = runOnce(machine); !seconds) return std::move(seconds).error();
  return machine.outcome();
}

Result<bool> check(const Options &options, capture::Reader &reader, const Memory &memory,
                   HsaMachine &machine) {
  const bool has_after = reader.description().has_after;
  if (!has_after && options.code.empty())
    return Error{options.folder, "", 0,
                 "memory after the dispatch was not captured: only another version of the kernel "
                 "(-c) can be compared"};
  Comparer comparer(reader, memory, machine.hostcallRegion(), machine.heap());
  machine.useOther(false);
  if (has_after) {
    if (Status loaded = comparer.load(); !loaded) return std::move(loaded).error();
  } else {
    auto first = replayOnce(machine);
    if (!first) return std::move(first).error();
    comparer.load(*first);
  }
  const auto captured = comparer.replays([&] { return replayOnce(machine); }, options.tolerance);
  if (!captured) return captured.error();
  machine.useOther(true);
  auto tested = options.code.empty() ? captured->front() : replayOnce(machine);
  if (!tested) return std::move(tested).error();
  const Comparison comparison = comparer.compare(*tested, *captured, options.tolerance);
  print(options.json ? comparisonJson(comparison, reader)
                     : comparisonText(comparison, reader, options.code.empty()));
  const std::string note = comparison.isEqual() ? "" : machine.noteOnDifferences();
  if (!note.empty()) complain(note);
  return comparison.isEqual();
}

/// Two versions are run in turn, on the same memory.
Status iterate(const Options &options, HsaMachine &machine, std::vector<double> &seconds,
               std::vector<double> &captured_seconds) {
  const bool learns = options.recopy && options.iterations > 1;
  const auto once = [&](bool restores, std::vector<double> &to) -> Status {
    if (restores)
      if (Status done = machine.restore(); !done) return done;
    const auto took = runOnce(machine);
    if (!took) return took.error();
    to.push_back(*took);
    return learns && to.size() == 1 ? machine.learnWritten() : Done();
  };
  for (uint32_t i = 0; i < options.iterations; ++i) {
    if (!options.code.empty() && options.recopy) {
      machine.useOther(false);
      if (Status done = once(true, captured_seconds); !done) return done;
      machine.useOther(true);
    }
    if (Status done = once(i == 0 || options.recopy, seconds); !done) return done;
  }
  const auto besides = machine.changedBesides();
  if (!besides) return besides.error();
  if (*besides != 0)
    complain(
        fmt::format("replay: {} pages that the first run did not write were written later, and "
                    "not restored between iterations",
                    *besides));
  return Done();
}

int run(const Options &options, bool only_reserve, char **argv) {
  const auto fail = [](const Error &error) {
    complain(error.message());
    return kCannotRun;
  };
  const auto began = std::chrono::steady_clock::now();
  auto reader = capture::Reader::open(options.folder);
  if (!reader) return fail(reader.error());
  const std::vector<Range> ranges = rangesOf((*reader)->description());
  if (const auto conflict = holdRanges(ranges)) {
    startAgain(argv);
    complain(conflictText(*conflict));
    return kCannotRun;
  }
  if (only_reserve) {
    print(fmt::format("{} ranges of addresses are free\n", ranges.size()));
    return kEqual;
  }
  startSteering(ranges);
  std::unique_ptr<ProgressLine> progress; // whose thread finds its memory elsewhere
  if (options.progress && ProgressLine::isPossible()) {
    ProgressLine::eraseAtSignals();
    progress = std::make_unique<ProgressLine>([](double seconds) {
      return replayProgress(bytes_loaded.load(), runs_done.load(), seconds);
    });
  }
  auto memory = Memory::load(**reader, [](uint64_t) { bytes_loaded += uint64_t{1} << 20; });
  if (!memory) return fail(memory.error());
  auto machine = HsaMachine::create(**reader, **memory);
  if (!machine) return fail(machine.error());
  (*machine)->setTimeout(options.timeout);
  Summary summary;
  summary.on = (*machine)->name();
  summary.load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (!options.code.empty())
    if (Status used = (*machine)->useCode(options.code); !used) return fail(used.error());
  if (const std::string note = (*machine)->otherNote(); !note.empty()) complain(note);
  Versions versions{options.code, {}, {}, 0, 0};
  if (Status done = iterate(options, **machine, summary.seconds, versions.captured_seconds); !done)
    return fail(done.error());
  summary.asked = (*machine)->hostcallSummary();
  print(options.json ? summaryJson(summary, **reader) : summaryText(summary, **reader));
  int code = kEqual;
  if (options.check) {
    const auto equal = check(options, **reader, **memory, **machine);
    if (!equal) return fail(equal.error());
    code = *equal ? kEqual : kDiffers;
  }
  versions.seconds = summary.seconds;
  if (!versions.captured_seconds.empty())
    print(options.json ? versionsJson(versions) : versionsText(versions));
  return code;
}

} // namespace
} // namespace fade::replay

int main(int argc, char **argv) {
  using namespace fade::replay;
  Options options;
  bool only_reserve = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--check")
      options.check = true;
    else if (word == "--json")
      options.json = true;
    else if (word == "--no-progress")
      options.progress = false;
    else if (word == "--no-recopy")
      options.recopy = false;
    else if (word == "--reserve-check")
      only_reserve = true;
    else if (word == "--code")
      options.code = value, ++i;
    else if (word == "--iterations")
      options.iterations = static_cast<uint32_t>(std::atoi(value)), ++i;
    else if (word == "--timeout")
      options.timeout = std::strtod(value, nullptr), ++i;
    else if (word == "--ulp")
      options.tolerance.ulp = std::strtoull(value, nullptr, 10), ++i;
    else if (word == "--rel")
      options.tolerance.relative = std::strtod(value, nullptr), ++i;
    else if (word == "--abs")
      options.tolerance.absolute = std::strtod(value, nullptr), ++i;
    else
      options.folder = word;
  }
  // The runtime would put small allocations together, and large ones at multiples of their size.
  setenv("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1", 1);
  setenv("HSA_MAX_VA_ALIGN", "0", 1);
  const int code = run(options, only_reserve, argv);
  if (std::fflush(stdout) == 0) return code;
  complain(fmt::format("replay: the result cannot be written: {}", std::strerror(errno)));
  return kCannotRun;
}
