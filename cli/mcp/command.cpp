#include "mcp/command.h"

#include "base/messages.h"
#include "base/temporary.h"
#include "mcp/runs.h"
#include "mcp/server.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

volatile sig_atomic_t mcp_signal = 0; ///< that wants this process to end
std::array<int, 2> mcp_wake{-1, -1};  ///< a pipe, so that a signal is noticed whenever it comes

void noteSignal(int number) {
  mcp_signal = number;
  const int error = errno;
  [[maybe_unused]] const ssize_t n = write(mcp_wake[1], "", 1);
  errno = error;
}

/// New paths in one folder, which is made when the first is wanted.
class OutputFolder {
public:
  explicit OutputFolder(std::string folder) : folder_(std::move(folder)) {}

  Result<std::string> fresh(const std::string &what) {
    if (folder_.empty()) {
      TemporaryFolder folder("fade-mcp");
      if (!folder.isThere())
        return Error::of(
            fmt::format("{}: {} (--output names another)", folder.path(), std::strerror(errno)));
      folder.keep();
      folder_ = folder.path();
    }
    for (;; ++last_) { // others may use the folder, too
      std::error_code error;
      const std::string path = fs::absolute(fmt::format("{}/{}-{}", folder_, what, last_), error);
      fs::create_directories(folder_, error);
      if (!error && fs::create_directory(path, error)) return path;
      if (error) return Error::of(fmt::format("{}: {}", path, error.message()));
    }
  }

private:
  std::string folder_;
  unsigned last_ = 1;
};

/// Reads stdin, writes stdout, and looks after what runs meanwhile.
class StdioHost : public mcp::Host {
public:
  explicit StdioHost(const McpOptions &options)
      : folder_(options.output),
        server_({FADE_VERSION,
                 options.only_reads,
                 mcp::docPages(),
                 {[this](const std::string &what) { return folder_.fresh(what); },
                  std::chrono::seconds(options.seconds)}},
                *this),
        runs_([this](uint64_t run, const mcp::RunEnd &end) { server_.ended(run, end); },
              [this](uint64_t run, double seconds, std::string_view line) {
                server_.tellProgress(run, seconds, line);
              }) {}

  void send(const mcp::Json &message) override {
    // A client that never reads would have everything kept for it.
    constexpr std::size_t most = 256 << 20;
    unsent_ += mcp::lineOf(message);
    if (unsent_.size() > most) is_nobody_there_ = true;
    flush();
  }
  void start(uint64_t run, mcp::ToolRun what) override { runs_.start(run, std::move(what)); }
  void cancel(uint64_t run) override { runs_.cancel(run); }

  void serve() {
    bool has_input = true;
    while ((has_input || runs_.areThereAny() || !unsent_.empty()) && !mustEnd()) {
      const short wants_room = unsent_.empty() ? 0 : POLLOUT;
      std::vector<pollfd> ready = {{has_input ? STDIN_FILENO : -1, POLLIN, 0},
                                   {STDOUT_FILENO, wants_room, 0}, // whether somebody reads it
                                   {mcp_wake[0], POLLIN, 0}};
      runs_.addOutputs(ready);
      (void)poll(ready.data(), ready.size(), runs_.areThereAny() ? 50 : -1);
      if (has_input && ready[0].revents != 0) has_input = read();
      if ((ready[1].revents & POLLERR) != 0) is_nobody_there_ = true;
      flush();
      runs_.step();
    }
    endAll();
  }

private:
  bool mustEnd() const { return is_nobody_there_ || mcp_signal != 0; }

  /// As much as there is room for: whoever does not read must not keep this process from ending
  /// what takes too long. A pipe that has room has it for PIPE_BUF bytes.
  void flush() {
    std::size_t done = 0;
    while (done < unsent_.size() && !is_nobody_there_) {
      pollfd out{STDOUT_FILENO, POLLOUT, 0};
      if (poll(&out, 1, 0) <= 0 || (out.revents & POLLOUT) == 0) break;
      const std::size_t size = std::min<std::size_t>(unsent_.size() - done, PIPE_BUF);
      const ssize_t n = write(STDOUT_FILENO, unsent_.data() + done, size);
      if (n >= 0)
        done += static_cast<std::size_t>(n);
      else if (errno == EAGAIN)
        break;
      else if (errno != EINTR || mcp_signal != 0)
        is_nobody_there_ = true;
    }
    unsent_.erase(0, done);
  }

  /// What is there. False at the end.
  bool read() {
    std::array<char, 65536> buffer;
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    take(n > 0 ? lines_.add({buffer.data(), static_cast<std::size_t>(n)}) : lines_.end());
    return n > 0;
  }
  void take(const std::vector<mcp::LineSplitter::Line> &lines) {
    for (const auto &line : lines)
      if (line.is_too_long)
        server_.receiveTooLong();
      else
        server_.receive(line.text);
  }

  /// Nothing that was started for a client survives it.
  void endAll() {
    is_nobody_there_ = true;
    runs_.cancelAll();
    while (runs_.areThereAny()) {
      std::vector<pollfd> ready;
      runs_.addOutputs(ready);
      (void)poll(ready.data(), ready.size(), 50);
      runs_.step();
    }
  }

  bool is_nobody_there_ = false;
  std::string unsent_; ///< for stdout
  OutputFolder folder_;
  mcp::LineSplitter lines_;
  mcp::Server server_;
  mcp::Runs runs_;
};

} // namespace

CLI::App *addMcpCommand(CLI::App &app, McpOptions &options) {
  CLI::App *command =
      app.add_subcommand("mcp", "serve the Model Context Protocol on stdin and stdout, for agents");
  command
      ->add_option("-o,--output", options.output,
                   "folder for captures, profiles and other results (default: a new one in the "
                   "system's folder for temporary files)")
      ->type_name("DIR");
  command
      ->add_option("--timeout", options.seconds,
                   "time limit of a tool in seconds if the client gives none (default: 600)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1u, 86400u));
  command->add_flag("--read-only", options.only_reads,
                    "offer only tools that read files; none of them runs a program");
  return command;
}

int runMcp(const McpOptions &options) {
  (void)signal(SIGPIPE, SIG_IGN);
  if (pipe2(mcp_wake.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    complain(fmt::format("mcp: {}", std::strerror(errno)));
    return 1;
  }
  struct sigaction action {};
  action.sa_handler = noteSignal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  StdioHost(options).serve();
  if (const int number = mcp_signal; number != 0) {
    (void)signal(number, SIG_DFL);
    (void)raise(number);
  }
  return 0;
}

} // namespace fade::cli
