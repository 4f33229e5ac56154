#include "hsa/parted_pages.h"

#include <mutex>

namespace fade {

std::shared_ptr<const PartedPages>
partedPages(const std::shared_ptr<const Allocations> &allocations, uint32_t page) {
  struct Last {
    std::mutex mutex;
    std::shared_ptr<const Allocations> allocations;
    uint32_t page = 0;
    std::shared_ptr<const PartedPages> pages;
  };
  static auto *last = new Last; // outlives every exit handler
  if (!allocations) return nullptr;
  const std::lock_guard lock(last->mutex);
  if (last->allocations != allocations || last->page != page) {
    auto pages = std::make_shared<PartedPages>();
    for (const fade_allocation &one : allocations->list) {
      pages->add(one.address, page);
      pages->add(one.address + one.size, page);
    }
    // Most allocations do not change which pages these are, and rings need not be told then.
    if (!last->pages || last->page != page || last->pages->bits != pages->bits)
      last->pages = std::move(pages);
    last->allocations = allocations;
    last->page = page;
  }
  return last->pages;
}

} // namespace fade
