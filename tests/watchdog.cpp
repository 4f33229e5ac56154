// Ends a test program in which a test does not come to an end, and names that test: one that waits
// for something that a defect keeps from happening would otherwise wait for ever.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <unistd.h>

namespace {

constexpr long kSeconds = 600; // more than any test takes on a machine that does much else

std::string line;

/// Nothing here that a signal handler may not do.
void giveUp(int) {
  (void)!write(STDERR_FILENO, line.data(), line.size());
  signal(SIGABRT, SIG_DFL);
  abort();
}

class Watchdog : public testing::EmptyTestEventListener {
public:
  Watchdog() {
    if (const char *seconds = std::getenv("FADE_TEST_SECONDS")) seconds_ = std::atol(seconds);
    sigevent how{};
    how.sigev_notify = SIGEV_SIGNAL;
    how.sigev_signo = SIGRTMAX - 1; // of no use to any test
    signal(how.sigev_signo, giveUp);
    is_there_ = timer_create(CLOCK_MONOTONIC, &how, &timer_) == 0;
  }
  void OnTestStart(const testing::TestInfo &test) override {
    line = std::string(test.test_suite_name()) + "." + test.name() +
           " does not end: it has run for " + std::to_string(seconds_) + " seconds\n";
    set(seconds_);
  }
  void OnTestEnd(const testing::TestInfo &) override { set(0); }

private:
  void set(long seconds) {
    itimerspec when{};
    when.it_value.tv_sec = seconds;
    if (is_there_) timer_settime(timer_, 0, &when, nullptr);
  }

  timer_t timer_{};
  long seconds_ = kSeconds;
  bool is_there_ = false;
};

[[maybe_unused]] const bool is_watched =
    (testing::UnitTest::GetInstance()->listeners().Append(new Watchdog), true);

} // namespace
