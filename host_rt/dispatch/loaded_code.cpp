#include "dispatch/loaded_code.h"

#include "fade/site_table.h"

#include <fmt/format.h>

namespace fade {

void LoadedCode::parse() const {
  std::call_once(once_, [&] {
    auto object = codeobj::CodeObject::open(blob_);
    if (object)
      object_ = *std::move(object);
    else
      error_ = object.error().message();
  });
}

const codeobj::CodeObject *LoadedCode::object() const {
  parse();
  return object_.get();
}

codeobj::Result<codeobj::KernargLayout> LoadedCode::layout(const std::string &symbol) const {
  const codeobj::CodeObject *code = object();
  if (!code) return codeobj::Error{file(), "", 0, error_};
  const auto index = code->find_kernel(symbol);
  if (!index) return blob_.error("", 0, fmt::format("no kernel {}", symbol));
  auto kernel = code->kernel(*index);
  if (!kernel) return std::move(kernel).error();
  if (!kernel->has_metadata) return blob_.error("", 0, fmt::format("no metadata for {}", symbol));
  return codeobj::KernargLayout::from(kernel->metadata);
}

std::shared_ptr<const ModuleSites> LoadedCode::sitesOf(const std::string &instrumented,
                                                       std::string &why) const {
  const codeobj::CodeObject *code = object();
  if (!code) {
    why = error_;
    return nullptr;
  }
  const auto *section = code->elf().find_section(FADE_SITES_SECTION);
  if (!section) {
    why = "the code object has no site table (" FADE_SITES_SECTION "); was it stripped?";
    return nullptr;
  }
  auto contents = code->elf().contents(*section);
  if (!contents) {
    why = contents.error().message();
    return nullptr;
  }
  const auto bytes = std::as_bytes(*contents);
  std::size_t offset = 0;
  std::string error;
  for (const SiteTable &table : parseSiteTables(bytes, error)) {
    // Tables stand one behind the other, with zeros between them.
    while (bytes[offset] == std::byte{0}) ++offset;
    const auto own = bytes.subspan(offset, table.byteSize());
    offset += table.byteSize();
    for (const fade_site_kernel &kernel : table.kernels()) {
      if (table.string(kernel.clone) != instrumented) continue;
      auto sites = std::make_shared<ModuleSites>();
      sites->bytes.assign(own.begin(), own.end());
      sites->file = file();
      sites->module_id = table.moduleId();
      sites->site_count = static_cast<uint32_t>(table.sites().size());
      sites->modes = kernel.modes;
      return sites;
    }
  }
  why = error.empty() ? fmt::format("no site table lists {}", instrumented) : error;
  return nullptr;
}

bool LoadedCode::mayBeInstrumented(codeobj::ByteView bytes) {
  const auto elf = codeobj::Elf::open(codeobj::Blob::borrow(bytes, ""));
  return elf && elf->find_section(FADE_SITES_SECTION) != nullptr;
}

} // namespace fade
