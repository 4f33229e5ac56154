// fade-rewrite WHAT INPUT FOLDER [KERNELS]   each code object of a file, into the folder; what was
//                                            done on stdout. KERNELS is a regular expression.
// fade-rewrite WHAT --object INPUT OUTPUT [KERNELS]
//                                            one code object, for libfade.so. INPUT is removed when
//                                            it was read; on stdout a line for
//                                            each kernel that is left alone (name, tab, reason),
//                                            then "done"; before, an empty line now and then
//
// WHAT is one or several of summary, accesses, blocks, counts and times: counts;accesses.
// Exit code: 0 something was written, 1 nothing was, 2 it could not be done.
#include "rewrite/rewrite.h"

#include "base/instrument_modes.h"
#include "base/kernel_expression.h"
#include "codeobj/demangle.h"
#include "codeobj/finder.h"
#include "fade/clone.h"
#include "fade/sites.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <map>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using fade::rewrite::KernelOutcome;
using fade::rewrite::Rewritten;

constexpr int kWritten = 0, kNothing = 1, kFailed = 2;

int fail(const std::string &message) {
  fmt::print(stderr, "fade: rewrite: {}\n", message);
  return kFailed;
}

fade::Status writeFile(const fs::path &path, const std::vector<uint8_t> &bytes) {
  // Somebody may be waiting for it: it is there when it is whole.
  const fs::path part = fmt::format("{}.{}.part", path.string(), getpid());
  std::ofstream file(part, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code error(errno, std::generic_category());
  if (file) fs::rename(part, path, error);
  if (file && !error) return fade::Done{};
  unlink(part.c_str());
  return fade::Error::of(fmt::format("cannot write {}: {}", path.string(), error.message()));
}

/// What files made of this one are called after: `libfoo.member` for libfoo.a(member.o).
std::string stemOf(const std::string &file) {
  const std::size_t member = file.ends_with(')') ? file.rfind('(') : std::string::npos;
  if (member == std::string::npos) return fs::path(file).stem().string();
  const fs::path name = file.substr(member + 1, file.size() - member - 2);
  return fmt::format("{}.{}", fs::path(file.substr(0, member)).stem().string(),
                     name.stem().string());
}

/// Kernels that are no twins.
bool isOriginal(const std::string &name) { return !name.starts_with(FADE_CLONE_PREFIX); }

void say(uint32_t modes, const KernelOutcome &kernel) {
  const std::string name = fade::codeobj::demangle(kernel.name);
  if (!kernel.refusal.empty()) {
    fmt::print("  {}: not rewritten: {}\n", name, kernel.refusal);
    return;
  }
  std::string what;
  if ((modes & FADE_MODE_ACCESSES) != 0) what += fmt::format("{} accesses, ", kernel.sites);
  const bool counts_only = (modes & ~FADE_MODE_TIMES) == FADE_MODE_COUNTS;
  if (counts_only) what += fmt::format("{} block counters, ", kernel.counters);
  if (!counts_only && kernel.blocks != 0) what += fmt::format("{} blocks, ", kernel.blocks);
  if (kernel.scratch != 0) what += fmt::format("{} more bytes of scratch, ", kernel.scratch);
  fmt::print("  {}: {}{} more SGPRs, {} more VGPRs, code {} -> {} bytes\n", name, what,
             kernel.registers, kernel.vector_registers, kernel.code_before, kernel.code_after);
}

using Wants = std::function<bool(const std::string &kernel)>;

fade::Result<Wants> chosen(const std::string &kernels) {
  auto expression = fade::readExpression(kernels);
  if (!expression) return std::move(expression).error();
  return Wants([kernels, expression = *std::move(expression)](const std::string &name) {
    return isOriginal(name) && (kernels.empty() || expression.isIn(name) ||
                                expression.isIn(fade::codeobj::demangle(name)));
  });
}

int rewriteOne(uint32_t what, const std::string &input, const std::string &output,
               const std::string &kernels) {
  auto blob = fade::codeobj::Blob::readFile(input);
  unlink(input.c_str()); // also if who has written it is not there any more
  if (!blob) return fail(blob.error().message());
  auto object = fade::codeobj::CodeObject::open(*std::move(blob));
  if (!object) return fail(object.error().message());
  // Who waits sees that it goes on.
  const auto on_progress = [] {
    std::fputc('\n', stdout);
    std::fflush(stdout);
  };
  const auto wants = chosen(kernels);
  if (!wants) return fail(wants.error().message());
  const auto result = fade::rewrite::rewriteObject(*object, what, *wants, on_progress);
  if (!result) return fail(result.error().message());
  for (const KernelOutcome &kernel : result->kernels)
    if (!kernel.refusal.empty()) fmt::print("{}\t{}\n", kernel.name, kernel.refusal);
  if (!result->file.empty())
    if (const auto status = writeFile(output, result->file); !status)
      return fail(status.error().message());
  fmt::print("done\n");
  return result->file.empty() ? kNothing : kWritten;
}

int rewriteAll(uint32_t what, const std::string &input, const fs::path &folder,
               const std::string &kernels) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    return fail(folder.string() + " is a file: a folder is needed");
  const auto wants = chosen(kernels);
  if (!wants) return fail(wants.error().message());
  int code = kNothing;
  bool found_any = false;
  std::map<std::string, int> names;
  fade::codeobj::CodeHandler handler;
  bool was_refused = false;
  const auto refuse = [&](const fade::Error &e) {
    fail(e.message());
    was_refused = true;
  };
  handler.on_error = refuse;
  handler.on_code = [&](fade::codeobj::FoundCode found) {
    const auto object = found.open();
    if (!object) return refuse(object.error()), true;
    const auto result = fade::rewrite::rewriteObject(*object, what, *wants);
    if (!result) return refuse(result.error()), true;
    std::size_t done = 0;
    for (const KernelOutcome &kernel : result->kernels) done += kernel.refusal.empty();
    std::string name = fmt::format("{}.{}", stemOf(found.file), found.target.processor);
    if (const int n = names[name]++; n != 0) name += fmt::format(".{}", n);
    const fs::path output = folder / (name + ".hsaco");
    found_any |= !result->kernels.empty();
    if (!result->file.empty()) {
      fs::create_directories(folder, error);
      if (error)
        return code = fail(fmt::format("cannot make {}: {}", folder.string(), error.message())),
               false;
      if (const auto status = writeFile(output, result->file); !status)
        return code = fail(status.error().message()), false;
    }
    fmt::print("{}: {} of {} kernels rewritten\n", result->file.empty() ? name : output.string(),
               done, result->kernels.size());
    for (const KernelOutcome &kernel : result->kernels) say(what, kernel);
    if (!result->file.empty()) code = kWritten;
    return true;
  };
  if (const auto status = fade::codeobj::findCode(input, handler); !status)
    return fail(status.error().message());
  if (code == kNothing && names.empty())
    return was_refused ? kFailed : fail(input + ": no AMD GPU code was found");
  if (!found_any && !kernels.empty()) return fail(input + ": no kernel matches");
  return code;
}

} // namespace

int main(int argc, char **argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() >= 3) {
    const auto modes = fade::readRewriteModes(words[0]);
    if (!modes) return fail(modes.error().message());
    const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
    if (words[1] == "--object") return rewriteOne(*modes, word(2), word(3), word(4));
    return rewriteAll(*modes, words[1], words[2], word(3));
  }
  std::fputs("fade-rewrite is started by fadeprobe\n", stderr);
  return kFailed;
}
