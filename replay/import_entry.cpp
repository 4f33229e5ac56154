// The door of libfadereplay.so for fadeprobe import.
#include "base/diagnostics.h"
#include "fade/json_writer.h"
#include "fade/replay.h"
#include "replay/import.h"

#include <cstdio>
#include <exception>
#include <fmt/format.h>

namespace fade::replay {
namespace {

void say(const std::string &text) { (void)writeStderr("fadeprobe: import: " + text + "\n"); }

std::string importedJson(const Imported &imported, const std::string &from) {
  JsonWriter json;
  json.object([&] {
    json.field("type", "imported");
    json.field("version", 1);
    json.field("capture", imported.path);
    json.field("from", from);
    json.field("kernel", imported.description.kernel);
    if (!imported.description.module.empty()) json.field("module", imported.description.module);
    json.field("dispatch", imported.description.dispatch);
    json.field("gpu", imported.description.gpu);
    json.field("memory", imported.sizes.memory);
    json.field("on_disk", imported.sizes.on_disk);
    json.list("notes", [&] {
      for (const std::string &note : imported.notes) json.value(note);
    });
  });
  return json.take();
}

std::string importedText(const Imported &imported) {
  const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return fmt::format(
      "imported {} (dispatch {}, {}): {:.1f} MiB of memory, {:.1f} MiB on disk: {}\n",
      imported.description.kernel, imported.description.dispatch, imported.description.gpu,
      mib(imported.sizes.memory), mib(imported.sizes.on_disk), imported.path);
}

} // namespace
} // namespace fade::replay

extern "C" __attribute__((visibility("default"))) int
fade_import_1(const fade::replay::ImportOptions *options) {
  using namespace fade::replay;
  try {
    const auto imported = importPerfLab(options->folder, options->output);
    if (!imported) {
      (void)fade::writeStderr("fadeprobe: " + imported.error().message() + "\n");
      return kCannotRun;
    }
    if (!options->json)
      for (const std::string &note : imported->notes) say(note);
    const std::string text =
        options->json ? importedJson(*imported, options->folder) : importedText(*imported);
    std::fputs(text.c_str(), stdout);
    return std::fflush(stdout) == 0 ? kEqual : kCannotRun;
  } catch (const std::exception &e) {
    say(e.what());
    return kCannotRun;
  }
}
