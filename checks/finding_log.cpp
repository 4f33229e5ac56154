#include "checks/finding_log.h"

#include "base/diagnostics.h"
#include "base/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fade::checks {
namespace {

std::atomic<bool> in_child{false};

FindingLog::Callers callersOf(const Place &place) { return std::to_array(place.callers); }

/// Of the same finding: by dispatch, address, and work-item. Where allocations lie is up to the
/// system; their numbers are not.
bool isLower(const Finding &a, const Finding &b) {
  const auto order = [](const Finding &f) {
    const auto who = [](const Place &p) {
      return std::tuple(p.group[2], p.group[1], p.group[0], p.item[2], p.item[1], p.item[0]);
    };
    return std::tuple(f.dispatch, f.allocation.number, f.address, who(f.place), who(f.other));
  };
  return order(a) < order(b);
}

int64_t rankNumber() {
  const std::string text = ownRank().value_or("");
  int64_t rank = kNoRank;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  return error == std::errc() && at == text.data() + text.size() && rank >= 0 ? rank : kNoRank;
}

/// Which of two work-items at the same address is shown.
auto whoOf(uint64_t dispatch, const Place &p) {
  return std::tuple(dispatch, p.group[2], p.group[1], p.group[0], p.item[2], p.item[1], p.item[0]);
}

/// What a runtime allocates in calls of other functions is its own.
bool mayAllocate(std::string_view api) {
  constexpr std::string_view others[] = {"hipMemset",           "hipMemcpy",    "hipLaunch",
                                         "hipModuleLaunch",     "hipExtLaunch", "hipStream",
                                         "hipDeviceSynchronize"};
  return std::ranges::none_of(others, [&](auto other) { return api.starts_with(other); });
}

} // namespace

FindingLog &FindingLog::instance() {
  static auto *log = new FindingLog; // outlives every exit handler
  return *log;
}

bool FindingLog::isForThisRank() {
  const char *ranks = std::getenv("FADE_RANKS");
  return namesRank(ranks ? ranks : "", ownRank());
}

FindingLog::FindingLog() {
  const char *folder = std::getenv("FADE_CHECK_DIR");
  if (!folder || !*folder || !isForThisRank()) return;
  folder_ = folder;
  if (folder_.ends_with('/')) {
    const auto own = makeProcessFolder(folder_);
    if (!own) {
      warn("check: {}", own.error().message());
      return;
    }
    folder_ = *own;
  }
  // A process that becomes another program, or itself again, keeps its number.
  std::string path;
  int file = -1;
  for (int i = 0; i < 1000 && file < 0; ++i) {
    stem_ =
        i ? fmt::format("{}/{}-{}", folder_, getpid(), i) : fmt::format("{}/{}", folder_, getpid());
    path = stem_ + ".findings";
    file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno != EEXIST) break;
  }
  open(path, file);
  if (file >= 0) close(file);
}

void FindingLog::open(const std::string &path, int file) {
  void *memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(kFileBytes)) == 0)
    memory = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return warn("check: cannot write {}: {}", path, std::strerror(errno));
  base_ = static_cast<char *>(memory);
  if (!hasRoom(0, kFindingsAt)) {
    base_ = nullptr;
    munmap(memory, kFileBytes);
    return warn("check: cannot write {}: {}", path, std::strerror(ENOSPC));
  }
  header().pid = static_cast<uint32_t>(getpid());
  header().rank = rankNumber();
  header().strings = 1;
  header().version = kFileVersion;
  header().magic = kFileMagic;
  // The file is the parent's.
  pthread_atfork(nullptr, nullptr, [] { in_child = true; });
}

bool FindingLog::hasRoom(uint64_t offset, uint64_t size) {
  constexpr uint64_t piece = 65536;
  constexpr int populate_write = 23; // MADV_POPULATE_WRITE; kernels before 5.14 do not know it
  has_room_.resize(kFileBytes / piece + 1);
  for (uint64_t i = offset / piece; i <= (offset + size - 1) / piece; ++i) {
    if (has_room_[i]) continue;
    const uint64_t begin = i * piece, end = std::min(begin + piece, kFileBytes);
    if (madvise(base_ + begin, end - begin, populate_write) != 0 &&
        (errno == EFAULT || errno == ENOMEM))
      return false;
    has_room_[i] = true;
  }
  return true;
}

void FindingLog::add(const Finding &finding, uint64_t times) {
  if (!base_ || in_child) return;
  const std::lock_guard lock(mutex_);
  const bool of_host = finding.called_by[0].module != 0;
  const auto key = std::tuple(finding.check << 8 | finding.problem,
                              of_host ? finding.called_by[0].address : finding.place.pc,
                              finding.other.pc ? finding.other.pc : finding.other_by[0].address,
                              finding.place.code ? finding.place.code : 0u,
                              callersOf(finding.place), callersOf(finding.other));
  const auto [at, is_new] = known_.emplace(key, header().findings);
  auto *findings = table<Finding>(kFindingsAt);
  if (!is_new) {
    Finding &known = findings[at->second];
    const uint64_t count = known.count + times;
    if (isLower(finding, known)) known = finding;
    known.count = count;
    return;
  }
  if (header().findings == kMostFindings ||
      !hasRoom(kFindingsAt + at->second * sizeof(Finding), sizeof(Finding))) {
    known_.erase(at);
    header().lost += times;
    return;
  }
  findings[at->second] = finding;
  findings[at->second].count = times;
  __atomic_store_n(&header().findings, at->second + 1, __ATOMIC_RELEASE);
}

String FindingLog::string(std::string_view text) {
  if (!base_ || text.empty() || in_child) return 0;
  const std::lock_guard lock(mutex_);
  if (const auto at = strings_.find(text); at != strings_.end()) return at->second;
  const uint32_t at = header().strings;
  if (text.size() >= kStringBytes - at || !hasRoom(kStringsAt + at, text.size() + 1)) return 0;
  std::memcpy(base_ + kStringsAt + at, text.data(), text.size());
  header().strings = at + static_cast<uint32_t>(text.size()) + 1;
  strings_.emplace(text, at);
  return at;
}

int FindingLog::addCode(const void *bytes, uint64_t size, const CodeInfo &info) {
  if (!base_ || in_child) return -1;
  const std::lock_guard lock(mutex_);
  const uint32_t number = header().code;
  if (number == kMostCode || !hasRoom(kCodeAt + number * sizeof(CodeInfo), sizeof(CodeInfo)))
    return -1;
  const std::string path = fmt::format("{}.code-{}", stem_, number);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  (void)writeAll(file, {static_cast<const char *>(bytes), size});
  close(file);
  table<CodeInfo>(kCodeAt)[number] = info;
  __atomic_store_n(&header().code, number + 1, __ATOMIC_RELEASE);
  return static_cast<int>(number);
}

void FindingLog::locate(Place &place) const {
  if (!base_) return;
  const std::lock_guard lock(mutex_);
  const auto *code = table<CodeInfo>(kCodeAt);
  // What was loaded last is what is there now.
  for (uint32_t i = header().code; i-- > 0;)
    if (place.pc - code[i].base < code[i].size) {
      place.code = i + 1;
      place.address = place.pc - code[i].delta;
      for (uint64_t &caller : place.callers)
        caller = caller - code[i].base < code[i].size ? caller - code[i].delta : 0;
      return;
    }
}

CodeInfo FindingLog::codeAt(uint64_t address) const {
  if (!base_) return {};
  const std::lock_guard lock(mutex_);
  const auto *code = table<CodeInfo>(kCodeAt);
  for (uint32_t i = header().code; i-- > 0;)
    if (address - code[i].base < code[i].size) return code[i];
  return {};
}

void FindingLog::addSpan(Span span) {
  if (!base_ || in_child) return;
  locate(span.low), locate(span.high);
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] =
      spans_.emplace(std::tuple(span.kernel, span.space, span.low.pc), header().spans);
  auto *spans = table<Span>(kSpansAt);
  if (is_new) {
    if (header().spans == kMostSpans ||
        !hasRoom(kSpansAt + at->second * sizeof(Span), sizeof(Span))) {
      spans_.erase(at);
      return;
    }
    spans[at->second] = span;
    __atomic_store_n(&header().spans, at->second + 1, __ATOMIC_RELEASE);
    return;
  }
  Span &known = spans[at->second];
  if (std::tuple(span.lowest, whoOf(span.dispatches[0], span.low)) <
      std::tuple(known.lowest, whoOf(known.dispatches[0], known.low)))
    known.lowest = span.lowest, known.low = span.low, known.dispatches[0] = span.dispatches[0];
  if (std::tuple(~span.highest, whoOf(span.dispatches[1], span.high)) <
      std::tuple(~known.highest, whoOf(known.dispatches[1], known.high)))
    known.highest = span.highest, known.high = span.high, known.dispatches[1] = span.dispatches[1];
}

uint32_t FindingLog::addAllocation(const AllocationInfo &info) {
  if (!base_ || in_child) return kMostAllocations;
  const std::lock_guard lock(mutex_);
  const char *api = base_ + kStringsAt + info.api;
  for (LastWay &way : header().ways)
    if (info.api && mayAllocate(api) && (way.api == info.api || way.api == 0)) {
      way = {info.api, info.path};
      break;
    }
  uint32_t slot = header().allocations;
  if (!free_slots_.empty())
    slot = free_slots_.back(), free_slots_.pop_back();
  else if (slot < kMostAllocations &&
           hasRoom(kAllocationsAt + slot * sizeof(AllocationInfo), sizeof(AllocationInfo)))
    header().allocations++;
  else
    slot = kMostAllocations;
  if (slot < kMostAllocations) table<AllocationInfo>(kAllocationsAt)[slot] = info;
  return slot;
}

bool FindingLog::isApplications(String api, uint32_t path) const {
  if (!base_) return true;
  const std::lock_guard lock(mutex_);
  bool knows_any = false;
  for (const LastWay &way : header().ways) {
    knows_any |= way.api != 0;
    if (api && way.api == api && way.path == path) return true;
  }
  return !knows_any;
}

void FindingLog::removeAllocation(uint32_t slot) {
  if (!base_ || in_child || slot >= kMostAllocations) return;
  const std::lock_guard lock(mutex_);
  table<AllocationInfo>(kAllocationsAt)[slot] = {};
  free_slots_.push_back(slot);
}

void FindingLog::countDispatch(bool is_chosen) {
  if (!base_ || in_child) return;
  uint64_t &counter = is_chosen ? header().dispatches : header().left_out;
  __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED);
}

void FindingLog::addInexact(uint32_t bits) {
  if (base_ && !in_child) __atomic_fetch_or(&header().inexact, bits, __ATOMIC_RELAXED);
}

void FindingLog::refuse(uint32_t observer_version) {
  if (base_ && !in_child) header().observer_version = observer_version;
}

} // namespace fade::checks
