// The file of host events (fade/host_events.h) inside of a process that writes it: claims blocks.
#pragma once

#include "base/result.h"
#include "fade/host_events.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace fade {

class EventFile {
public:
  struct Block {
    char *bytes = nullptr; ///< kBlockBytes of the file; null: there is none
    uint64_t position = 0; ///< in the file
  };

  /// Makes the file, or joins the processes that write into it already.
  Status open(const std::string &path);
  /// In a child that shall not write into the file of its parent.
  void leave() noexcept;
  bool is() const { return header_ != nullptr; }
  const std::string &path() const { return path_; }
  /// The first page; null if it is not open.
  char *header() const noexcept { return reinterpret_cast<char *>(header_); }

  /// A block of zeros but for its header, with room on the disk. Any thread. An error if there is
  /// no room left.
  Result<Block> claim() noexcept;
  static void release(Block block) noexcept;
  /// A process's switch in the file, which others can see.
  struct Switch {
    uint32_t *is_on = nullptr; ///< null: all are taken
    bool was_there = false;    ///< and has a meaning: somebody has set it before
  };
  /// `is_on`: of a switch that was not there before.
  Switch takeSwitch(uint32_t pid, bool is_on) noexcept;
  /// One more event that cannot be recorded.
  void lose() noexcept;

private:
  bool isStillOurs() const noexcept;
  int descriptor() noexcept;

  std::string path_;
  std::atomic<int> fd_{-1};
  dev_t device_ = 0;
  ino_t inode_ = 0;
  events::FileHeader *header_ = nullptr;
};

} // namespace fade
