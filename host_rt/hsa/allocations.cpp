#include "hsa/allocations.h"

#include "fade/kernel_name.h"
#include "hsa/death_watch.h"
#include "hsa/host_stack.h"

#include <array>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <mutex>

namespace fade {

namespace {

// Who calls hipMalloc is often a helper that is called for everything: who called that says more.
constexpr std::size_t kOriginFrames = 2, kOriginName = 32, kMostOrigins = 4096;

/// "toGpu (check.h:22) of main (app.hip:40)".
std::string originText(const std::vector<HostFrame> &frames) {
  std::string text;
  for (const HostFrame &frame : frames) {
    const std::string place =
        frame.file.empty()
            ? frame.library
            : fmt::format("{}:{}", frame.file.substr(frame.file.rfind('/') + 1), frame.line);
    if (!text.empty()) text += " of ";
    text += frame.function.empty()
                ? place
                : fmt::format("{} ({})", shortKernelName(frame.function, kOriginName), place);
  }
  return text;
}

/// The same line allocates many times, and to look it up takes long in large programs. Any thread.
class OriginTexts {
public:
  std::string find(const HostStack &stack) {
    if (stack.count == 0) return "";
    {
      const std::lock_guard lock(mutex_);
      const auto at = texts_.find(stack.frames);
      if (at != texts_.end()) return at->second;
      if (texts_.size() >= kMostOrigins) return "";
    }
    std::string text;
    {
      const std::lock_guard lock(symbols_mutex_); // for those who look up names, and nobody else
      text = originText(symbols_.callers(stack, kOriginFrames));
    }
    const std::lock_guard lock(mutex_);
    return texts_[stack.frames] = std::move(text);
  }

private:
  std::mutex mutex_, symbols_mutex_;
  HostSymbols symbols_;
  std::map<std::array<void *, HostStack::kMostFrames>, std::string> texts_;
};
OriginTexts &originTexts() {
  static auto *texts = new OriginTexts; // outlives every exit handler
  return *texts;
}

} // namespace

void AllocationTable::addLocked(Entry entry) {
  entry.allocation.number = next_++;
  entries_[entry.allocation.address] = std::move(entry);
  snapshot_ = nullptr;
}

void AllocationTable::add(const void *address, uint64_t size, uint32_t agent, bool on_host) {
  Entry entry;
  entry.allocation.address = reinterpret_cast<uint64_t>(address);
  entry.allocation.size = size;
  entry.allocation.agent = agent;
  entry.allocation.flags = on_host ? FADE_ALLOCATION_ON_HOST : 0;
  const std::lock_guard lock(mutex_);
  addLocked(std::move(entry));
}

void AllocationTable::remove(const void *address) {
  const std::lock_guard lock(mutex_);
  if (entries_.erase(reinterpret_cast<uint64_t>(address)) != 0) snapshot_ = nullptr;
}

void AllocationTable::addVariable(uint64_t executable, std::string name, fade_allocation variable) {
  const std::lock_guard lock(mutex_);
  addLocked({variable, executable, std::move(name), std::nullopt});
}

void AllocationTable::removeVariables(uint64_t executable) {
  const std::lock_guard lock(mutex_);
  if (std::erase_if(entries_, [&](const auto &entry) {
        return !entry.second.name.empty() && entry.second.executable == executable;
      }) != 0)
    snapshot_ = nullptr;
}

/// Names are looked up without the lock: the application's allocations do not wait for that, and
/// whoever holds one of its own locks meanwhile may allocate.
void AllocationTable::findOrigins(const DeathWatch &origins) {
  std::vector<std::pair<uint64_t, uint32_t>> unknown; // address and number
  {
    const std::lock_guard lock(mutex_);
    if (snapshot_) return;
    for (const auto &[address, entry] : entries_)
      if (!entry.origin && entry.name.empty())
        unknown.emplace_back(address, entry.allocation.number);
  }
  std::vector<std::string> texts;
  texts.reserve(unknown.size());
  for (const auto &[address, number] : unknown)
    texts.push_back(originTexts().find(origins.allocatedBy(address)));
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    const auto at = entries_.find(unknown[i].first);
    if (at != entries_.end() && at->second.allocation.number == unknown[i].second)
      at->second.origin = std::move(texts[i]);
  }
}

std::shared_ptr<const Allocations> AllocationTable::snapshot(const DeathWatch *origins) {
  if (origins) findOrigins(*origins);
  const std::lock_guard lock(mutex_);
  if (snapshot_) return snapshot_;
  auto all = std::make_shared<Allocations>();
  bool is_whole = true; // what was added since the origins were looked for has none yet
  all->list.reserve(entries_.size());
  for (const auto &[address, entry] : entries_) {
    all->list.push_back(entry.allocation);
    if (!entry.name.empty()) all->list.back().name = all->addName(entry.name);
    if (!origins) continue;
    is_whole = is_whole && (entry.origin || !entry.name.empty());
    const bool is_known = entry.origin && !entry.origin->empty();
    all->origins.push_back(is_known ? all->addName(*entry.origin) : 0);
  }
  if (is_whole) snapshot_ = all;
  return all;
}

std::optional<bool> AllocationTable::isOnHost(uint64_t address) {
  const std::lock_guard lock(mutex_);
  auto at = entries_.upper_bound(address);
  if (at == entries_.begin()) return std::nullopt;
  const fade_allocation &one = (--at)->second.allocation;
  if (address - one.address >= one.size) return std::nullopt;
  return (one.flags & FADE_ALLOCATION_ON_HOST) != 0;
}

std::string AllocationTable::describeNearest(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto after = entries_.upper_bound(address);
  const auto before = after == entries_.begin() ? entries_.end() : std::prev(after);
  const auto describe = [](const std::string &where, const Entry &entry) {
    const fade_allocation &a = entry.allocation;
    return fmt::format(", {} allocation {} ({} bytes at {:#x}{}{})", where, a.number, a.size,
                       a.address, entry.name.empty() ? "" : ", ", entry.name);
  };
  if (before != entries_.end()) {
    const uint64_t end = before->first + before->second.allocation.size;
    if (address < end) return describe("in", before->second);
    if (after == entries_.end() || address - end <= after->first - address)
      return describe(fmt::format("{} bytes beyond the end of", address - end), before->second);
  }
  if (after == entries_.end()) return "";
  return describe(fmt::format("{} bytes before", after->first - address), after->second);
}

} // namespace fade
