#include "instruction_counts.h"

namespace fade::handlers {
namespace {

/// ds_read2_b32, ds_load_2addr_b64 and their like access two places, each of the site's size.
bool accessesTwo(std::string_view name) {
  return name.starts_with("ds_") &&
         (name.find("2_b") != name.npos || name.find("2st64_b") != name.npos ||
          name.find("_2addr") != name.npos);
}

/// Scratch memory is nothing that analyzers of accesses look at: such an instruction is no site of
/// an access. Older GPUs use it through a descriptor, like a buffer.
bool usesScratch(const fade_site &site, std::string_view name) {
  return site.kind == FADE_SITE_INSTRUCTION &&
         (name.starts_with("scratch_") || name.starts_with("buffer_"));
}

Traffic trafficOf(const fade_site &site, std::string_view name) {
  if (usesScratch(site, name)) return Traffic::scratch;
  const bool is_load = site.kind == FADE_SITE_LOAD, is_store = site.kind == FADE_SITE_STORE;
  if (site.space == FADE_SPACE_LDS)
    return is_load ? Traffic::lds_loaded : is_store ? Traffic::lds_stored : Traffic::lds_atomic;
  if (site.space == FADE_SPACE_CONSTANT && is_load) return Traffic::scalar_loaded;
  return is_load ? Traffic::loaded : is_store ? Traffic::stored : Traffic::atomic;
}

void countBytes(Work &work, const fade_site_instruction &code, const fade_site &site,
                std::string_view text) {
  const auto name = text.substr(0, text.find(' '));
  const bool is_access = site.kind != FADE_SITE_INSTRUCTION;
  if (site.size == 0 || (!is_access && !usesScratch(site, name))) return;
  const uint64_t times = code.unit == FADE_UNIT_SMEM ? work.executions : work.lanes;
  const uint64_t bytes = times * site.size * (accessesTwo(name) ? 2 : 1);
  work.bytes[static_cast<std::size_t>(trafficOf(site, name))] += bytes;
  // "buffer_load_dword ... lds", "global_load_lds_dword": from memory to LDS
  if (code.unit == FADE_UNIT_VMEM && site.kind == FADE_SITE_LOAD &&
      (name.find("_lds_") != name.npos || text.ends_with(" lds") ||
       text.find(" lds ") != text.npos))
    work.bytes[static_cast<std::size_t>(Traffic::lds_stored)] += bytes;
}

Work workOf(const SiteTable &table, const fade_site_instruction &code,
            const fade_counter &counter) {
  Work work;
  work.executions = counter.entries;
  work.lanes = counter.entries + counter.more_lanes;
  const bool is_whole = (code.flags & FADE_INSTRUCTION_PER_WAVE) != 0;
  const uint64_t operations = code.operations * (is_whole ? work.executions : work.lanes);
  work.operations[code.type] = operations;
  if (code.type != FADE_TYPE_INTEGER) {
    if (code.unit == FADE_UNIT_MATRIX) work.matrix = operations;
    if (code.flags & FADE_INSTRUCTION_PACKED) work.packed = operations;
  }
  countBytes(work, code, table.sites()[code.site], table.string(code.text));
  return work;
}

} // namespace

void Work::add(const Work &other) {
  executions += other.executions;
  lanes += other.lanes;
  for (std::size_t i = 0; i < operations.size(); ++i) operations[i] += other.operations[i];
  packed += other.packed;
  matrix += other.matrix;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += other.bytes[i];
}

uint64_t Work::flops() const {
  uint64_t sum = 0;
  for (std::size_t type = 0; type < operations.size(); ++type)
    if (type != FADE_TYPE_INTEGER) sum += operations[type];
  return sum;
}

uint64_t Work::memoryBytes() const {
  uint64_t sum = 0;
  for (const auto way : {Traffic::loaded, Traffic::stored, Traffic::atomic, Traffic::scalar_loaded})
    sum += bytes[static_cast<std::size_t>(way)];
  return sum;
}

std::vector<CountedInstruction> countedInstructions(const SiteTable &table,
                                                    std::span<const fade_counter> counters) {
  std::vector<CountedInstruction> all;
  const auto entriesOf = [&](uint32_t site) {
    return site < counters.size() ? counters[site].entries : 0;
  };
  for (const fade_site_instruction &code : table.instructions()) {
    const fade_site &site = table.sites()[code.site];
    if (entriesOf(code.site) == 0 && site.kernel == FADE_NO_INDEX) continue;
    CountedInstruction one;
    one.code = &code;
    one.site = &site;
    if (code.site < counters.size()) one.work = workOf(table, code, counters[code.site]);
    one.taken = entriesOf(code.taken);
    one.splits = entriesOf(code.split);
    all.push_back(one);
  }
  return all;
}

} // namespace fade::handlers
