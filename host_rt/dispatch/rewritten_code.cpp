#include "dispatch/rewritten_code.h"

#include "base/detached_process.h"
#include "base/diagnostics.h"
#include "base/fnv1a.h"
#include "base/instrument_modes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace fade {
namespace {

namespace fs = std::filesystem;

/// The last line of an answer that is whole.
constexpr std::string_view kEnd = "done\n";
constexpr std::size_t kLongestAnswer = 64 << 20;

/// Code object, chosen kernels and program: another version of it may answer otherwise.
std::string keyOf(codeobj::ByteView code, const std::string &program, const std::string &kernels) {
  struct stat status {};
  (void)stat(program.c_str(), &status);
  const std::string version = fmt::format("{}.{}.{}{}", status.st_size, status.st_mtim.tv_sec,
                                          status.st_mtim.tv_nsec, kernels);
  return fmt::format("{:016x}-{:x}", fnv1a(codeobj::asText(code), fnv1a(version)), code.size());
}

bool writeFile(const std::string &path, codeobj::ByteView bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  return static_cast<bool>(file);
}

/// What follows the reasons: which object they belong to. Files that were damaged or removed since
/// do not fit together.
std::string sealOf(codeobj::ByteView object, std::string_view reasons) {
  return fmt::format("{:016x}\n", fnv1a(codeobj::asText(object), fnv1a(reasons)));
}

constexpr std::size_t kSealLength = 17;

/// Of files that nobody else writes: also no process with the same number, in another container or
/// on another machine that shares the folder.
std::string ownSuffix() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

} // namespace

Result<std::string> rewrittenFolder() {
  std::string base;
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    base = cache;
  else if (const char *home = std::getenv("HOME"); home && *home == '/')
    base = std::string(home) + "/.cache";
  else
    return Error::of("neither XDG_CACHE_HOME nor HOME is set");
  const std::string folder = base + "/fade/rewritten";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || access(folder.c_str(), W_OK) != 0)
    return Error::of(fmt::format("cannot write to {}", folder));
  return folder;
}

Result<RewrittenCode::Answer> RewrittenCode::ask(const std::string &what, const std::string &input,
                                                 const std::string &output) const {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error::of(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  pid_t pid = 0;
  std::vector<std::string> words = {program_, what, "--object", input, output};
  if (!kernels_.empty()) words.push_back(kernels_);
  const int error = startDetached({std::move(words), ends[1], STDOUT_FILENO}, pid);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return Error::of(fmt::format("cannot run {}: {}", program_, std::strerror(error)));
  }
  auto deadline = std::chrono::steady_clock::now() + patience_;
  Answer answer;
  std::string problem;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd wait{ends[0], POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    std::array<char, 4096> part{};
    const ssize_t n = ready > 0 ? read(ends[0], part.data(), part.size()) : -1;
    if (n < 0 && ready > 0 && errno == EINTR) continue;
    if (n > 0) {
      answer.text.append(part.data(), static_cast<std::size_t>(n));
      deadline = std::chrono::steady_clock::now() + patience_; // it goes on
    }
    if (n == 0) break;
    if (n < 0 || answer.text.size() > kLongestAnswer) {
      // Its end of the pipe is open, so that it lives, and the number is still its own.
      kill(pid, SIGKILL);
      problem = fmt::format("fade-rewrite made no progress for {} s",
                            std::chrono::duration_cast<std::chrono::seconds>(patience_).count());
      break;
    }
  }
  ::close(ends[0]);
  if (!problem.empty()) return Error::of(problem);
  answer.is_complete = answer.text.ends_with(kEnd);
  if (answer.is_complete) answer.text.resize(answer.text.size() - kEnd.size());
  return answer;
}

void RewrittenCode::note(std::string_view reasons) {
  const std::lock_guard lock(mutex_);
  std::string_view rest = reasons;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const auto tab = line.find('\t'); tab != line.npos)
      refusals_[std::string(line.substr(0, tab))] = line.substr(tab + 1);
  }
}

std::optional<std::string> RewrittenCode::refusal(const std::string &kernel) const {
  const std::lock_guard lock(mutex_);
  const auto at = refusals_.find(kernel);
  return at == refusals_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<codeobj::Blob> RewrittenCode::known(const std::string &object,
                                                  const std::string &reasons) {
  const auto file = codeobj::Blob::readFile(reasons);
  if (!file || file->bytes().size() < kSealLength) return std::nullopt;
  codeobj::Blob made;
  if (access(object.c_str(), F_OK) == 0) {
    auto read = codeobj::Blob::readFile(object);
    if (!read) return std::nullopt;
    made = *std::move(read);
  }
  const std::string_view text = codeobj::asText(file->bytes());
  const std::string_view answer = text.substr(0, text.size() - kSealLength);
  if (text.substr(answer.size()) != sealOf(made.bytes(), answer)) return std::nullopt;
  note(answer);
  return made;
}

Result<codeobj::Blob> RewrittenCode::of(codeobj::ByteView code, const std::string &name,
                                        uint32_t modes) {
  const auto folder = rewrittenFolder();
  if (!folder) return folder.error();
  const std::string what = rewriteModesText(modes);
  std::string suffix = what;
  std::ranges::replace(suffix, ';', '+');
  const std::string base =
      fmt::format("{}/{}-{}", *folder, keyOf(code, program_, kernels_), suffix);
  const std::string object = base + ".hsaco", reasons = base + ".refused";
  if (auto made = known(object, reasons)) return *std::move(made);
  const std::string own = fmt::format("{}.{}", base, ownSuffix());
  const std::string input = own + ".in", output = own + ".out", part = own + ".part";
  if (!writeFile(input, code)) {
    unlink(input.c_str());
    return Error::of("cannot write " + input);
  }
  const auto answer = ask(what, input, output);
  unlink(input.c_str());
  const bool is_made = access(output.c_str(), F_OK) == 0;
  if (!answer || !answer->is_complete) {
    unlink(output.c_str());
    return answer ? Error::of(fmt::format("fade-rewrite failed for {}", name)) : answer.error();
  }
  note(answer->text);
  codeobj::Blob made;
  if (!is_made) {
    unlink(object.c_str()); // a damaged one
  } else {
    if (rename(output.c_str(), object.c_str()) != 0) {
      unlink(output.c_str());
      return Error::of("cannot write " + object);
    }
    auto read = codeobj::Blob::readFile(object);
    if (!read) return read;
    made = *std::move(read);
  }
  if (!writeFile(part, codeobj::asBytes(answer->text + sealOf(made.bytes(), answer->text))) ||
      rename(part.c_str(), reasons.c_str()) != 0)
    unlink(part.c_str());
  return made;
}

} // namespace fade
