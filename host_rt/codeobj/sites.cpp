#include "codeobj/sites.h"

#include <span>

namespace fade::codeobj {

SiteTables readSiteTables(const CodeObject &object) {
  SiteTables result;
  const Section *section = object.elf().findSection(FADE_SITES_SECTION);
  if (section == nullptr) return result;
  result.exist = true;
  auto contents = object.elf().contents(*section);
  if (!contents) {
    result.damage = std::move(contents).error();
    return result;
  }
  std::string error;
  result.tables = parseSiteTables(std::as_bytes(*contents), error);
  if (!error.empty()) result.damage = Error{object.file(), "", 0, std::move(error)};
  return result;
}

Result<Sites> Sites::read(const CodeObject &object) {
  auto [exist, tables, damage] = readSiteTables(object);
  if (damage) return *std::move(damage);
  Sites sites;
  sites.modules_ = std::move(tables);
  for (const SiteTable &module : sites.modules_) {
    std::vector<std::vector<uint32_t>> by_kernel(module.kernels().size());
    for (uint32_t i = 0; i < module.sites().size(); ++i)
      if (module.sites()[i].kernel != FADE_NO_INDEX)
        by_kernel[module.sites()[i].kernel].push_back(i);
    for (uint32_t i = 0; i < module.kernels().size(); ++i) {
      auto original = object.findKernel(module.string(module.kernels()[i].name));
      auto instrumented = object.findKernel(module.string(module.kernels()[i].clone));
      if (!original || !instrumented) continue;
      sites.by_kernel_.emplace(*original, sites.kernels_.size());
      sites.by_kernel_.emplace(*instrumented, sites.kernels_.size());
      sites.kernels_.push_back({nullptr, i, *original, *instrumented, std::move(by_kernel[i])});
      sites.kernels_.back().module = &module;
    }
  }
  return sites;
}

const SiteTable *Sites::findModule(uint64_t id) const {
  for (const SiteTable &module : modules_)
    if (module.moduleId() == id) return &module;
  return nullptr;
}

const Sites::InstrumentedKernel *Sites::findKernel(std::size_t kernel) const {
  auto it = by_kernel_.find(kernel);
  return it == by_kernel_.end() ? nullptr : &kernels_[it->second];
}

std::vector<SourceFrame> Sites::stack(const SiteTable &module, uint32_t site) {
  std::vector<SourceFrame> frames;
  if (site >= module.sites().size()) return frames;
  const fade_site &s = module.sites()[site];
  auto text = [&](uint32_t offset) { return std::string(module.string(offset)); };
  frames.push_back({text(s.function), text(s.file), s.line, s.column});
  // The parser has seen to it that parents come first, so this ends.
  for (uint32_t f = s.inlined_at; f != FADE_NO_INDEX; f = module.frames()[f].parent) {
    const fade_site_frame &frame = module.frames()[f];
    frames.push_back({text(frame.function), text(frame.file), frame.line, frame.column});
  }
  return frames;
}

std::string_view siteKindName(uint32_t kind) {
  switch (kind) {
  case FADE_SITE_BLOCK: return "block";
  case FADE_SITE_LOAD: return "load";
  case FADE_SITE_STORE: return "store";
  case FADE_SITE_ATOMIC: return "atomic";
  case FADE_SITE_COPY_READ: return "copy_read";
  case FADE_SITE_COPY_WRITE: return "copy_write";
  case FADE_SITE_FILL: return "fill";
  case FADE_SITE_USER: return "user";
  default: return "unknown";
  }
}

std::string_view siteSpaceName(uint32_t space) {
  switch (space) {
  case FADE_SPACE_FLAT: return "flat";
  case FADE_SPACE_GLOBAL: return "global";
  case FADE_SPACE_LDS: return "lds";
  case FADE_SPACE_CONSTANT: return "constant";
  case FADE_SPACE_NONE: return "";
  default: return "unknown";
  }
}

} // namespace fade::codeobj
