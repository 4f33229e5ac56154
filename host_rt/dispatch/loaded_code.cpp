#include "dispatch/loaded_code.h"

#include "codeobj/counter_check.h"
#include "codeobj/disassembler.h"
#include "codeobj/machine_check.h"
#include "codeobj/made_from.h"
#include "codeobj/sites.h"

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

Result<codeobj::KernargLayout> LoadedCode::layout(const std::string &symbol) const {
  const codeobj::CodeObject *code = object();
  if (!code) return Error{file(), "", 0, error_};
  const auto index = code->findKernel(symbol);
  if (!index) return blob_.error("", 0, fmt::format("no kernel {}", symbol));
  auto kernel = code->kernel(*index);
  if (!kernel) return std::move(kernel).error();
  if (!kernel->has_metadata) return blob_.error("", 0, fmt::format("no metadata for {}", symbol));
  return codeobj::KernargLayout::from(kernel->metadata);
}

void LoadedCode::readSites() const {
  const codeobj::CodeObject *code = object();
  if (!code) {
    no_sites_ = error_;
    return;
  }
  auto [exist, tables, damage] = codeobj::readSiteTables(*code);
  if (!exist)
    no_sites_ = "the code object has no site table (" FADE_SITES_SECTION "); was it stripped?";
  else if (damage)
    no_sites_ = Error{"", damage->section, damage->offset, damage->what}.message();
  for (SiteTable &table : tables) {
    // No LLVM comes into a process that has none.
    if (codeobj::Disassembler::isLoaded()) {
      if (auto checked = codeobj::checkedByMachine(table, object_)) table = *std::move(checked);
      refused_.merge(codeobj::kernelsThatMiscount(table, *object_));
    }
    const auto sites = std::make_shared<ModuleSites>(ModuleSites{std::move(table), file()});
    for (const fade_site_kernel &kernel : sites->table.kernels())
      sites_.emplace(sites->table.string(kernel.clone), sites);
  }
}

Result<std::shared_ptr<const ModuleSites>>
LoadedCode::sitesOf(const std::string &instrumented) const {
  std::call_once(sites_once_, [&] { readSites(); });
  if (const auto why = refused_.find(instrumented); why != refused_.end())
    return Error{"", "", 0, why->second};
  if (const auto at = sites_.find(instrumented); at != sites_.end()) return at->second;
  return Error{"", "", 0,
               no_sites_.empty() ? fmt::format("no site table lists {}", instrumented) : no_sites_};
}

uint64_t LoadedCode::identity() const {
  std::call_once(identity_once_, [&] { identity_ = codeobj::identityOf(*object()); });
  return identity_;
}

bool LoadedCode::isFor(const LoadedCode &original) const {
  const auto made_from = codeobj::madeFrom(*object());
  return !made_from || *made_from == original.identity();
}

bool LoadedCode::mayBeInstrumented(codeobj::ByteView bytes) {
  const auto elf = codeobj::Elf::open(codeobj::Blob::borrow(bytes, ""));
  return elf && elf->findSection(FADE_SITES_SECTION) != nullptr;
}

} // namespace fade
