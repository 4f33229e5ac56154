// A line at the bottom of the terminal that says how far things are, while they take long; where
// there is no terminal, a line of text once a minute.
//
// The rest of the terminal scrolls above it, so that what the application and FADE print in the
// meantime stays as they print it.
#pragma once

#include <chrono>
#include <functional>
#include <semaphore>
#include <string>
#include <thread>

namespace fade {

class ProgressLine {
public:
  /// What the line says after so many seconds. Called on a thread of its own, twice a second, from
  /// the second second on.
  using Text = std::function<std::string(double seconds)>;

  explicit ProgressLine(Text text);
  /// Where it cannot be drawn (isPossible): as ordinary lines on stderr, so far apart.
  ProgressLine(Text text, std::chrono::milliseconds apart);
  static constexpr std::chrono::milliseconds kApart{60'000};
  /// Takes the line away.
  ~ProgressLine() { stop(); }
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;
  void stop() noexcept;

  /// Whether stderr is a terminal that such a line can be drawn on.
  static bool isPossible() noexcept;

  /// For programs of FADE's own: from now on a signal that ends the process (Ctrl-C) leaves the
  /// terminal as it was. What somebody else handles or ignores stays so.
  static void eraseAtSignals() noexcept;
  /// Before _exit().
  static void eraseNow() noexcept;

private:
  void run();
  void draw(double seconds);
  void erase();

  Text text_;
  const std::chrono::milliseconds apart_{0}; ///< of ordinary lines; 0: it is drawn
  unsigned rows_ = 0; ///< of the terminal when the line was drawn; 0: it is not there
  std::binary_semaphore stopping_{0};
  std::thread thread_;
};

/// 1234567 as "1.2 M", 999 as "999".
std::string shortNumber(double number);

} // namespace fade
