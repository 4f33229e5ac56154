// The file in which a checked process leaves its findings. It is large and mostly empty, so the
// input is what is written into it: where, in four bytes, how much, in one, and the bytes.
#include "check/finding_message.h"
#include "check/finding_reader.h"
#include "check/finding_text.h"
#include "checks/finding_file.h"
#include "files.h"

#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  using namespace fade;
  static std::string file(checks::kFileBytes, '\0');
  std::vector<std::pair<std::size_t, std::size_t>> written;
  const auto write = [&](std::size_t at, const void *bytes, std::size_t count) {
    count = std::min(count, file.size() - at);
    std::memcpy(file.data() + at, bytes, count);
    written.emplace_back(at, count);
  };
  checks::FileHeader header{};
  header.magic = checks::kFileMagic;
  header.version = checks::kFileVersion;
  header.findings = 2;
  header.allocations = 2;
  write(0, &header, sizeof header);
  while (size >= 5 && written.size() < 64) {
    uint32_t at = 0;
    std::memcpy(&at, data, sizeof at);
    const std::size_t count = std::min<std::size_t>(data[4], size - 5);
    // Half of it goes where something is looked for.
    constexpr std::size_t places[] = {sizeof(uint32_t) * 2, checks::kFindingsAt, checks::kCodeAt,
                                      checks::kAllocationsAt, checks::kStringsAt};
    write((at & 1) != 0 ? places[at / 2 % std::size(places)] + at / 16 % 4096 : at % file.size(),
          data + 5, count);
    data += 5 + count;
    size -= 5 + count;
  }
  fuzz::put("1.findings", file);
  for (const bool with_leaks : {false, true})
    for (const cli::FoundFinding &finding : cli::readFindings(fuzz::folder(), with_leaks).findings)
      (void)cli::placeText(finding.place, finding.kernel);
  for (const auto &[at, count] : written) std::memset(file.data() + at, 0, count);
  return 0;
}
