// What the forms of output share: everything about one kernel, gathered once.
#pragma once

#include "analysis/run_log.h"
#include "codeobj/finder.h"
#include "codeobj/kernarg.h"
#include "codeobj/kernel_code.h"
#include "codeobj/occupancy.h"
#include "codeobj/sites.h"
#include "codeobj/source_map.h"

#include <cstdio>
#include <memory>
#include <string>

namespace fade::cli {

struct ObjectView {
  const codeobj::FoundCode &found;
  const codeobj::CodeObject &object;
  const codeobj::SourceMap *source = nullptr; ///< null when not wanted
  const codeobj::Sites *sites = nullptr;      ///< null when they cannot be read
  std::size_t shown_kernels = 0;
};

struct KernelView {
  std::size_t index = 0;
  codeobj::Kernel kernel;
  std::optional<codeobj::KernargLayout> layout;
  std::optional<codeobj::Occupancy> occupancy;
  std::optional<codeobj::KernelCode> code; ///< when wanted and possible
  std::string code_problem;                ///< why not
  const codeobj::Sites::InstrumentedKernel *instrumented = nullptr;
  const report::KernelCounts *counts = nullptr; ///< null where nobody has counted

  /// Of an instruction of `code`; null if it was not counted.
  const report::InstructionCount *countOf(const codeobj::Instruction &instruction) const;
};

/// One way to print. Calls come as object, its kernels, object, its kernels, …
class Report {
public:
  virtual ~Report() = default;
  virtual void object(const ObjectView &object) = 0;
  virtual void kernel(const ObjectView &object, const KernelView &kernel) = 0;
  virtual void error(const Error &error) = 0;
};

std::unique_ptr<Report> makeTableReport(std::FILE *out, std::FILE *err, bool isa, bool source);
std::unique_ptr<Report> makeJsonReport(std::FILE *out);

/// The listings behind --isa and --source.
void printIsa(std::FILE *out, const ObjectView &object, const KernelView &kernel);
void printSource(std::FILE *out, const ObjectView &object, const KernelView &kernel);

} // namespace fade::cli
