// Who a kernel is, from the loading of its code to the report.
#pragma once

#include "fade/handler_abi.h"
#include "fade/site_table.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace fade {

/// One object for one kernel, however often and wherever its code is loaded.
struct KernelIdentity {
  uint32_t id = 0;      ///< counts from 0
  std::string name;     ///< demangled, with its parameters
  std::string symbol;   ///< as the compiler named it, without ".kd"
  std::string target;   ///< gfx90a; empty if it is not known
  std::string module{}; ///< codeobj::moduleIdOf its code object; empty if it is not known
};

/// The site table of a module: read once, when the code object it came with becomes known, and
/// shared by all kernels of the module.
struct ModuleSites {
  SiteTable table;
  std::string file; ///< where it comes from, for messages
};

/// What dispatches and handlers are told of a kernel: who it is, and the sites that its records
/// refer to. Immutable; shared by all its dispatches.
class KernelInfo {
public:
  /// `sites`: null where the kernel is not instrumented.
  KernelInfo(std::shared_ptr<const KernelIdentity> identity,
             std::shared_ptr<const ModuleSites> sites);
  KernelInfo(KernelIdentity identity, std::shared_ptr<const ModuleSites> sites)
      : KernelInfo(std::make_shared<KernelIdentity>(std::move(identity)), std::move(sites)) {}
  KernelInfo(const KernelInfo &) = delete;
  KernelInfo &operator=(const KernelInfo &) = delete;

  const fade_kernel &view() const { return view_; }
  const std::shared_ptr<const KernelIdentity> &identity() const { return identity_; }
  uint32_t id() const { return identity_->id; }
  const std::string &name() const { return identity_->name; }
  const std::string &symbol() const { return identity_->symbol; }
  const std::string &target() const { return identity_->target; }
  const std::string &module() const { return identity_->module; }
  const ModuleSites *sites() const { return sites_.get(); }
  uint32_t siteCount() const;
  /// FADE_MODE_* of its instrumented form.
  uint32_t modes() const { return modes_; }
  /// Its instrumented form writes no records, only counters, so many in each copy of them.
  bool hasNoStream() const { return has_no_stream_; }
  uint32_t counterCount() const { return counter_count_; }
  /// Its instrumented form can add accesses up.
  bool sums() const { return sums_; }
  uint32_t kernelIndex() const { return kernel_index_; } ///< in its site table

private:
  std::shared_ptr<const KernelIdentity> identity_;
  std::shared_ptr<const ModuleSites> sites_;
  uint32_t modes_ = 0;
  bool has_no_stream_ = false;
  uint32_t counter_count_ = 0;
  bool sums_ = false;
  uint32_t kernel_index_ = 0;
  fade_kernel view_{};
};

} // namespace fade
