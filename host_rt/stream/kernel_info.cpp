#include "stream/kernel_info.h"

#include "fade/block_counts.h"

#include <utility>

namespace fade {

KernelInfo::KernelInfo(std::shared_ptr<const KernelIdentity> identity,
                       std::shared_ptr<const ModuleSites> sites)
    : identity_(std::move(identity)), sites_(std::move(sites)) {
  view_.size = sizeof view_;
  view_.id = identity_->id;
  view_.name = identity_->name.c_str();
  view_.symbol = identity_->symbol.c_str();
  view_.target = identity_->target.c_str();
  view_.module = identity_->module.c_str();
  view_.sites_file = "";
  if (!sites_) return;
  view_.sites = sites_->table.bytes().data();
  view_.sites_size = sites_->table.bytes().size();
  view_.sites_file = sites_->file.c_str();
  const SiteTable &table = sites_->table;
  for (const fade_site_kernel &kernel : table.kernels())
    if (table.string(kernel.name) == symbol() || table.string(kernel.clone) == symbol()) {
      modes_ = kernel.modes;
      has_no_stream_ = (kernel.flags & FADE_KERNEL_NO_STREAM) != 0;
      sums_ = (kernel.flags & FADE_KERNEL_SUMS) != 0;
      kernel_index_ = static_cast<uint32_t>(&kernel - table.kernels().data());
    }
  if (has_no_stream_) counter_count_ = fade::counterCount(table);
}

uint32_t KernelInfo::siteCount() const {
  return sites_ ? static_cast<uint32_t>(sites_->table.sites().size()) : 0;
}

} // namespace fade
