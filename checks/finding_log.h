// Findings of this process, in the file that fadeprobe reads (finding_file.h).
#pragma once

#include "checks/finding_file.h"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace fade::checks {

class FindingLog {
public:
  using Callers = std::array<uint64_t, kMostCallers>;

  /// Opened once, in the folder that FADE_CHECK_DIR names. Without one nothing is kept.
  static FindingLog &instance();

  /// Whether this process is one of FADE_RANKS.
  static bool isForThisRank();

  bool isOpen() const { return base_ != nullptr; }
  const std::string &folder() const { return folder_; }

  /// Adds `times` to the finding with the same check and places, or makes a new one. What is shown
  /// of it is the lowest occurrence, whichever comes first.
  void add(const Finding &finding, uint64_t times);
  String string(std::string_view text);

  /// A code object that was loaded: its bytes are kept for fadeprobe. The number, or -1.
  int addCode(const void *bytes, uint64_t size, const CodeInfo &info);
  /// Fills in which code object an instruction belongs to.
  void locate(Place &place) const;

  /// The memory of the code object that an address is in; empty if there is none.
  CodeInfo codeAt(uint64_t address) const;
  /// What one dispatch's instruction touched is joined with what others did.
  void addSpan(Span span);

  /// For the check of leaks: a place in the table of allocations, taken and given back.
  uint32_t addAllocation(const AllocationInfo &info);
  void removeAllocation(uint32_t slot);
  /// Whether the application made it, or a runtime for itself: see LastWay. Of none it is known
  /// where no call could be named.
  bool isApplications(String api, uint32_t path) const;

  void countDispatch(bool is_chosen);
  void addInexact(uint32_t bits);
  /// The GPU is of another version of FADE: nothing is checked.
  void refuse(uint32_t observer_version);

private:
  FindingLog();
  void open(const std::string &path, int file);
  /// Whether the disk has room for this part of the file. To touch it without would kill the
  /// application.
  bool hasRoom(uint64_t offset, uint64_t size);
  FileHeader &header() const { return *reinterpret_cast<FileHeader *>(base_); }
  template <class T> T *table(uint64_t at) const { return reinterpret_cast<T *>(base_ + at); }

  char *base_ = nullptr;
  std::string folder_;
  std::string stem_; ///< of the names of its files
  std::vector<bool> has_room_;
  mutable std::mutex mutex_;
  std::map<std::tuple<uint32_t, uint64_t, uint64_t, uint32_t, Callers, Callers>, uint32_t> known_;
  std::map<std::string, String, std::less<>> strings_;
  std::map<std::tuple<String, uint32_t, uint64_t>, uint32_t> spans_; ///< kernel, space, pc
  std::vector<uint32_t> free_slots_;
};

} // namespace fade::checks
