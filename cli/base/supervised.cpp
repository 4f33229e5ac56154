#include "base/supervised.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fade::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// This process's environment with some variables set.
std::vector<std::string> environmentWith(const Variables &variables) {
  std::vector<std::string> all;
  for (char **at = environ; at && *at; ++at) {
    const std::string_view pair = *at;
    const auto name = pair.substr(0, pair.find('='));
    if (std::ranges::none_of(variables, [&](const auto &one) { return one.first == name; }))
      all.emplace_back(pair);
  }
  for (auto at = variables.begin(); at != variables.end(); ++at) // the last one counts
    if (!at->second.empty() && std::none_of(at + 1, variables.end(), [&](const auto &one) {
          return one.first == at->first;
        }))
      all.push_back(at->first + "=" + at->second);
  return all;
}

std::vector<char *> pointersTo(const std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (const std::string &text : texts) pointers.push_back(const_cast<char *>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// What is there now. False at the end.
bool drainPipe(int fd, const SupervisedChild::Sink &to) {
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n > 0) to({buffer.data(), static_cast<std::size_t>(n)});
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    return n < 0 && errno == EAGAIN;
  }
}

/// Those that run, for a handler of signals; 0: none. More than these are not ended by signals.
std::array<volatile sig_atomic_t, 16> running_children{};
/// The signal after which nothing more is started, or 0.
volatile sig_atomic_t stopped_by = 0;

void noteRunning(pid_t was, pid_t is) {
  const auto at = std::ranges::find(running_children, static_cast<sig_atomic_t>(was));
  if (at != running_children.end()) *at = static_cast<sig_atomic_t>(is);
}

/// As long as it lives, this thread is not interrupted by the signals that end what is supervised:
/// a child that has begun is known before they are looked at.
class SignalsWait {
public:
  SignalsWait() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, number);
    pthread_sigmask(SIG_BLOCK, &ending, &usual_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &usual_, nullptr); }
  SignalsWait(const SignalsWait &) = delete;
  SignalsWait &operator=(const SignalsWait &) = delete;
  /// What was blocked before.
  const sigset_t &usual() const { return usual_; }

private:
  sigset_t usual_{};
};

/// Starts it with these for stdout and stderr. An errno, or 0.
int spawn(pid_t &child, const std::vector<std::string> &command, const Variables &variables,
          const std::string &directory, int out, int err, const sigset_t &blocked) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  if (!directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE); // whoever starts it may ignore it
  posix_spawnattr_setsigdefault(&attributes, &usual);
  const auto environment = environmentWith(variables);
  const int error = posix_spawnp(&child, command[0].c_str(), &actions, &attributes,
                                 pointersTo(command).data(), pointersTo(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

/// Waits until the process has ended or it is too late. Programs that it started may hold the pipes
/// open: that is not waited for.
bool waitFor(SupervisedChild &child, SupervisedEnd &end, Clock::time_point deadline,
             const SupervisedChild::Sink &on_output) {
  const auto keep = [](std::string &to, const SupervisedChild::Sink &tell) {
    return [&to, &tell](std::string_view text) {
      to.append(text.substr(0, kMostSupervisedText - std::min(kMostSupervisedText, to.size())));
      if (tell) tell(text);
    };
  };
  const SupervisedChild::Sink nobody;
  for (milliseconds pause(1);; pause = std::min(pause * 2, milliseconds(50))) {
    const bool has_ended = child.hasEnded();
    child.drain(keep(end.out, on_output), keep(end.err, nobody));
    if (has_ended) return true;
    if (Clock::now() >= deadline) return false;
    std::array<pollfd, 2> ready{pollfd{child.outputs()[0], POLLIN, 0},
                                pollfd{child.outputs()[1], POLLIN, 0}};
    (void)poll(ready.data(), ready.size(), static_cast<int>(pause.count()));
  }
}

} // namespace

SupervisedChild::~SupervisedChild() {
  if (pid_ > 0 && !has_ended_) {
    kill(SIGKILL);
    noteRunning(pid_, 0);
  }
  close(0);
  close(1);
}

void SupervisedChild::close(std::size_t which) {
  if (pipes_[which] >= 0) ::close(pipes_[which]);
  pipes_[which] = -1;
}

int SupervisedChild::start(const std::vector<std::string> &command, const Variables &variables,
                           const std::string &directory) {
  std::array<int, 2> write_ends{-1, -1};
  int error = command.empty() ? EINVAL : 0;
  for (std::size_t i = 0; i < 2 && error == 0; ++i) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      error = errno;
      break;
    }
    pipes_[i] = ends[0];
    write_ends[i] = ends[1];
    (void)fcntl(ends[1], F_SETFL, 0); // the child's ends block, as programs expect
  }
  const SignalsWait wait;
  if (error == 0)
    error = spawn(pid_, command, variables, directory, write_ends[0], write_ends[1], wait.usual());
  for (const int fd : write_ends)
    if (fd >= 0) ::close(fd);
  if (error != 0) {
    pid_ = -1;
    return error;
  }
  noteRunning(0, pid_);
  return 0;
}

void SupervisedChild::drain(const Sink &out, const Sink &err) {
  if (pipes_[0] >= 0 && !drainPipe(pipes_[0], out)) close(0);
  if (pipes_[1] >= 0 && !drainPipe(pipes_[1], err)) close(1);
}

bool SupervisedChild::hasEnded() {
  if (pid_ <= 0 || has_ended_) return true;
  const pid_t ended = waitpid(pid_, &status_, WNOHANG);
  // With SIGCHLD ignored nobody is told how it ended, but that it has.
  if (ended != pid_ && !(ended < 0 && errno == ECHILD)) return false;
  has_ended_ = true;
  kill(SIGKILL); // what it has left behind
  noteRunning(pid_, 0);
  return true;
}

void SupervisedChild::kill(int signal) const {
  if (pid_ > 0) (void)::kill(-pid_, signal);
}

std::string lastWords(const SupervisedEnd &end) {
  if (end.timed_out) return fmt::format("it did not end within {:.0f} s", end.seconds);
  std::string text = end.err;
  while (text.ends_with('\n')) text.pop_back();
  text = text.substr(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  if (text.starts_with("fadeprobe: ")) text.erase(0, 11);
  if (!text.empty()) return text;
  return end.signal != 0 ? fmt::format("signal {}", end.signal)
                         : fmt::format("exit code {}", end.code);
}

void endSupervisedOnSignals() {
  struct sigaction action {};
  action.sa_handler = [](int number) {
    for (const volatile sig_atomic_t &child : running_children)
      if (child > 0) (void)::kill(-static_cast<pid_t>(child), SIGKILL);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
  };
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

void stopSupervisedOnSignals() {
  struct sigaction action {};
  action.sa_handler = [](int number) {
    if (stopped_by != 0) { // once more: at once
      (void)signal(number, SIG_DFL);
      (void)raise(number);
    }
    stopped_by = number;
    for (const volatile sig_atomic_t &child : running_children)
      if (child > 0) (void)::kill(-static_cast<pid_t>(child), SIGKILL);
  };
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

int supervisedStoppedBy() { return stopped_by; }

SupervisedEnd runSupervised(const std::vector<std::string> &command, const Variables &variables,
                            milliseconds timeout, const SupervisedChild::Sink &on_output) {
  SupervisedEnd end;
  if (stopped_by != 0) {
    end.err = "interrupted";
    return end;
  }
  SupervisedChild child;
  const auto begin = Clock::now();
  if (const int error = child.start(command, variables, ""); error != 0) {
    end.err = std::strerror(error);
    return end;
  }
  end.started = true;
  if (!waitFor(child, end, begin + timeout, on_output)) {
    end.timed_out = true;
    child.kill(SIGKILL);
    // A process inside of a driver that does not answer cannot be killed.
    end.stuck = !waitFor(child, end, Clock::now() + std::chrono::seconds(3), on_output);
  }
  end.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (WIFSIGNALED(child.status())) end.signal = WTERMSIG(child.status());
  if (WIFEXITED(child.status())) end.code = WEXITSTATUS(child.status());
  return end;
}

} // namespace fade::cli
