#include "hsa/death.h"

#include "fade/json_writer.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace fade {
namespace {

constexpr std::size_t kMostGuilty = 4, kMostPlaces = 4;

std::string sizes(const std::array<uint32_t, 3> &size) {
  return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

std::string placeOf(const std::string &file, uint32_t line, uint32_t column) {
  if (file.empty() || line == 0) return "unknown line (no debug information)";
  const auto name = file.substr(file.rfind('/') + 1);
  return column == 0 ? fmt::format("{}:{}", name, line)
                     : fmt::format("{}:{}:{}", name, line, column);
}

std::string nameOf(const DeathMemory &memory) {
  return fmt::format("allocation {} ({} bytes at {:#x})", memory.number, memory.size,
                     memory.address);
}

void addMemory(const DeathMemory &memory, std::vector<std::string> &lines) {
  using Relation = DeathMemory::Relation;
  const std::string by = textOf(memory.allocated_by);
  if (memory.was_freed) {
    lines.push_back(fmt::format("the address is {} bytes into {}, which was freed by {}",
                                memory.distance, nameOf(memory), textOf(memory.freed_by)));
    lines.push_back(fmt::format("it had been allocated by {}", by));
  } else if (memory.relation == Relation::into) {
    lines.push_back(fmt::format("the address is {} bytes into {}, allocated by {}", memory.distance,
                                nameOf(memory), by));
  } else {
    lines.push_back(fmt::format(
        "{} bytes {} {}, allocated by {}", memory.distance,
        memory.relation == Relation::beyond ? "beyond the end of" : "before", nameOf(memory), by));
  }
}

std::string textOf(const DeathArgument &argument, bool has_address) {
  const DeathMemory &memory = argument.memory;
  std::string text =
      fmt::format("  its argument at byte {} points into {}{}, {}allocated by {}", argument.byte,
                  memory.was_freed ? "freed " : "", nameOf(memory),
                  memory.was_freed ? fmt::format("freed by {}, ", textOf(memory.freed_by)) : "",
                  textOf(memory.allocated_by));
  if (!has_address) return text;
  switch (memory.relation) {
  case DeathMemory::Relation::beyond:
    return text + fmt::format("; the address is {} bytes beyond its end", memory.distance);
  case DeathMemory::Relation::into:
    return text + fmt::format("; the address is {} bytes into it", memory.distance);
  case DeathMemory::Relation::before:
    return text + fmt::format("; the address is {} bytes before it", memory.distance);
  }
  return text;
}

std::string textOf(const DeathRecord &record) {
  std::string text(record.kind);
  if (record.bytes != 0) text += fmt::format(" of {} bytes", record.bytes);
  text += fmt::format(" at {}", placeOf(record.file, record.line, record.column));
  if (!record.function.empty()) text += fmt::format(" in {}", record.function);
  if (!record.called_from.empty()) text += fmt::format(", called from {}", record.called_from);
  if (!record.has_address) return text;
  text += record.first == record.last
              ? fmt::format(", at {:#x}", record.first)
              : fmt::format(", from {:#x} to {:#x}", record.first, record.last);
  return text + fmt::format(", {} lane{}", record.lanes, record.lanes == 1 ? "" : "s");
}

DeathRecord withoutAddresses(DeathRecord record) {
  record.has_address = false;
  return record;
}

std::string nameOf(const DeathWave &wave) {
  if (!wave.is_known) return fmt::format("wave {}", wave.number);
  return fmt::format("wave {} of workgroup {},{},{}", wave.in_group, wave.workgroup[0],
                     wave.workgroup[1], wave.workgroup[2]);
}

/// Waves that touched the page of the fault one by one, all others by the place of their last
/// record.
void addWaves(const DeathDispatch &dispatch, std::vector<std::string> &lines) {
  std::size_t guilty = 0;
  std::map<std::string, uint64_t> places;
  for (const DeathWave &wave : dispatch.waves) {
    const auto hit = std::ranges::find_if(wave.records.rbegin(), wave.records.rend(),
                                          [](const auto &record) { return record.hits != 0; });
    if (hit != wave.records.rend() && ++guilty <= kMostGuilty)
      lines.push_back(fmt::format("  {} touched that page: {}", nameOf(wave), textOf(*hit)));
    else if (hit == wave.records.rend() && !wave.records.empty())
      ++places[textOf(withoutAddresses(wave.records.back()))];
  }
  if (guilty > kMostGuilty)
    lines.push_back(fmt::format("  and {} more waves touched it", guilty - kMostGuilty));
  std::vector<std::pair<std::string, uint64_t>> by_count(places.begin(), places.end());
  std::ranges::sort(by_count, std::ranges::greater(), [](const auto &one) { return one.second; });
  for (std::size_t i = 0; i < by_count.size() && i < kMostPlaces; ++i)
    lines.push_back(fmt::format("  last record of {}{}: {}", by_count[i].second,
                                by_count[i].second == 1 ? " wave" : " waves", by_count[i].first));
  if (dispatch.is_instrumented && dispatch.waves.empty())
    lines.emplace_back(dispatch.adds_up
                           ? "  its accesses were added up on the GPU: --stream shows the last ones"
                           : "  it is instrumented, but none of its waves has written a record");
}

/// Only of one that did not end: workgroups that fit no more are no cause for anything else.
void addResidency(const Death &death, const DeathDispatch &dispatch,
                  std::vector<std::string> &lines) {
  if (death.kind != Death::Kind::hang && death.kind != Death::Kind::gpu_reset) return;
  if (!dispatch.residency) return;
  lines.push_back(
      fmt::format("  {} of its {} workgroups fit on the GPU at once, of the original all: if they "
                  "wait for each "
                  "other, it never ends; leave it out with --kernels, or launch fewer workgroups",
                  dispatch.residency->replacement, dispatch.residency->workgroups));
}

void addDispatches(const Death &death, std::vector<std::string> &lines) {
  if (death.in_flight == 0 && death.knows_dispatches)
    lines.emplace_back("no dispatch was in flight");
  for (const DeathDispatch &dispatch : death.dispatches) {
    lines.push_back(
        fmt::format("in flight: dispatch {}: {}, grid {} workgroup {}, queue {} of agent {}",
                    dispatch.id, dispatch.kernel, sizes(dispatch.grid), sizes(dispatch.workgroup),
                    dispatch.queue, dispatch.agent));
    addResidency(death, dispatch, lines);
    addWaves(dispatch, lines);
    for (const DeathArgument &argument : dispatch.arguments)
      lines.push_back(textOf(argument, death.kind == Death::Kind::memory_fault));
  }
  if (death.in_flight > death.dispatches.size())
    lines.push_back(
        fmt::format("and {} more dispatches", death.in_flight - death.dispatches.size()));
}

std::string headline(const Death &death) {
  std::string why;
  for (const std::string &reason : death.reasons) why += ", " + reason;
  switch (death.kind) {
  case Death::Kind::memory_fault: return fmt::format("memory fault at {:#x}{}", death.address, why);
  case Death::Kind::queue_error:
    return fmt::format("queue {} stopped: {}", death.queue.value_or(0), death.error);
  case Death::Kind::gpu_reset: return "the GPU was reset" + why;
  case Death::Kind::hang: break;
  }
  return fmt::format("{} dispatch{} had not ended when the process did", death.in_flight,
                     death.in_flight == 1 ? "" : "es");
}

void putFrames(JsonWriter &json, const char *key, const std::vector<HostFrame> &frames) {
  json.list(key, [&] {
    for (const HostFrame &frame : frames)
      json.object([&] {
        if (!frame.function.empty()) json.field("function", frame.function);
        json.field("library", frame.library);
        json.field("offset", frame.offset);
        if (frame.file.empty()) return;
        json.field("file", frame.file);
        json.field("line", frame.line);
      });
  });
}

/// Without an address, how far away it is says nothing.
void putMemory(JsonWriter &json, const DeathMemory &memory, bool has_address) {
  constexpr std::array<const char *, 3> relations = {"into", "beyond", "before"};
  json.field("allocation", memory.number);
  json.field("address", memory.address);
  json.field("size", memory.size);
  if (has_address) {
    json.field("relation", relations[static_cast<std::size_t>(memory.relation)]);
    json.field("bytes", memory.distance);
  }
  json.field("freed", memory.was_freed);
  putFrames(json, "allocated_by", memory.allocated_by);
  if (memory.was_freed) putFrames(json, "freed_by", memory.freed_by);
}

void putWave(JsonWriter &json, const DeathWave &wave) {
  json.field("wave", wave.number);
  if (wave.is_known) {
    json.list("workgroup", [&] {
      for (const uint32_t one : wave.workgroup) json.value(one);
    });
    json.field("wave_in_group", wave.in_group);
  }
  json.list("records", [&] {
    for (const DeathRecord &record : wave.records)
      json.object([&] {
        json.field("kind", record.kind);
        json.field("file", record.file);
        json.field("line", record.line);
        json.field("column", record.column);
        json.field("function", record.function);
        if (!record.called_from.empty()) json.field("called_from", record.called_from);
        json.field("lanes", record.lanes);
        if (!record.has_address) return;
        json.field("bytes", record.bytes);
        json.field("first", record.first);
        json.field("last", record.last);
        json.field("hits", record.hits);
      });
  });
}

void putDispatch(JsonWriter &json, const DeathDispatch &dispatch, bool has_address) {
  const auto put_size = [&](const char *key, const std::array<uint32_t, 3> &size) {
    json.list(key, [&] {
      for (const uint32_t one : size) json.value(one);
    });
  };
  json.field("dispatch", dispatch.id);
  json.field("kernel", dispatch.kernel);
  if (!dispatch.module.empty()) json.field("module", dispatch.module);
  put_size("grid", dispatch.grid);
  put_size("workgroup", dispatch.workgroup);
  json.field("queue", dispatch.queue);
  json.field("agent", dispatch.agent);
  json.field("instrumented", dispatch.is_instrumented);
  if (dispatch.residency)
    json.object("residency", [&] {
      json.field("workgroups", dispatch.residency->workgroups);
      json.field("original", dispatch.residency->original);
      json.field("instrumented", dispatch.residency->replacement);
    });
  json.list("arguments", [&] {
    for (const DeathArgument &argument : dispatch.arguments)
      json.object([&] {
        json.field("byte", argument.byte);
        putMemory(json, argument.memory, has_address);
      });
  });
  json.field("unended_waves", dispatch.unended_waves);
  json.list("waves", [&] {
    for (const DeathWave &wave : dispatch.waves) json.object([&] { putWave(json, wave); });
  });
}

} // namespace

uint32_t DeathWave::hits() const {
  uint32_t sum = 0;
  for (const DeathRecord &record : records) sum += record.hits;
  return sum;
}

const char *nameOf(Death::Kind kind) {
  switch (kind) {
  case Death::Kind::memory_fault: return "memory fault";
  case Death::Kind::queue_error: return "queue error";
  case Death::Kind::gpu_reset: return "GPU reset";
  case Death::Kind::hang: break;
  }
  return "hang";
}

std::vector<std::string> linesOf(const Death &death) {
  std::vector<std::string> lines = {headline(death)};
  if (const auto &place = death.place) {
    std::string text = fmt::format("at pc {:#x}", place->pc);
    if (!place->function.empty()) text += fmt::format(": {}+{:#x}", place->function, place->offset);
    if (!place->file.empty())
      text += fmt::format(", {}", placeOf(place->file, place->line, place->column));
    if (!place->called_from.empty()) text += fmt::format(", called from {}", place->called_from);
    lines.push_back(std::move(text));
  }
  for (const DeathMemory &memory : death.memory) addMemory(memory, lines);
  if (!death.has_memory) lines.emplace_back("the application has no memory of its own on the GPU");
  addDispatches(death, lines);
  return lines;
}

std::string jsonOf(const Death &death) {
  const bool has_address = death.kind == Death::Kind::memory_fault;
  JsonWriter json;
  json.object([&] {
    json.field("type", "death");
    json.field("version", 1);
    json.field("kind", nameOf(death.kind));
    if (!death.target.empty()) json.field("target", death.target);
    if (has_address) json.field("address", death.address);
    if (!death.reasons.empty())
      json.list("reasons", [&] {
        for (const std::string &reason : death.reasons) json.value(reason);
      });
    if (death.queue) json.field("queue", *death.queue);
    if (!death.error.empty()) json.field("error", death.error);
    if (const auto &place = death.place)
      json.object("pc", [&] {
        json.field("address", place->pc);
        if (!place->function.empty()) {
          json.field("function", place->function);
          json.field("offset", place->offset);
        }
        if (place->file.empty()) return;
        json.field("file", place->file);
        json.field("line", place->line);
        json.field("column", place->column);
        if (!place->called_from.empty()) json.field("called_from", place->called_from);
      });
    json.list("memory", [&] {
      for (const DeathMemory &memory : death.memory)
        json.object([&] { putMemory(json, memory, has_address); });
    });
    json.field("in_flight", death.in_flight);
    json.list("dispatches", [&] {
      for (const DeathDispatch &dispatch : death.dispatches)
        json.object([&] { putDispatch(json, dispatch, has_address); });
    });
  });
  return json.take();
}

} // namespace fade
