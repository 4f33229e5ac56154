#include "launch/preflight.h"

#include "base/diagnostics.h"
#include "base/settings.h"
#include "base/write_file.h"
#include "host_trace/trace_formats.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

// An analyzer may end the process, with any code: this is not said then.
constexpr std::string_view kAllWell("\0", 1);

void sayTo(void *context, const char *line) {
  (void)writeAll(*static_cast<int *>(context), std::string(line) + '\n');
}

/// In a process of its own: makes the analyzers. Never returns.
[[noreturn]] void tryAnalyzers(const std::string &libfade, const Variables &variables, int to) {
  // What analyzers have to say of themselves they will say in the application.
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) (void)dup2(nowhere, fd);
  for (const auto &[name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  void *library = dlopen(libfade.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *error = dlerror();
    sayTo(&to, error ? error : "libfade.so cannot be loaded");
    _exit(kUsageError);
  }
  using Say = void (*)(void *, const char *);
  using Check = int (*)(Say, void *);
  const auto check = reinterpret_cast<Check>(dlsym(library, "fade_check_settings"));
  if (!check) {
    sayTo(&to, fmt::format("{} is a different version of FADE", libfade).c_str());
    _exit(kUsageError);
  }
  const int code = check(sayTo, &to);
  if (code == 0) (void)writeAll(to, kAllWell);
  _exit(code);
}

/// All that comes out of a pipe.
std::string readAll(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; (n = read(fd, buffer.data(), buffer.size())) != 0;) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

} // namespace

bool canWrite(const std::string &what, const std::string &path) {
  if (isStdout(path)) {
    complain(fmt::format("{}this cannot be written to stdout (-); name a file", what));
    return false;
  }
  struct stat status {};
  const bool was_there = stat(path.c_str(), &status) == 0;
  // Opening a pipe would wait for its reader, or be taken for the writer by it.
  if (was_there && S_ISFIFO(status.st_mode)) return true;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
  if (fd < 0) {
    complain(fmt::format("{}cannot write {}: {}", what, path, std::strerror(errno)));
    return false;
  }
  close(fd);
  if (!was_there) (void)unlink(host_trace::behindLinks(path).c_str()); // a link stays
  return true;
}

bool canWriteText(const std::string &what, const std::string &path) {
  return isStdout(path) || canWrite(what, path);
}

bool checkFiles(const Settings &settings) {
  for (const HandlerChoice &handler : settings.handlers)
    if (handler.name.find('/') != std::string::npos && !fs::exists(handler.name)) {
      complain(fmt::format("--analyzers: no such file: {}", handler.name));
      return false;
    }
  for (const std::string &directory : settings.cache)
    if (!fs::is_directory(directory)) {
      complain(fmt::format("--cache-location: no such directory: {}", directory));
      return false;
    }
  return true;
}

bool checkAnalyzers(const std::string &libfade, const Variables &variables) {
  if (valueOf(variables, "FADE_HANDLERS").empty()) return true;
  std::fflush(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return true; // libfade will say what is wrong
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    tryAnalyzers(libfade, variables, ends[1]);
  }
  close(ends[1]);
  const std::string complaints = readAll(ends[0]);
  close(ends[0]);
  if (child < 0) return true;
  int status = 0;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  if (complaints == kAllWell) return true;
  for (std::string_view rest = complaints; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    complain(fmt::format("--analyzers: {}", rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (complaints.empty()) {
    const char *signal = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : nullptr;
    complain(fmt::format("--analyzers: {} end the process when they are loaded{}",
                         valueOf(variables, "FADE_HANDLERS"),
                         signal ? fmt::format(" (SIG{})", signal) : ""));
  }
  return false;
}

} // namespace fade::cli
