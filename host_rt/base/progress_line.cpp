#include "base/progress_line.h"

#include "base/diagnostics.h"
#include "base/quiet_thread.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace fade {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kFirst = std::chrono::milliseconds(2000);
constexpr auto kEvery = std::chrono::milliseconds(500);
constexpr unsigned kFewestRows = 4;

winsize terminalSize() noexcept {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

// What takes the line away, for signal handlers: whole, or of size 0.
std::array<char, 64> erasing{};
std::atomic<std::size_t> erasing_size{0};

std::string eraseText(unsigned rows) {
  return fmt::format("\0337\033[r\033[{};1H\033[K\0338", rows);
}

void keepEraseText(unsigned rows) {
  erasing_size = 0;
  const std::string text = eraseText(rows);
  if (text.size() > erasing.size()) return;
  std::ranges::copy(text, erasing.begin());
  erasing_size = text.size();
}

bool isInForeground() noexcept { return tcgetpgrp(STDERR_FILENO) == getpgrp(); }

} // namespace

ProgressLine::ProgressLine(Text text) : ProgressLine(std::move(text), {}) {}

ProgressLine::ProgressLine(Text text, std::chrono::milliseconds apart)
    : text_(std::move(text)), apart_(apart) {
  try {
    thread_ = startQuietThread("fade-progress", [this] { run(); });
  } catch (const std::exception &e) {
    note("cannot show a progress line: {}", e.what());
  }
}

void ProgressLine::stop() noexcept {
  if (!thread_.joinable()) return;
  stopping_.release();
  thread_.join();
}

bool ProgressLine::isPossible() noexcept {
  const char *term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term && *term && std::strcmp(term, "dumb") != 0 &&
         terminalSize().ws_row >= kFewestRows;
}

void ProgressLine::run() {
  const auto start = Clock::now();
  const auto unlessThereIsNoMemory = [](auto &&f) {
    try {
      f();
    } catch (const std::exception &) { // the line is not worth more than that
    }
  };
  const bool is_drawn = apart_.count() == 0;
  auto wait = is_drawn ? kFirst : apart_;
  while (!stopping_.try_acquire_for(wait)) {
    if (is_drawn) wait = kEvery;
    unlessThereIsNoMemory([&] {
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (is_drawn)
        draw(seconds);
      else
        writeStderr(text_(seconds) + '\n');
    });
  }
  unlessThereIsNoMemory([&] { erase(); });
}

// Everything happens in one write each, so that nothing comes in between. ESC 7 and ESC 8 keep the
// place where the application's output goes on.
void ProgressLine::draw(double seconds) {
  const winsize size = terminalSize();
  if (!isInForeground() || size.ws_row < kFewestRows || size.ws_col == 0) return erase();
  std::string out;
  if (rows_ != size.ws_row) {
    if (rows_ != 0) erase();
    rows_ = size.ws_row;
    keepEraseText(rows_);
    // One line down and up again: if the last line was in use, it is now the one before.
    out = fmt::format("\033D\0337\033[1;{}r\0338\033[1A", rows_ - 1);
  }
  std::string text = text_(seconds);
  if (text.size() >= size.ws_col) text.resize(size.ws_col - 1u);
  out += fmt::format("\0337\033[{};1H\033[K{}\0338", rows_, text);
  writeStderr(out);
}

void ProgressLine::erase() {
  if (rows_ == 0) return;
  erasing_size = 0;
  writeStderr(eraseText(rows_));
  rows_ = 0;
}

void ProgressLine::eraseNow() noexcept {
  if (const std::size_t size = erasing_size.exchange(0); size != 0)
    (void)!::write(STDERR_FILENO, erasing.data(), size);
}

void ProgressLine::eraseAtSignals() noexcept {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS}) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 ||
        now.sa_handler != SIG_DFL)
      continue;
    (void)signal(number, [](int got) {
      eraseNow();
      (void)signal(got, SIG_DFL);
      (void)raise(got);
    });
  }
}

std::string shortNumber(double number) {
  constexpr std::array<const char *, 5> units = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (number >= 999.5 && unit + 1 < units.size()) {
    number /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", number, unit != 0 && number < 99.95 ? 1 : 0, units[unit]);
}

} // namespace fade
