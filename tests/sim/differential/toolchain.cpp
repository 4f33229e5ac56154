#include "toolchain.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace fade::sim::differential {
namespace {

// Runs clang; its messages become the error.
void run_clang(std::vector<std::string> arguments, const std::string &messages) {
  arguments.insert(arguments.begin(), FADE_CLANG);
  std::vector<char *> argv;
  for (std::string &a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child;
  const int failed = posix_spawn(&child, FADE_CLANG, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) throw std::runtime_error("cannot start " FADE_CLANG);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::ifstream in(messages);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.size() > 1500) text.resize(1500);
  throw CompileError(text);
}

std::vector<std::string> common_flags(const std::string &source) {
  return {
      "-std=gnu11",      "-w",       "-ffp-contract=off",       "-fwrapv", "-fno-strict-aliasing",
      "-fno-math-errno", "-include", FADE_DIFFERENTIAL_PRELUDE, source};
}

} // namespace

std::string Target::describe() const {
  return fmt::format("{} -O{} wave{}{}{}", arch, opt, wave, flat ? " flat" : "",
                     few_registers ? " few-registers" : "");
}

std::vector<Target> all_targets() {
  std::vector<Target> targets;
  for (const char *arch :
       {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx908"})
    for (int opt : {0, 1, 3}) {
      const Target t{arch, opt};
      if (!t.gfx9()) targets.push_back({arch, opt, 32});
      targets.push_back(t);
    }
  return targets;
}

WorkFolder::WorkFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "fade-differential-XXXXXX";
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make a folder like " + pattern);
  path_ = pattern;
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string compile_for_gpu(const WorkFolder &folder, const std::string &source_path,
                            const Target &target) {
  const std::string out =
      folder.file(fmt::format("{}-O{}-{}{}.hsaco", target.arch, target.opt, target.wave,
                              target.flat)); // one per target and folder
  std::vector<std::string> flags = common_flags(source_path);
  for (const std::string &f :
       {std::string("--target=amdgcn-amd-amdhsa"), "-mcpu=" + target.arch, std::string("-nogpulib"),
        fmt::format("-O{}", target.opt), std::string("-o"), out})
    flags.push_back(f);
  auto attribute = [&](const std::string &a) {
    for (const std::string &f :
         {std::string("-Xclang"), std::string("-default-function-attr"), std::string("-Xclang"), a})
      flags.push_back(f);
  };
  attribute("amdgpu-flat-work-group-size=1,256");
  if (target.few_registers) attribute("amdgpu-waves-per-eu=8,8");
  if (!target.gfx9())
    flags.push_back(target.wave == 64 ? "-mwavefrontsize64" : "-mno-wavefrontsize64");
  if (target.opt == 3)
    flags.push_back("-munsafe-fp-atomics"); // atomic additions of floats in memory
  if (target.flat) flags.push_back("-DFLAT_POINTERS");
  run_clang(flags, out + ".log");
  return out;
}

std::string compile_for_host(const WorkFolder &folder, const std::string &source_path,
                             const std::vector<std::string> &extra) {
  const std::string out = folder.file("host.so");
  std::vector<std::string> flags = common_flags(source_path);
  // Not optimized: it runs for milliseconds, and compiling is most of the time of a comparison.
  for (const char *f : {"-O0", "-shared", "-fPIC", "-o", out.c_str(), "-lm"}) flags.push_back(f);
  flags.insert(flags.end(), extra.begin(), extra.end());
  run_clang(flags, out + ".log");
  return out;
}

} // namespace fade::sim::differential
