#include "doctor/supervised.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fade::doctor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostText = 256 << 10;

/// This process's environment with some variables set.
std::vector<std::string>
environmentWith(const std::vector<std::pair<std::string, std::string>> &variables) {
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

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  bool open() { return pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0; }
  void close(int which) {
    if (ends[static_cast<std::size_t>(which)] >= 0) ::close(ends[static_cast<std::size_t>(which)]);
    ends[static_cast<std::size_t>(which)] = -1;
  }
  ~Pipe() {
    close(0);
    close(1);
  }
};

/// What is there now. False at the end.
bool drain(Pipe &pipe, std::string &to) {
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t n = read(pipe.ends[0], buffer.data(), buffer.size());
    if (n > 0 && to.size() < kMostText)
      to.append(buffer.data(), std::min(static_cast<std::size_t>(n), kMostText - to.size()));
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    return n < 0 && errno == EAGAIN;
  }
}

/// Waits until the process has ended or it is too late. Programs that it started may hold the pipes
/// open: that is not waited for.
bool waitFor(pid_t child, int &status, Pipe &out, Pipe &err, SupervisedEnd &end,
             Clock::time_point deadline) {
  for (milliseconds pause(1);; pause = std::min(pause * 2, milliseconds(50))) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    const bool has_out = drain(out, end.out), has_err = drain(err, end.err);
    if (ended == child) return true;
    if (Clock::now() >= deadline) return false;
    std::array<pollfd, 2> ready{pollfd{has_out ? out.ends[0] : -1, POLLIN, 0},
                                pollfd{has_err ? err.ends[0] : -1, POLLIN, 0}};
    (void)poll(ready.data(), ready.size(), static_cast<int>(pause.count()));
  }
}

/// For a handler of signals; 0: none.
volatile sig_atomic_t running_child = 0;

} // namespace

void endSupervisedOnSignals() {
  struct sigaction action {};
  action.sa_handler = [](int number) {
    if (const pid_t child = running_child; child > 0) (void)kill(-child, SIGKILL);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
  };
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

SupervisedEnd runSupervised(const std::vector<std::string> &command,
                            const std::vector<std::pair<std::string, std::string>> &variables,
                            milliseconds timeout) {
  SupervisedEnd end;
  Pipe out, err;
  if (command.empty() || !out.open() || !err.open()) return end;
  // The child's ends block, as programs expect.
  for (const Pipe *pipe : {&out, &err}) (void)fcntl(pipe->ends[1], F_SETFL, 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const auto environment = environmentWith(variables);
  const auto begin = Clock::now();
  pid_t child = -1;
  const int error = posix_spawnp(&child, command[0].c_str(), &actions, &attributes,
                                 pointersTo(command).data(), pointersTo(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  out.close(1);
  err.close(1);
  if (error != 0) {
    end.err = std::strerror(error);
    return end;
  }
  end.started = true;
  running_child = child;
  int status = 0;
  if (!waitFor(child, status, out, err, end, begin + timeout)) {
    end.timed_out = true;
    (void)kill(-child, SIGKILL);
    // A process inside of a driver that does not answer cannot be killed.
    end.stuck = !waitFor(child, status, out, err, end, Clock::now() + std::chrono::seconds(3));
  } else {
    (void)kill(-child, SIGKILL); // what it has left behind
  }
  running_child = 0;
  end.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  return end;
}

} // namespace fade::doctor
