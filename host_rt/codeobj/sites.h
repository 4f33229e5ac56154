// The site tables of a code object, joined with its kernels: what each site id of an instrumented
// kernel stands for.
#pragma once

#include "codeobj/code_object.h"
#include "codeobj/source_map.h"
#include "fade/site_table.h"

#include <map>
#include <optional>

namespace fade::codeobj {

/// The site tables of a code object, as far as they can be read.
struct SiteTables {
  bool exist = false; ///< the code object has a section for them
  std::vector<SiteTable> tables;
  std::optional<Error> damage; ///< what is wrong behind the last of them
};
SiteTables readSiteTables(const CodeObject &object);

class Sites {
public:
  /// A code object that was not instrumented has no tables, which is no error.
  static Result<Sites> read(const CodeObject &object);
  // The kernels point into the tables.
  Sites(Sites &&) = default;
  Sites &operator=(Sites &&) = default;

  bool empty() const { return modules_.empty(); }
  const std::vector<SiteTable> &modules() const { return modules_; }
  /// By the id that a wave announces.
  const SiteTable *findModule(uint64_t id) const;

  struct InstrumentedKernel {
    const SiteTable *module = nullptr;
    uint32_t index = 0;       ///< in module->kernels()
    std::size_t original = 0; ///< index in the code object
    std::size_t instrumented =
        0; ///< index in the code object; the same as `original` if it replaces it
    std::vector<uint32_t> sites; ///< of the module, those that only this kernel can reach
  };
  /// Kernels that are in a site table and in the code object. Those of which only the table is left
  /// are not listed.
  const std::vector<InstrumentedKernel> &kernels() const { return kernels_; }
  /// By the index of the original or of the instrumented kernel in the code object.
  const InstrumentedKernel *findKernel(std::size_t kernel) const;

  /// The source place of a site and, outwards, the calls inlined around it.
  static std::vector<SourceFrame> stack(const SiteTable &module, uint32_t site);

private:
  Sites() = default;

  std::vector<SiteTable> modules_;
  std::vector<InstrumentedKernel> kernels_;
  std::map<std::size_t, std::size_t> by_kernel_;
};

/// "load", "store", "atomic", "block", …
std::string_view siteKindName(uint32_t kind);
/// "global", "lds", …; empty for a block
std::string_view siteSpaceName(uint32_t space);

} // namespace fade::codeobj
