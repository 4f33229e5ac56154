#include "capture/manifest.h"

#include "base/fnv1a.h"
#include "base/json_text.h"
#include "capture/json_fields.h"

namespace fade::capture {
namespace {

using Line = JsonFields;

constexpr std::size_t kMostRegions = std::size_t{1} << 20, kMostCode = 4096;
constexpr uint64_t kMostArguments = uint64_t{1} << 20, kMostCodeBytes = uint64_t{4} << 30;
constexpr uint64_t kHighestAddress = uint64_t{1} << 57;

std::vector<uint8_t> fromHex(const Line &line, const char *key) {
  const std::string text = line.text(key);
  if (text.size() % 2 != 0 || text.size() / 2 > kMostArguments) Line::fail(key, "has a wrong size");
  const auto digit = [&](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    Line::fail(key, "is not hexadecimal");
  };
  std::vector<uint8_t> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return bytes;
}

void readDescription(const Line &line, Description &d) {
  if (const uint64_t version = line.number("version"); version != kVersion)
    throw Mistake{fmt::format("it has version {}; this FADE reads version {}", version, kVersion)};
  d.fade = line.text("fade");
  d.runtime = line.text("runtime");
  d.gpu = line.text("gpu");
  d.isa = line.text("isa");
  d.kernel = line.text("kernel");
  if (line.has("module")) d.module = line.text("module");
  d.symbol = line.text("symbol");
  d.dispatch = line.number("dispatch");
  d.grid = line.three("grid");
  d.workgroup = line.three("workgroup");
  d.dimensions = line.small<uint16_t>("dimensions");
  d.private_segment = line.small<uint32_t>("private_segment");
  d.group_segment = line.small<uint32_t>("group_segment");
  d.kernel_object = line.number("kernel_object");
  d.kernarg_address = line.number("kernarg_address");
  d.queue_address = line.number("queue_address");
  d.arguments = fromHex(line, "arguments");
  d.is_cooperative = line.flag("is_cooperative");
  d.has_after = line.flag("has_after");
  d.is_minimised = line.flag("is_minimised");
  d.only_reachable = line.has("only_reachable") && line.flag("only_reachable");
  d.other_queues_busy = line.small<uint32_t>("other_queues_busy");
  d.duration_ns = line.number("duration_ns");
  for (const uint32_t size : d.workgroup)
    if (size > UINT16_MAX) Line::fail("workgroup", "is larger than any workgroup");
}

void readRegion(const Line &line, std::vector<Region> &regions) {
  Region region;
  region.address = line.number("address", kHighestAddress);
  region.size = line.number("size", kHighestAddress);
  const std::string kind = line.text("kind");
  std::size_t k = 0;
  while (k < kRegionKinds.size() && kRegionKinds[k] != kind) ++k;
  if (k == kRegionKinds.size()) Line::fail("kind", "is none that is known");
  region.kind = static_cast<RegionKind>(k);
  region.on_host = line.flag("on_host");
  region.agent = line.small<uint32_t>("agent");
  region.flags = line.small<uint32_t>("flags");
  region.used = line.has("used") ? line.number("used", region.size) : region.size;
  if (region.size == 0 || region.address % kPageSize != 0 || region.size % kPageSize != 0 ||
      region.end() > kHighestAddress)
    Line::fail("size", "and 'address' are not those of whole pages");
  if (!regions.empty() && regions.back().end() > region.address)
    Line::fail("address", "lies before the end of the region above");
  if (regions.size() == kMostRegions) throw Mistake{"there are too many regions"};
  regions.push_back(region);
}

/// True at the last line. `before`: all that stands above it; `text`: the line.
bool readLine(const Json &json, std::string_view before, std::string_view text,
              Manifest &manifest) {
  const Line line(json);
  const std::string type = line.text("type");
  if (before.empty() != (type == "capture"))
    throw Mistake{"it does not begin with one line of the type 'capture'"};
  if (type == "capture") {
    readDescription(line, manifest.description);
  } else if (type == "region") {
    readRegion(line, manifest.description.regions);
  } else if (type == "code") {
    if (manifest.code.size() == kMostCode) throw Mistake{"there are too many code objects"};
    manifest.code.push_back(
        {line.number("base"), line.number("size", kMostCodeBytes), line.number("checksum")});
  } else if (type == "end") {
    manifest.pages_bytes = line.number("pages_bytes");
    manifest.index_bytes = line.number("index_bytes");
    manifest.index_checksum = line.number("index_checksum");
    manifest.changed = line.number("changed");
    // Of all that stands before it, in the same line as well.
    const std::size_t at = text.rfind(",\"checksum\":");
    if (line.number("checksum") != fnv1a(text.substr(0, at), fnv1a(before)))
      throw Mistake{"its checksum is wrong: it was changed or damaged"};
    return true;
  } else {
    throw Mistake{"it has a line of unknown type"};
  }
  return false;
}

} // namespace

Result<Manifest> Manifest::parse(std::string_view text, const std::string &name) {
  Manifest manifest;
  bool has_ended = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == text.npos || has_ended) return Error{name, "", at, "it is cut short or too long"};
    const Json json = parsedJson(text.substr(at, end - at));
    if (!json.is_object()) return Error{name, "", at, "a line is not a JSON object"};
    try {
      has_ended = readLine(json, text.substr(0, at), text.substr(at, end - at), manifest);
    } catch (const Mistake &mistake) {
      return Error{name, "", at, mistake.what};
    } catch (const std::exception &e) {
      return Error{name, "", at, e.what()};
    }
    at = end + 1;
  }
  if (!has_ended) return Error{name, "", text.size(), "it is cut short"};
  return manifest;
}

} // namespace fade::capture
