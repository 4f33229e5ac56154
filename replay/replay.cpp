// The door of libfadereplay.so: fadeprobe replay.
#include "fade/replay.h"
#include "base/diagnostics.h"
#include "base/progress_line.h"
#include "fade/json_writer.h"
#include "replay/changed_inputs.h"
#include "replay/comparison.h"
#include "replay/machine.h"
#include "replay/minimise.h"
#include "replay/summary.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fmt/format.h>

namespace fade::replay {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void complain(const std::string &text) { (void)writeStderr("fadeprobe: " + text + "\n"); }
void print(const std::string &text) { (void)!std::fwrite(text.data(), 1, text.size(), stdout); }

/// One call of fadeprobe replay.
class Session {
public:
  explicit Session(const Options &options) : options_(options) {}
  /// An exit code.
  int run();

private:
  Status open();
  Result<Outcome> replayOnce();
  Result<double> runOnce(uint64_t &instructions);
  Status iterate();
  Result<bool> check();
  void summarize() const;
  void compareVersions() const;
  Status makeSmall();

  const Options &options_;
  std::unique_ptr<capture::Reader> reader_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Machine> machine_;
  double load_seconds_ = 0;
  uint64_t changed_pages_ = 0; ///< by --change-inputs
  std::vector<double> seconds_, captured_seconds_;
  uint64_t instructions_ = 0, captured_instructions_ = 0;
  std::atomic<uint64_t> loaded_{0}, done_{0};
};

Status Session::open() {
  const auto began = Clock::now();
  auto reader = capture::Reader::open(options_.folder);
  if (!reader) return std::move(reader).error();
  reader_ = std::move(*reader);
  auto memory = Memory::load(*reader_, [this](uint64_t) { loaded_ += uint64_t{1} << 20; });
  if (!memory) return std::move(memory).error();
  memory_ = std::move(*memory);
  auto machine = Machine::create(*reader_, *memory_, options_.workers);
  if (!machine) return std::move(machine).error();
  machine_ = std::move(*machine);
  machine_->setTimeout(options_.timeout);
  if (options_.change_inputs != 0)
    changed_pages_ =
        changeInputs(*reader_, *memory_, options_.change_inputs, machine_->hostcallRegion());
  load_seconds_ = secondsSince(began);
  return Done();
}

Result<Outcome> Session::replayOnce() {
  machine_->restore();
  auto execution = machine_->run();
  if (!execution) return std::move(execution).error();
  ++done_;
  return Outcome::of(*memory_);
}

/// On the memory as it is.
Result<double> Session::runOnce(uint64_t &instructions) {
  auto execution = machine_->run();
  if (!execution) return std::move(execution).error();
  instructions = execution->instructions;
  ++done_;
  return execution->seconds;
}

Status Session::iterate() {
  // Two versions are run in turn, on the same memory. Without that there is nothing to compare.
  bool compares = !options_.code.empty() && options_.recopy;
  if (!options_.code.empty())
    if (Status loaded = machine_->loadCode(options_.code); !loaded) return loaded;
  if (const std::string note = machine_->otherNote(); !note.empty()) complain(note);
  machine_->restore();
  for (uint32_t i = 0; i < options_.iterations; ++i) {
    if (compares) {
      machine_->useOther(false);
      if (i != 0) machine_->restore();
      if (const auto seconds = runOnce(captured_instructions_))
        captured_seconds_.push_back(*seconds);
      else
        compares = false; // it cannot run; perhaps the other one can
      machine_->useOther(true);
      machine_->restore();
    } else if (i != 0 && options_.recopy) {
      machine_->restore();
    }
    const auto seconds = runOnce(instructions_);
    if (!seconds) return seconds.error();
    seconds_.push_back(*seconds);
  }
  return Done();
}

Result<bool> Session::check() {
  const bool has_after = reader_->description().has_after && options_.change_inputs == 0;
  if (!has_after && options_.code.empty())
    return Error{options_.folder, "", 0,
                 "memory after the dispatch was not captured: only another version of the kernel "
                 "(-c) can be compared"};
  Comparer comparer(*reader_, *memory_, machine_->hostcallRegion(), machine_->heap());
  machine_->useOther(false);
  if (has_after) {
    if (Status loaded = comparer.load(); !loaded) return std::move(loaded).error();
  } else {
    auto first = replayOnce();
    if (!first) return std::move(first).error();
    comparer.load(*first);
  }
  const auto captured = comparer.replays([this] { return replayOnce(); }, options_.tolerance);
  if (!captured) return captured.error();
  Comparison comparison;
  if (options_.code.empty()) {
    comparison = comparer.compare(captured->front(), *captured, options_.tolerance);
  } else {
    machine_->useOther(true);
    auto tested = replayOnce();
    if (!tested) return std::move(tested).error();
    comparison = comparer.compare(*tested, *captured, options_.tolerance);
  }
  print(options_.json ? comparisonJson(comparison, *reader_)
                      : comparisonText(comparison, *reader_, options_.code.empty()));
  const std::string note = comparison.isEqual() ? "" : machine_->noteOnDifferences();
  if (!note.empty()) complain(note);
  return comparison.isEqual();
}

void Session::summarize() const {
  Summary summary;
  summary.on = "executor";
  summary.seconds = seconds_;
  summary.load_seconds = load_seconds_;
  summary.instructions = instructions_;
  summary.asked = machine_->hostcallSummary();
  print(options_.json ? summaryJson(summary, *reader_) : summaryText(summary, *reader_));
  if (options_.change_inputs == 0) return;
  if (!options_.json) {
    print(fmt::format("inputs: {} pages changed at random (seed {})\n", changed_pages_,
                      options_.change_inputs));
    return;
  }
  JsonWriter json;
  json.object([&] {
    json.field("type", "inputs");
    json.field("version", 1);
    json.field("seed", options_.change_inputs);
    json.field("changed_pages", changed_pages_);
  });
  print(json.take());
}

/// How the other version does beside the captured one.
void Session::compareVersions() const {
  if (captured_seconds_.empty()) return;
  const Versions versions{options_.code, captured_seconds_, seconds_, captured_instructions_,
                          instructions_};
  print(options_.json ? versionsJson(versions) : versionsText(versions));
}

Status Session::makeSmall() {
  const auto made = minimise(*reader_, *memory_, *machine_, options_.code, options_.output);
  if (!made) return made.error();
  if (options_.json) {
    JsonWriter json;
    json.object([&] {
      json.field("type", "minimised");
      json.field("version", 1);
      json.field("capture", made->path);
      json.field("pages", made->pages);
      json.field("touched", made->touched);
      json.field("on_disk", made->sizes.on_disk);
      json.field("was_on_disk", reader_->sizes().on_disk);
    });
    print(json.take());
  } else {
    print(fmt::format(
        "minimised {}: {} of {} pages touched, {:.1f} MiB on disk instead of {:.1f}: {}\n",
        reader_->description().kernel, made->touched, made->pages,
        static_cast<double>(made->sizes.on_disk) / (1 << 20),
        static_cast<double>(reader_->sizes().on_disk) / (1 << 20), made->path));
  }
  return Done();
}

int Session::run() {
  std::unique_ptr<ProgressLine> progress;
  if (options_.progress && ProgressLine::isPossible()) {
    ProgressLine::eraseAtSignals();
    progress = std::make_unique<ProgressLine>(
        [this](double seconds) { return replayProgress(loaded_.load(), done_.load(), seconds); });
  }
  const auto fail = [](const Error &error) {
    complain(error.message());
    return kCannotRun;
  };
  if (const Status opened = open(); !opened) return fail(opened.error());
  if (options_.minimise) {
    const Status made = makeSmall();
    return made ? kEqual : fail(made.error());
  }
  if (const Status done = iterate(); !done) return fail(done.error());
  summarize();
  int code = kEqual;
  if (options_.check) {
    const auto equal = check();
    if (!equal) return fail(equal.error());
    code = *equal ? kEqual : kDiffers;
  }
  compareVersions();
  return code;
}

} // namespace
} // namespace fade::replay

extern "C" __attribute__((visibility("default"))) int
fade_replay_4(const fade::replay::Options *options) {
  try {
    // Never destroyed: observers may look at its memory until the process is gone.
    static auto *session = new fade::replay::Session(*options);
    const int code = session->run();
    if (std::fflush(stdout) == 0) return code;
    fade::replay::complain(
        fmt::format("replay: the result cannot be written: {}", std::strerror(errno)));
    return fade::replay::kCannotRun;
  } catch (const std::exception &e) {
    fade::replay::complain(fmt::format("replay: {}", e.what()));
    return fade::replay::kCannotRun;
  }
}
