// The file in which one process under check kept its findings, and the code objects beside it.
#pragma once

#include "checks/finding_file.h"
#include "codeobj/code_object.h"
#include "codeobj/disassembler.h"
#include "codeobj/source_map.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

namespace fade::cli {

/// The file of one process. What it says is checked: the process may have died while writing, and
/// its kernels may have written anywhere.
class FindingFile {
public:
  /// Null if it is none, or of another version.
  static std::unique_ptr<FindingFile> open(const std::string &path);
  const checks::FileHeader &header() const { return header_; }
  uint32_t count() const { return std::min(header_.findings, checks::kMostFindings); }
  checks::Finding finding(uint32_t i) const {
    return at<checks::Finding>(checks::kFindingsAt + i * sizeof(checks::Finding));
  }
  uint32_t allocations() const { return std::min(header_.allocations, checks::kMostAllocations); }
  checks::AllocationInfo allocation(uint32_t i) const {
    return at<checks::AllocationInfo>(checks::kAllocationsAt + i * sizeof(checks::AllocationInfo));
  }
  uint32_t spans() const { return std::min(header_.spans, checks::kMostSpans); }
  checks::Span span(uint32_t i) const {
    return at<checks::Span>(checks::kSpansAt + i * sizeof(checks::Span));
  }
  checks::CodeInfo code(uint32_t number) const {
    return number < checks::kMostCode
               ? at<checks::CodeInfo>(checks::kCodeAt + number * sizeof(checks::CodeInfo))
               : checks::CodeInfo{};
  }
  std::string string(checks::String offset) const {
    if (offset == 0 || offset >= checks::kStringBytes) return "";
    const auto *begin =
        reinterpret_cast<const char *>(blob_.bytes().data()) + checks::kStringsAt + offset;
    return {begin, strnlen(begin, checks::kStringBytes - offset)};
  }

private:
  explicit FindingFile(codeobj::Blob blob) : blob_(std::move(blob)) {}
  template <class T> T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, blob_.bytes().data() + offset, sizeof value);
    return value;
  }
  codeobj::Blob blob_;
  checks::FileHeader header_{};
};

/// A code object that the process had loaded.
struct LoadedCode {
  std::shared_ptr<const codeobj::CodeObject> object;
  std::string module; ///< codeobj::moduleIdOf
  std::shared_ptr<const codeobj::SourceMap> map;
  std::shared_ptr<const codeobj::Disassembler> disassembler;
};

class CodeObjects {
public:
  /// `stem`: of the names of a process's files.
  explicit CodeObjects(std::string stem) : stem_(std::move(stem)) {}

  const LoadedCode &get(uint32_t number) {
    const auto [at, is_new] = all_.try_emplace(number);
    if (is_new) load(number, at->second);
    return at->second;
  }

private:
  void load(uint32_t number, LoadedCode &code) const;
  std::string stem_;
  std::map<uint32_t, LoadedCode> all_;
};

} // namespace fade::cli
