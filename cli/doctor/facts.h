// What is known of a machine: records of a few kinds (machine, gpu, pci, device, rocm, library,
// variable, program, load, log), each with values by name. Rules ask for them by "kind.name".
// docs/doctor.md lists them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fade::doctor {

struct Record {
  std::string kind;
  std::map<std::string, std::string, std::less<>> values;

  /// Null: not known.
  const std::string *find(std::string_view name) const;
  /// Empty: not known.
  std::string get(std::string_view name) const;
  bool is(std::string_view name, std::string_view value) const;
  /// What is empty is not known.
  void set(std::string name, std::string value);
  /// Adds a word to a list of words, once.
  void addTo(const std::string &name, std::string_view word);
};

class Facts {
public:
  Record &add(std::string kind);
  std::vector<const Record *> of(std::string_view kind) const;
  std::vector<Record *> of(std::string_view kind);
  /// The one record of its kind; made if need be.
  Record &one(std::string_view kind);
  const std::deque<Record> &all() const { return records_; }

private:
  std::deque<Record> records_; ///< they keep their place
};

/// "6.2.0-66" and "6.10": by numbers, as far as both have them. Negative, 0 or positive.
int compareVersions(std::string_view a, std::string_view b);
/// gfx1030 for 100300, as the driver writes it.
std::string gfxName(uint64_t target_version);
/// "10.3.0" as HSA_OVERRIDE_GFX_VERSION has it; empty if it is no such version.
std::string gfxNameOfOverride(std::string_view text);
uint64_t toNumber(std::string_view text);

} // namespace fade::doctor
