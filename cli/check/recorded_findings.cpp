#include "check/recorded_findings.h"

#include <fmt/format.h>

namespace fade::cli {

using namespace fade::checks;

std::unique_ptr<FindingFile> FindingFile::open(const std::string &path) {
  auto blob = codeobj::Blob::mapFile(path);
  if (!blob || blob->bytes().size() < kFileBytes) return nullptr;
  auto file = std::unique_ptr<FindingFile>(new FindingFile(std::move(*blob)));
  const FileHeader header = file->at<FileHeader>(0);
  if (header.magic != kFileMagic || header.version != kFileVersion) return nullptr;
  file->header_ = header;
  return file;
}

void CodeObjects::load(uint32_t number, LoadedCode &code) const {
  const std::string path = fmt::format("{}.code-{}", stem_, number);
  auto blob = codeobj::Blob::mapFile(path);
  if (!blob) return;
  auto object = codeobj::CodeObject::open(std::move(*blob));
  if (!object) return;
  code.object = *object;
  if (auto map = codeobj::SourceMap::open(*object)) code.map = *map;
  // Decoding does not depend on the size of a wave.
  if (auto d = codeobj::Disassembler::create((*object)->target(), 64)) code.disassembler = *d;
}

} // namespace fade::cli
