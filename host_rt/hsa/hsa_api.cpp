#include "hsa/hsa_api.h"

#include "hsa/late_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <dlfcn.h>
#include <span>

namespace fade {
namespace {

struct Place {
  int early, late; ///< index in AmdExtTable
};
constexpr Place kTablePlaces[] = {
#define FADE_PLACE(name, early, late) {early, late},
    FADE_AMD_ENTRIES(FADE_PLACE)
#undef FADE_PLACE
};
constexpr const char *kLateNames[] = {
#define FADE_NAME(name) #name,
    FADE_LATE_ENTRIES(FADE_NAME)
#undef FADE_NAME
};
static_assert(sizeof(AmdApi) == (std::size(kTablePlaces) + std::size(kLateNames)) * sizeof(void *));

constexpr std::size_t kCoreEntries = 125;
static_assert(sizeof(CoreApiTable) == sizeof(ApiTableVersion) + kCoreEntries * sizeof(void *),
              "the core table of these HSA headers is not the one that FADE knows");

// Of AmdExtTable: 48 entries up to ROCm 5.4, 51 in 5.5, 55 in 5.6 and 5.7, all with version 1.
constexpr std::size_t kEarlyAmdEntries = 51;
constexpr std::size_t kLastAmdEntriesWithoutBatches = 72; // ROCm 6.4
constexpr std::size_t kOrderedAmdEntries = 76; // ROCm 7.2: up to here their order is certain
constexpr std::size_t kNamedAmdEntries =
    91; // hsa_ext_amd.h 1.31: up to here FADE knows what they do

std::size_t entriesOf(const ApiTableVersion &version) {
  if (version.minor_id < sizeof version) return 0;
  return (version.minor_id - sizeof version) / sizeof(void *);
}

/// The file of the runtime that has these tables, for people.
std::string fileOf(const CoreApiTable *core) {
  Dl_info info{};
  if (core && entriesOf(core->version) > 0 &&
      dladdr(reinterpret_cast<const void *>(core->hsa_init_fn), &info) != 0 && info.dli_fname)
    return info.dli_fname;
  return "libhsa-runtime64";
}

std::string versionOf(const ApiTableVersion *version) {
  if (!version) return "none";
  return fmt::format("{} with {} entries", version->major_id, entriesOf(*version));
}

} // namespace

void *HsaTables::slot(std::size_t entry) const {
  const std::size_t late = entry - std::min(entry, std::size(kTablePlaces));
  const int place = entry >= std::size(kTablePlaces)
                        ? (late < late_places_.size() ? late_places_[late] : kNoEntry)
                    : is_early_ ? kTablePlaces[entry].early
                                : kTablePlaces[entry].late;
  if (place == kNoEntry || static_cast<std::size_t>(place) >= entriesOf(*amd_)) return nullptr;
  return reinterpret_cast<void **>(amd_ + 1) + place;
}

void HsaTables::findLate(const Exports &exports) {
  const std::size_t entries = entriesOf(*amd_);
  if (is_early_ || entries <= kOrderedAmdEntries) return;
  late_places_ = placesInTable(std::span(reinterpret_cast<void **>(amd_ + 1), entries),
                               kOrderedAmdEntries, kLateNames, exports);
  for (std::size_t i = 0; i < std::size(kLateNames); ++i)
    if (late_places_[i] == kNoEntry && !exports(kLateNames[i]).empty())
      gaps_.push_back(
          fmt::format("{} of {} is not in its API table: the application's calls of it are "
                      "not seen",
                      kLateNames[i], fileOf(core_)));
  if (entries > kNamedAmdEntries)
    gaps_.push_back(fmt::format(
        "{} has {} extension{} that this FADE does not know ({} entries, known: {}): queues, "
        "kernels and copies that use them are not seen; try a newer version of FADE",
        fileOf(core_), entries - kNamedAmdEntries, entries - kNamedAmdEntries == 1 ? "" : "s",
        entries, kNamedAmdEntries));
}

bool HsaTables::read(HsaApiTable &table, Exports exports) {
  constexpr auto isKnown = [](const ApiTableVersion *version) {
    return version && (version->major_id == 1 || version->major_id == 2);
  };
  late_places_.clear();
  gaps_.clear();
  core_ = table.core_;
  amd_ = table.amd_ext_ ? &table.amd_ext_->version : nullptr;
  HsaApi &api = hsaApi();
  api = {};
  if (isKnown(core_ ? &core_->version : nullptr) && isKnown(amd_) &&
      entriesOf(core_->version) >= kCoreEntries) {
    is_early_ = amd_->major_id == 1 && entriesOf(*amd_) <= kEarlyAmdEntries;
    std::memcpy(static_cast<void *>(&api.core), core_, sizeof api.core);
    if (!exports) exports = exportsOf(*core_);
    findLate(exports);
    for (std::size_t i = 0; i < sizeof(AmdApi) / sizeof(void *); ++i)
      if (const void *from = slot(i))
        std::memcpy(reinterpret_cast<char *>(&api.amd) + i * sizeof(void *), from, sizeof(void *));
    if (api.amd.hsa_amd_queue_intercept_register_fn) return true;
  }
  api = {};
  problem_ = fmt::format("the API tables of {} (core {}, AMD {}) are not those of ROCm 5.0 to 10, "
                         "which this FADE knows: the application runs without FADE; try another "
                         "version of FADE or of ROCm",
                         fileOf(table.core_), versionOf(core_ ? &core_->version : nullptr),
                         versionOf(amd_));
  return false;
}

bool HsaTables::givesBatches() const {
  return amd_ && entriesOf(*amd_) > kLastAmdEntriesWithoutBatches;
}

HsaApi &hsaApi() {
  static HsaApi api;
  return api;
}

} // namespace fade
