#include "base/child.h"

#include "base/write_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fade::cli {
namespace {

/// Whether this program was started with ends of children ignored.
bool ignores_children = false;

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

sigset_t watchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kPassedOn) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

/// A process of this one's group that does nothing but tell which signals it gets: those that were
/// sent to the group, as `timeout` and batch systems do, have reached the child as well. To hand
/// them on would be once more, which many programs take as "at once": mpirun then leaves its ranks
/// behind.
class GroupWitness {
public:
  using Clock = std::chrono::steady_clock;
  explicit GroupWitness(const sigset_t &watched) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
    pid_ = fork();
    if (pid_ == 0) tell(ends[1], watched);
    close(ends[1]);
    heard_ = ends[0];
  }
  ~GroupWitness() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    if (heard_ >= 0) close(heard_);
  }
  GroupWitness(const GroupWitness &) = delete;
  GroupWitness &operator=(const GroupWitness &) = delete;

  /// Whether the group got this signal, a moment ago or in a moment: `timeout` tells its child
  /// first, then the group.
  bool hasSeen(int signal) {
    constexpr auto before = std::chrono::milliseconds(500);
    constexpr auto after = std::chrono::milliseconds(20);
    const auto now = Clock::now();
    for (auto left = after; pid_ > 0; left = std::chrono::milliseconds(0)) {
      unsigned char number = 0;
      while (::read(heard_, &number, 1) == 1)
        if (number < seen_.size()) seen_[number] = now;
      if (seen_[static_cast<std::size_t>(signal)] + before > now) return true;
      if (left.count() == 0) return false;
      pollfd ready{heard_, POLLIN, 0};
      (void)poll(&ready, 1, static_cast<int>(left.count()));
    }
    return false;
  }

private:
  [[noreturn]] static void tell(int to, const sigset_t &watched) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(to, STDIN_FILENO);
    close_range(STDIN_FILENO + 1, ~0U, 0); // nobody waits for the end of a pipe that it holds
    for (;;) {
      const int signal = sigwaitinfo(&watched, nullptr);
      const auto number = static_cast<unsigned char>(signal);
      if (signal > 0 && signal != SIGCHLD && write(STDIN_FILENO, &number, 1) != 1 &&
          errno != EAGAIN)
        _exit(0);
    }
  }

  pid_t pid_ = -1;
  int heard_ = -1;
  std::array<Clock::time_point, 64> seen_{};
};

/// Ends a child that takes too long: gently, so that libfade can say what it was doing, then not.
class Deadline {
public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(double seconds)
      : is_set_(seconds > 0),
        at_(Clock::now() +
            std::chrono::milliseconds(static_cast<int64_t>(std::min(seconds, 1e6) * 1000))) {}
  bool hasPassed() const { return passed_ > 0; }
  void check(pid_t child) {
    if (!is_set_ || Clock::now() < at_) return;
    kill(child, passed_++ == 0 ? SIGTERM : SIGKILL);
    at_ = Clock::now() + std::chrono::seconds(45);
  }

private:
  bool is_set_;
  Clock::time_point at_;
  int passed_ = 0;
};

/// Waits for the end of the child and meanwhile hands signals on to it.
ChildEnd wait_for(pid_t child, GroupWitness &witness, const sigset_t &watched, double seconds) {
  constexpr timespec a_moment{0, 50'000'000};
  Deadline deadline(seconds);
  int told = 0;
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    // Nobody knows how, but it has ended: something in this process has asked not to be told.
    if (ended < 0 && errno == ECHILD) return {0, 0, 0, deadline.hasPassed(), told};
    if (ended == child)
      return WIFSIGNALED(status)
                 ? ChildEnd{128 + WTERMSIG(status), WTERMSIG(status), 0, deadline.hasPassed(), told}
                 : ChildEnd{WEXITSTATUS(status), 0, 0, deadline.hasPassed(), told};
    deadline.check(child);
    siginfo_t info{};
    const int signal =
        seconds > 0 ? sigtimedwait(&watched, &info, &a_moment) : sigwaitinfo(&watched, &info);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) told = signal;
    if (signal <= 0 || signal == SIGCHLD) continue;
    // What comes from the terminal goes to the whole group, the child included.
    const bool has_it =
        info.si_code == SI_KERNEL || (getpgid(child) == getpgrp() && witness.hasSeen(signal));
    if (!has_it) kill(child, signal);
  }
}

/// In the child. Where the file cannot be made, what it writes is lost.
void writeTo(const char *file) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int made = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  dup2(nothing, STDIN_FILENO);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(made >= 0 ? made : nothing, fd);
}

} // namespace

ChildEnd runChild(const std::vector<std::string> &command, double seconds,
                  const std::string &output) {
  std::vector<char *> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string &word : command) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  int ready[2]; // closed by a successful exec, else it carries errno
  if (pipe2(ready, O_CLOEXEC) != 0) return {126, 0, errno, false, 0};
  const sigset_t watched = watchedSignals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  const pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    giveBackSignals();
    if (!output.empty()) writeTo(output.c_str());
    execvp(arguments[0], arguments.data());
    const int error = errno;
    [[maybe_unused]] const auto ignored = write(ready[1], &error, sizeof error);
    _exit(127);
  }
  int error = child < 0 ? errno : 0;
  close(ready[1]);
  if (child > 0) {
    ssize_t got;
    do got = ::read(ready[0], &error, sizeof error);
    while (got < 0 && errno == EINTR);
  }
  close(ready[0]);
  ChildEnd end;
  if (child > 0) {
    GroupWitness witness(watched); // behind the application, the first child of this process
    end = wait_for(child, witness, watched, seconds);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return {error == ENOENT ? 127 : 126, 0, error, false, 0}; // as a shell says it
  return end;
}

void keepChildEnds() { ignores_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN; }

void giveBackSignals() {
  if (ignores_children) signal(SIGCHLD, SIG_IGN);
}

void endLike(const ChildEnd &end) {
  std::fflush(nullptr);
  removePrivateFolder();
  if (end.signal != 0) {
    // The child has left a core if one was wanted.
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(end.signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, end.signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(end.signal);
  }
  std::exit(end.exit_code);
}

} // namespace fade::cli
