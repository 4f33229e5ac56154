#include "stream/dispatch_record.h"

namespace fade {

void DispatchRecord::setKernel(std::shared_ptr<const KernelInfo> info) {
  kernel = std::move(info);
  view.size = sizeof view;
  view.kernel = &kernel->view();
}

void DispatchRecord::setVariant(std::shared_ptr<const std::string> text) {
  variant = std::move(text);
  view.variant = variant->c_str();
}

uint32_t Allocations::addName(std::string_view name) {
  const auto offset = static_cast<uint32_t>(names.size());
  names += name;
  names += '\0';
  return offset;
}

void DispatchRecord::setAllocations(std::shared_ptr<const Allocations> all) {
  allocations = std::move(all);
  view.allocations = allocations ? allocations->list.data() : nullptr;
  view.allocation_count = allocations ? allocations->list.size() : 0;
  view.allocation_names = allocations ? allocations->names.c_str() : nullptr;
  const bool has_origins = allocations && !allocations->origins.empty() &&
                           allocations->origins.size() == allocations->list.size();
  view.allocation_origins = has_origins ? allocations->origins.data() : nullptr;
}

void DispatchRecord::setArguments(DispatchArguments given) {
  arguments = std::move(given);
  view.arguments = arguments.list.empty() ? nullptr : arguments.list.data();
  view.argument_count = static_cast<uint32_t>(arguments.list.size());
  view.argument_size = sizeof(fade_argument);
}

void DispatchRecord::setCounters(std::vector<fade_counter> values) {
  counters = std::move(values);
  view.counters = counters.empty() ? nullptr : counters.data();
  view.counter_count = counters.size();
}

void DispatchRecord::setClocks(std::vector<uint64_t> values) {
  clocks = std::move(values);
  view.clocks = clocks.empty() ? nullptr : clocks.data();
  view.clock_count = clocks.size();
}

} // namespace fade
