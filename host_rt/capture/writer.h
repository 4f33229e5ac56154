// Writes a capture. The folder has another name until all of it is on the disk: nothing that was
// cut short, by a full disk or the end of the process, looks like a capture.
//
//   auto writer = Writer::create("captures", "saxpy");
//   for each region: writer->begin(State::before); writer->add(bytes) …
//   for each region: writer->begin(State::after);  writer->add(bytes) …
//   writer->finish(description, code);
#pragma once

#include "capture/page_store.h"

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fade {
class JsonWriter;
}

namespace fade::capture {

class Writer {
public:
  /// `name` gets a number behind it if there is such a capture already.
  static Result<std::unique_ptr<Writer>> create(const std::string &folder, const std::string &name);
  /// Takes away what was written, unless it was finished.
  ~Writer();
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  /// A region, numbered in the order of their addresses; all of those before the dispatch come
  /// first. A region that is not begun in the state after has not changed.
  void begin(State state, std::size_t region);
  /// Whole pages of it, in order.
  Status add(std::span<const uint8_t> pages);
  /// A region that was not begun is not there after all: those behind it come one earlier.
  void leaveOut(std::size_t region);
  /// Pages that are what they were, or that are left out.
  void skip(uint64_t pages, Run::Kind kind);

  /// The capture is there, with its name.
  Status finish(const Description &description, std::span<const Code> code);

  const std::string &path() const { return path_; } ///< that it has, or will have
  const Sizes &sizes() const { return sizes_; }

private:
  Writer() = default;
  Result<Run> place(const uint8_t *page);
  void append(Run run);
  Status writeIndex(std::size_t regions);
  Status writeCode(std::span<const Code> code) const;
  Status writeManifest(const Description &description, std::span<const Code> code);
  Status rename();

  std::string path_, partial_;
  std::unique_ptr<PageStore> pages_;
  /// By region. Deques: the memory of what is there already is not moved while it grows.
  std::vector<std::vector<Run>> before_, after_;
  std::vector<std::deque<PageHash>> hashes_; ///< of the pages before, to see what changes
  State state_ = State::before;
  std::size_t region_ = 0;
  uint64_t page_ = 0; ///< in the region
  Sizes sizes_;
  uint64_t index_bytes_ = 0, index_checksum_ = 0;
  bool is_finished_ = false;
};

/// What manifests and `fadeprobe captures --json` both say of a dispatch, into an open object.
void writeDispatch(JsonWriter &json, const Description &description);
/// Who was not at rest, if other_queues_busy is not 0.
std::string busyText(const Description &description);
/// A name for a folder, made of a kernel's: letters, digits and a few signs.
std::string folderName(std::string_view kernel);

} // namespace fade::capture
