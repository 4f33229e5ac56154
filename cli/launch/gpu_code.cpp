#include "launch/gpu_code.h"

#include "base/supervised.h"
#include "codeobj/finder.h"
#include "fade/gpu.h"
#include "launch/run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace fade::cli {
namespace {

bool fits(const codeobj::Target &code, std::string_view gpu) {
  const auto agent = codeobj::parseTarget(gpu);
  return !agent || codeobj::runsOn(code, *agent); // what is not known may fit
}

std::string listed(const std::set<std::string> &names) {
  std::string text;
  for (const std::string &name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The loader that a program asks for; empty for scripts and for programs that need none.
std::string loaderOf(const codeobj::ByteView &bytes) {
  const auto header = codeobj::read<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr))
    return "";
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = codeobj::read<Elf64_Phdr>(bytes, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return "";
    if (segment->p_type != PT_INTERP) continue;
    if (segment->p_offset > bytes.size() || segment->p_filesz > bytes.size() - segment->p_offset)
      return "";
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()) + segment->p_offset,
                                segment->p_filesz);
    return std::string(text.substr(0, text.find('\0')));
  }
  return "";
}

bool hasPrefix(const std::string &path, std::span<const std::string_view> prefixes) {
  const std::string name = std::filesystem::path(path).filename().string();
  return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

bool isOfGpu(const std::string &path) {
  constexpr std::array<std::string_view, 3> names = {"libamdhip64", "libhsa-runtime64",
                                                     "libOpenCL"};
  return hasPrefix(path, names);
}

/// Whether the file may load libraries, start programs or use the driver: whether the names for
/// that occur in it. Of libc and its like, which have them all, only callers matter.
bool mayDoMore(const std::string &path) {
  constexpr std::array<std::string_view, 8> harmless = {
      "libc.so.",       "libm.so.",  "libstdc++.so.", "libgcc_s.so.",
      "libpthread.so.", "libdl.so.", "librt.so.",     "ld-linux"};
  if (hasPrefix(path, harmless)) return false;
  constexpr std::array<std::string_view, 18> names = {
      "dlopen", "dlmopen", "execv",       "execve",       "execvp", "execvpe",
      "execl",  "execlp",  "execle",      "fexecve",      "fork",   "vfork",
      "popen",  "system",  "posix_spawn", "posix_spawnp", "clone",  "syscall"};
  constexpr std::size_t kMost = 64 << 20; // who has more can do more, most likely
  const auto file = codeobj::Blob::mapFile(path);
  if (!file || file->bytes().size() > kMost) return true;
  const auto has = [bytes = file->bytes()](std::string_view text) {
    return memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
  };
  return has("/dev/kfd") || std::ranges::any_of(names, [&](std::string_view name) {
           return has('\0' + std::string(name) + '\0');
         });
}

} // namespace

void checkCode(const std::string &program, const std::vector<std::string> &gpus) {
  if (gpus.empty()) return;
  std::set<std::string> processors, fitting;
  bool is_fine = false;
  codeobj::CodeHandler handler;
  handler.on_code = [&](const codeobj::FoundCode &found) {
    if (found.target.processor.empty()) return true;
    is_fine = std::ranges::any_of(gpus, [&](auto &gpu) { return fits(found.target, gpu); });
    processors.insert(found.target.processor);
    for (const GpuInfo &gpu : allGpus())
      if (gpu.is_emulated && fits(found.target, gpu.name)) fitting.insert(gpu.name);
    return !is_fine;
  };
  if (!codeobj::findCode(program, handler) || is_fine || processors.empty()) return;
  const std::set<std::string> here(gpus.begin(), gpus.end());
  std::string choice;
  for (const std::string &name : fitting) choice += (choice.empty() ? "--gpu " : " or ") + name;
  complain(fmt::format("{} has code for {}, but none for the GPU it runs on ({}): {}", program,
                       listed(processors), listed(here),
                       choice.empty() ? "no software GPU fits it" : choice + " would fit"));
}

std::string fittingGpu(const std::string &program) {
  constexpr const char *usual = "gfx90a";
  std::set<std::string> fitting;
  codeobj::CodeHandler handler;
  handler.on_code = [&](const codeobj::FoundCode &found) {
    for (const GpuInfo &gpu : allGpus())
      if (!found.target.processor.empty() && gpu.is_emulated && fits(found.target, gpu.name))
        fitting.insert(gpu.name);
    return !fitting.contains(usual);
  };
  if (!codeobj::findCode(program, handler) || fitting.empty()) return "";
  return fitting.contains(usual) ? usual : *fitting.begin();
}

bool cannotUseGpu(const std::string &program) {
  const auto file = codeobj::Blob::mapFile(program);
  if (!file) return false;
  const std::string loader = loaderOf(file->bytes());
  if (loader.empty()) return false;
  constexpr std::chrono::minutes patience(1);
  const SupervisedEnd list = runSupervised({loader, "--list", program}, {}, patience);
  if (!list.started || list.timed_out || list.signal != 0 || list.code != 0 ||
      list.out.size() == kMostSupervisedText)
    return false;
  std::vector<std::string> files = {program};
  //     libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f...)
  std::istringstream lines(list.out);
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find('/'), end = line.rfind(" (0x");
    if (at == line.npos && line.find("linux-vdso") != line.npos) continue;
    if (end != line.npos && line.find_first_not_of(" \t") > end) continue; // the program itself
    if (at == line.npos || end == line.npos || end < at) return false;
    files.push_back(line.substr(at, end - at));
  }
  return std::ranges::none_of(files, isOfGpu) && std::ranges::none_of(files, mayDoMore);
}

bool isSanitized(const std::string &program) {
  const auto file = program.empty() ? std::nullopt : std::optional(codeobj::Blob::mapFile(program));
  if (!file || !*file) return false;
  const std::string_view text = codeobj::asText((*file)->bytes());
  return text.find("libasan.so") != text.npos || text.find("libclang_rt.asan") != text.npos;
}

bool isPrivileged(const std::string &program) {
  struct stat status {};
  if (stat(program.c_str(), &status) != 0) return false;
  return ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
         ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid());
}

} // namespace fade::cli
