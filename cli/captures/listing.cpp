#include "captures/listing.h"

#include "capture/writer.h"
#include "fade/json_writer.h"
#include "host_trace/run.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

bool isCapture(const fs::path &path) {
  std::error_code ignored;
  return fs::is_regular_file(path / capture::kManifestFile, ignored);
}

std::string sizeText(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

/// "4096", "64x64": HIP says three dimensions whatever the program said.
std::string dimensions(const std::array<uint32_t, 3> &size) {
  std::string text = fmt::format("{}", size[0]);
  if (size[1] > 1 || size[2] > 1) text += fmt::format("x{}", size[1]);
  if (size[2] > 1) text += fmt::format("x{}", size[2]);
  return text;
}

} // namespace

std::vector<std::string> capturesIn(const std::string &folder) {
  if (isCapture(folder)) return {folder};
  std::vector<std::string> found;
  const auto add = [&](const std::string &in) {
    std::error_code error;
    for (fs::directory_iterator at(in, error), end; !error && at != end; at.increment(error))
      if (isCapture(at->path()) && !at->path().string().ends_with(capture::kPartial))
        found.push_back(at->path());
  };
  add(folder);
  for (const std::string &process : host_trace::processFolders(folder)) add(process);
  std::ranges::sort(found);
  return found;
}

Result<CaptureLine> describeCapture(const std::string &path) {
  auto reader = capture::Reader::open(path);
  if (!reader) return std::move(reader).error();
  return CaptureLine{path, (*reader)->description(), (*reader)->sizes()};
}

std::string capturesTable(const std::vector<CaptureLine> &lines) {
  std::vector<std::array<std::string, 8>> rows = {
      {"capture", "kernel", "dispatch", "grid", "workgroup", "gpu", "memory", "on disk"}};
  for (const CaptureLine &line : lines) {
    const capture::Description &d = line.description;
    rows.push_back({line.path, d.kernel.substr(0, d.kernel.find('(')),
                    fmt::format("{}", d.dispatch), dimensions(d.grid), dimensions(d.workgroup),
                    d.gpu, sizeText(line.sizes.memory), sizeText(line.sizes.on_disk)});
  }
  std::array<std::size_t, 8> widths{};
  for (const auto &row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  if (rows.size() == 1) return text;
  for (const auto &row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_text = i < 2 || i == 5;
      text += is_text ? fmt::format("{:<{}}", row[i], widths[i])
                      : fmt::format("{:>{}}", row[i], widths[i]);
      text += i + 1 < row.size() ? "  " : "\n";
    }
  }
  for (const CaptureLine &line : lines)
    if (line.description.other_queues_busy != 0)
      text += fmt::format(
          "{}: still running during the capture: {}; they may have changed its memory\n", line.path,
          capture::busyText(line.description));
  return text;
}

std::string capturesJson(const std::vector<CaptureLine> &lines) {
  JsonWriter json;
  for (const CaptureLine &line : lines) {
    const capture::Description &d = line.description;
    json.object([&] {
      json.field("type", "capture");
      json.field("version", 1);
      json.field("path", line.path);
      capture::writeDispatch(json, d);
      json.field("regions", d.regions.size());
      json.field("memory", line.sizes.memory);
      json.field("stored_pages", line.sizes.stored);
      json.field("changed_pages", line.sizes.changed);
      json.field("on_disk", line.sizes.on_disk);
    });
  }
  return json.take();
}

} // namespace fade::cli
