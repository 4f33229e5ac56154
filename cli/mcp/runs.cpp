#include "mcp/runs.h"

#include "base/write_file.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/wait.h>

namespace fade::mcp {
namespace {

constexpr std::size_t kMostRunning = 4; ///< at once; others wait
constexpr std::size_t kMostOut = 48 << 10, kMostErr = 12 << 10, kMostAnswer = 64 << 10;
constexpr std::chrono::seconds kGrace(3); ///< from asking to end to killing

/// At most so many bytes of a file that a command has written.
std::string beginOf(const std::string &path) {
  std::string text(kMostAnswer, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (text.size() == kMostAnswer) text += "\n[... the rest is in " + path + "]";
  return text;
}

} // namespace

Runs::Running::Running(uint64_t number, ToolRun to_run)
    : run(number), what(std::move(to_run)), out(kMostOut, kMostOut / 2), err(kMostErr, kMostErr) {}

void Runs::start(uint64_t run, ToolRun what) {
  if (running_.size() >= kMostRunning)
    waiting_.push_back({run, std::move(what)});
  else
    begin({run, std::move(what)});
}

void Runs::begin(Waiting next) {
  RunEnd end;
  std::error_code error;
  if (!next.what.directory.empty() && !std::filesystem::is_directory(next.what.directory, error))
    end.could_not = next.what.directory + ": no such directory";
  for (const auto &[path, contents] : next.what.input_files)
    if (!cli::writeFile(path, contents)) end.could_not = path + ": it cannot be written";
  if (end.could_not.empty()) {
    Running &running = running_.emplace_back(next.run, std::move(next.what));
    std::vector<std::string> words = {"/proc/self/exe"};
    words.insert(words.end(), running.what.words.begin(), running.what.words.end());
    const int problem = running.child.start(words, running.what.variables, running.what.directory);
    if (problem == 0) return;
    end.could_not = fmt::format("it cannot be run: {}", std::strerror(problem));
    running_.pop_back();
  }
  ended_(next.run, end);
}

void Runs::cancel(uint64_t run) {
  std::erase_if(waiting_, [&](const Waiting &each) { return each.run == run; });
  for (Running &running : running_)
    if (running.run == run) endGently(running);
}

void Runs::cancelAll() {
  waiting_.clear();
  for (Running &running : running_) endGently(running);
}

/// First so that it can end what it has started itself, then not.
void Runs::endGently(Running &running) {
  running.asked_to_end = Clock::now();
  running.child.kill(running.signals++ == 0 ? SIGTERM : SIGKILL);
}

void Runs::addOutputs(std::vector<pollfd> &to) const {
  for (const Running &running : running_)
    for (const int fd : running.child.outputs())
      if (fd >= 0) to.push_back({fd, POLLIN, 0});
}

RunEnd Runs::endOf(Running &running) {
  RunEnd end;
  const int status = running.child.status();
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  end.timed_out = running.timed_out;
  end.seconds = std::chrono::duration<double>(Clock::now() - running.began).count();
  end.out = running.out.text();
  end.err = running.err.text();
  if (!running.what.answer_file.empty()) end.answer = beginOf(running.what.answer_file);
  std::error_code error;
  for (const std::string &path : running.what.written)
    if (std::filesystem::exists(path, error)) end.written.push_back(path);
  return end;
}

void Runs::step() {
  for (auto at = running_.begin(); at != running_.end();) {
    Running &running = *at;
    const bool has_ended = running.child.hasEnded();
    running.child.drain([&](std::string_view text) { running.out.add(text); },
                        [&](std::string_view text) { running.err.add(text); });
    if (has_ended) {
      const uint64_t run = running.run;
      const RunEnd end = endOf(running);
      at = running_.erase(at);
      ended_(run, end);
      continue;
    }
    const auto now = Clock::now();
    if (running.signals == 0 && now >= running.began + running.what.timeout) {
      running.timed_out = true;
      endGently(running);
    } else if (running.signals > 0 && now >= running.asked_to_end + kGrace) {
      endGently(running);
    }
    if (now >= running.told + std::chrono::seconds(1)) {
      running.told = now;
      progress_(running.run, std::chrono::duration<double>(now - running.began).count(),
                running.err.lastLine());
    }
    ++at;
  }
  while (!waiting_.empty() && running_.size() < kMostRunning) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    begin(std::move(next));
  }
}

} // namespace fade::mcp
