#include "optimize/other_kernels.h"

#include "codeobj/demangle.h"
#include "codeobj/finder.h"
#include "codeobj/kernel_code.h"
#include "optimize/signature.h"

#include <algorithm>
#include <elf.h>
#include <fmt/format.h>

namespace fade::cli {
namespace {

/// Instructions as text. Distances to other functions and to data differ with where those lie: they
/// are added to the program counter right behind s_getpc.
std::string textOf(const codeobj::KernelCode &code) {
  std::string text;
  std::size_t left = 0; // instructions of which the last operand is such a distance, maybe
  for (const codeobj::Instruction &one : code.instructions) {
    const bool is_sum = one.text.starts_with("s_add");
    text += left != 0 && is_sum ? one.text.substr(0, one.text.rfind(',')) : one.text;
    text += '\n';
    constexpr std::size_t near = 3;
    left = one.mnemonic() == "s_getpc_b64" ? near : left - std::min<std::size_t>(left, 1);
  }
  return text;
}

bool calls(const std::string &text) {
  return text.find("s_swappc") != std::string::npos || text.find("s_setpc") != std::string::npos;
}

std::string bytesOf(const codeobj::CodeObject &object, uint64_t address, uint64_t size) {
  const auto bytes = object.code(address, size);
  return bytes ? std::string(reinterpret_cast<const char *>(bytes->data()), bytes->size()) : "";
}

/// Functions that kernels may call.
std::string functionsOf(const codeobj::CodeObject &object) {
  std::string all;
  for (const codeobj::Symbol &symbol : object.symbols())
    if (symbol.type == STT_FUNC && !object.findKernel(symbol.name))
      all += fmt::format("{}\n{}\n", symbol.name, bytesOf(object, symbol.value, symbol.size));
  return all;
}

Status add(const codeobj::CodeObject &object,
           const std::set<std::pair<std::string, std::string>> &captured, OtherKernels &to) {
  const std::string &gpu = object.target().processor;
  if (std::ranges::none_of(captured, [&](const auto &each) { return each.second == gpu; }))
    return Done();
  std::set<std::size_t> left_out; // twins say nothing that their originals do not
  for (std::size_t i = 0; i < object.kernelCount(); ++i)
    if (const auto twin = object.findClone(i)) left_out.insert(*twin);
  for (const auto &[name, of_gpu] : captured)
    if (const auto index = object.findKernel(name); index && of_gpu == gpu) left_out.insert(*index);
  for (std::size_t i = 0; i < object.kernelCount(); ++i) {
    if (left_out.contains(i)) continue;
    const auto kernel = object.kernel(i);
    if (!kernel) return kernel.error();
    const auto code = codeobj::analyzeKernel(object, *kernel);
    std::string text =
        code ? textOf(*code) : bytesOf(object, kernel->code_address, kernel->code_size);
    if (calls(text)) text += functionsOf(object);
    to[{kernel->name, gpu}] = textOf(signatureOf(*kernel)) + text;
  }
  return Done();
}

} // namespace

Result<OtherKernels> otherKernels(const std::string &path,
                                  const std::set<std::pair<std::string, std::string>> &captured) {
  OtherKernels found;
  std::optional<Error> problem;
  codeobj::CodeHandler handler;
  handler.on_error = [&](const Error &error) { problem = error; };
  handler.on_code = [&](const codeobj::FoundCode &code) {
    const auto object = code.open();
    if (!object)
      problem = object.error();
    else if (const Status added = add(**object, captured, found); !added)
      problem = added.error();
    return !problem;
  };
  if (Status searched = codeobj::findCode(path, handler); !searched)
    return std::move(searched).error();
  if (problem) return *problem;
  return found;
}

std::string changeOf(const OtherKernels &before, const OtherKernels &after) {
  for (const auto &[key, text] : before) {
    const auto at = after.find(key);
    if (at != after.end() && at->second == text) continue;
    return fmt::format("{} is {}, and there is no capture of it to compare with (--unchecked lets "
                       "such kernels change)",
                       codeobj::demangle(key.first),
                       at == after.end() ? "missing" : "not the same as before");
  }
  return "";
}

} // namespace fade::cli
