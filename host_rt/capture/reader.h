// Reads a capture. Nothing in it is trusted: every number is checked before it is used, and no
// name in it is taken for a file's.
#pragma once

#include "base/result.h"
#include "capture/capture.h"
#include "capture/folder_file.h"
#include "capture/manifest.h"

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct ZSTD_DCtx_s;

namespace fade::capture {

class Reader {
public:
  static Result<std::unique_ptr<Reader>> open(const std::string &folder);
  ~Reader();
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;

  const std::string &folder() const { return folder_; }
  const Description &description() const { return manifest_.description; }
  const std::vector<Code> &code() const { return code_; }
  const Sizes &sizes() const { return sizes_; }
  /// Runs of each region. In the state after there may be none: then nothing has changed.
  const std::vector<Run> &runs(State state, std::size_t region) const {
    return (state == State::before ? before_ : after_)[region];
  }

  /// A stored page. Valid until the next call.
  Result<const uint8_t *> page(uint32_t number);

  /// Calls `use` for each page of a region that is stored, with its number in the region. What is
  /// not told is zero, or in the state after what it was before.
  Status forStored(State state, std::size_t region,
                   const std::function<void(uint64_t page, const uint8_t *bytes)> &use);

private:
  struct Block {
    std::size_t number;
    std::vector<uint8_t> bytes;
  };

  Reader() = default;
  Status readManifest();
  Status readCode();
  Status readIndex();
  Status openPages();
  Result<const Block *> block(std::size_t number);
  Status checkRuns(const std::vector<Run> &runs, std::size_t region, State state) const;
  Error wrong(const char *file, std::string what) const;

  std::string folder_;
  Manifest manifest_;
  std::vector<Code> code_;
  Layout before_, after_;
  Sizes sizes_;
  uint64_t stored_ = 0;
  std::vector<uint64_t> blocks_; ///< where each begins in the file; one more at the end
  FolderFile pages_;
  ZSTD_DCtx_s *context_ = nullptr;
  std::list<Block> cache_; ///< the latest first
  std::unordered_map<std::size_t, std::list<Block>::iterator> cached_;
  std::vector<uint8_t> packed_;
};

} // namespace fade::capture
