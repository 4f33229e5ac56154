// Which source made which instruction: line tables and inlined calls of a code object's debug
// information.
#pragma once

#include "codeobj/code_object.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fade::codeobj {

struct SourceFrame {
  std::string function; ///< linkage name where the compiler gave one
  std::string file;     ///< empty when unknown
  uint32_t line = 0;
  uint32_t column = 0;
  bool operator==(const SourceFrame &) const = default;
};

struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool operator==(const AddressRange &) const = default;
};

/// What `variable[i].member[j]` is made of, from the last pointer in it on.
struct AccessLayout {
  std::size_t first = 0; ///< the step that goes through that pointer; 0 also if there is none
  std::vector<uint64_t> strides; ///< from there on: bytes from one element to the next; 0: a member
  uint64_t offset = 0;           ///< of the members
  uint64_t size = 0;             ///< of what is accessed
};

/// An array of numbers with a place of its own: `__shared__`, `__constant__`, `__device__`.
struct SourceArray {
  uint64_t id = 0; ///< tells it apart from others of the same code object
  std::string name, file;
  uint32_t line = 0;              ///< of its declaration
  uint64_t size = 0, element = 0; ///< bytes
  bool in_lds = false;
  uint64_t address = 0; ///< in the code object; not known of LDS
};

/// May be used from several threads at once; the answers are computed one at a time.
class SourceMap {
public:
  /// A code object without debug information gives an empty map, which is no error.
  static Result<std::shared_ptr<const SourceMap>> open(std::shared_ptr<const CodeObject> object);
  ~SourceMap();
  SourceMap(const SourceMap &) = delete;
  SourceMap &operator=(const SourceMap &) = delete;

  bool empty() const;

  /// The place of the instruction at `address` and then, outwards, the calls that were inlined
  /// around it. The last frame is the function that exists in the code. Empty where neither debug
  /// information nor a symbol says anything.
  std::vector<SourceFrame> stack(uint64_t address) const;
  /// The innermost place alone, without looking for inlined calls: much cheaper.
  SourceFrame place(uint64_t address) const;
  /// What tells the blocks apart that a line has become; 0 where nothing does. Of code that FADE's
  /// pass has seen: one more than the number of the block's site.
  uint32_t discriminator(uint64_t address) const;

  /// The names of the parameters of the function at `address`, where debug information has them.
  std::vector<std::string> parameters(uint64_t address) const;

  /// How the variable that is known by this name at `address` lies in memory. Steps: "[" for an
  /// index, else the name of a member. Nothing if it is not a variable, or of a class that has
  /// operators of its own.
  std::optional<AccessLayout> layout(uint64_t address, std::string_view variable,
                                     const std::vector<std::string> &steps) const;

  /// Whether it is certain that the place is this instruction's own. Instructions that compilers
  /// move have none, and seem to be of the one before them; without optimization all have one.
  bool hasOwnPlace(uint64_t address) const;
  /// Where the instructions begin and end that share this one's entry in the line table.
  std::pair<uint64_t, uint64_t> entryRange(uint64_t address) const;
  /// The array that `name` means in frame `frame` of stack(address). Nothing if the name means
  /// something else, or may do so.
  std::optional<SourceArray> array(uint64_t address, std::size_t frame,
                                   const std::string &name) const;

  /// The instructions that were made from one line, by the line tables (the innermost place).
  std::vector<AddressRange> addresses(std::string_view file, uint32_t line) const;
  /// The files that line tables name, sorted.
  std::vector<std::string> files() const;

private:
  struct Impl;
  explicit SourceMap(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace fade::codeobj
