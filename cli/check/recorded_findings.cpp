#include "check/recorded_findings.h"

#include "codeobj/module_id.h"

#include <fmt/format.h>
#include <fstream>

namespace fade::cli {

using namespace fade::checks;

namespace {

/// Read, not mapped: where there was no room for it, a page of a memory file system cannot be
/// mapped for reading either.
FileHeader readHeader(const std::string &path) {
  FileHeader header{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char *>(&header), sizeof header);
  return file ? header : FileHeader{};
}

} // namespace

std::unique_ptr<FindingFile> FindingFile::open(const std::string &path) {
  const FileHeader header = readHeader(path);
  if (header.magic != kFileMagic || header.version != kFileVersion) return nullptr;
  auto blob = codeobj::Blob::mapFile(path);
  if (!blob || blob->bytes().size() < kFileBytes) return nullptr;
  auto file = std::unique_ptr<FindingFile>(new FindingFile(std::move(*blob)));
  file->header_ = header;
  return file;
}

void CodeObjects::load(uint32_t number, LoadedCode &code) const {
  const std::string path = fmt::format("{}.code-{}", stem_, number);
  auto blob = codeobj::Blob::mapFile(path);
  if (!blob) return;
  code.module = codeobj::moduleIdOf(blob->bytes());
  auto object = codeobj::CodeObject::open(std::move(*blob));
  if (!object) return;
  code.object = *object;
  if (auto map = codeobj::SourceMap::open(*object)) code.map = *map;
  // Decoding does not depend on the size of a wave.
  if (auto d = codeobj::Disassembler::create((*object)->target(), 64)) code.disassembler = *d;
}

} // namespace fade::cli
