#include "rewrite/copied_code.h"

#include <cstdlib>
#include <cstring>

namespace fade::rewrite {
namespace {

/// Of a branch, in bytes.
constexpr int64_t kReach = int64_t{INT16_MAX} * 4;

} // namespace

void CopiedCode::put(const std::vector<std::string> &lines) {
  const std::vector<uint8_t> bytes = assemble_(lines);
  code_.insert(code_.end(), bytes.begin(), bytes.end());
}

CopiedCode::Label CopiedCode::label() {
  labels_.push_back(UINT32_MAX);
  return labels_.size() - 1;
}

void CopiedCode::place(Label label) { labels_[label] = here(); }

void CopiedCode::jump(const std::string &instruction, Label to) {
  jumps_.push_back({here(), to, true});
  put({instruction + " 0"});
}

void CopiedCode::jumpToCopy(const std::string &instruction, uint64_t original) {
  jumps_.push_back({here(), original, false});
  put({instruction + " 0"});
}

void CopiedCode::beginAt(const Instruction &i) { moved_[i.address] = here(); }

void CopiedCode::leaveOut(const Instruction &i) { instructions_[i.address] = here(); }

void CopiedCode::copy(const Instruction &i) {
  instructions_[i.address] = here();
  const auto bytes = object_.elf().atAddress(i.address, 0);
  if (i.is_relative) jumps_.push_back({here(), i.targets.front(), false});
  code_.insert(code_.end(), bytes->begin(), bytes->begin() + i.size);
}

void CopiedCode::pad() {
  constexpr std::size_t instructions = 64;
  const char *padding = object_.target().version.major >= 10 ? "s_code_end" : "s_nop 0";
  put(std::vector<std::string>(instructions, padding));
}

void CopiedCode::setWord(uint32_t at, uint32_t value) {
  std::memcpy(&code_[at], &value, sizeof value);
}
uint32_t CopiedCode::word(uint32_t at) const {
  uint32_t value = 0;
  std::memcpy(&value, &code_[at], sizeof value);
  return value;
}

void CopiedCode::putIsland() {
  const std::size_t n = placed_.size();
  Island &island = placed_.emplace_back(Island{here(), {}});
  if (n >= islands_.targets.size()) islands_.targets.resize(n + 1);
  for (const auto &[is_label, target] : islands_.targets[n]) {
    island.branches[{is_label, target}] = here();
    if (is_label)
      jump("s_branch", target);
    else
      jumpToCopy("s_branch", target);
  }
}

std::optional<uint32_t> CopiedCode::islandFor(const Jump &jump, uint32_t to) {
  constexpr int64_t margin = 8 << 10; // islands grow
  std::optional<std::size_t> farthest;
  for (std::size_t n = 0; n < placed_.size(); ++n) {
    const uint32_t at = placed_[n].at;
    const bool is_between = std::min(jump.at, to) < at && at < std::max(jump.at, to);
    if (!is_between || std::abs(int64_t{at} - jump.at) > kReach - margin) continue;
    if (!farthest || to > jump.at) farthest = n;
  }
  if (!farthest) return std::nullopt;
  const Islands::Target target{jump.is_own, jump.target};
  const auto found = placed_[*farthest].branches.find(target);
  if (found != placed_[*farthest].branches.end()) return found->second;
  islands_.targets[*farthest].insert(target);
  islands_.has_more = true;
  return jump.at;
}

Status CopiedCode::connect() {
  islands_.has_more = false;
  for (const Jump &jump : jumps_) {
    std::optional<uint32_t> to = jump.is_own ? labels_.at(jump.target) : moved_.at(jump.target);
    const auto distance = [&] { return int64_t{*to} - jump.at - 4; };
    if (std::abs(distance()) > kReach) to = islandFor(jump, *to);
    if (!to || std::abs(distance()) > kReach) return Error::of("a branch would be too long");
    setWord(jump.at, (word(jump.at) & 0xffff0000u) | static_cast<uint16_t>(distance() / 4));
  }
  if (islands_.has_more) return Error::of("a branch would be too long");
  return Done{};
}

/// Addresses that are computed from the program counter: of functions that are called the copy's,
/// else the same as before.
Status CopiedCode::moveAddresses() {
  for (const PcAddress &pc : program_.pc_addresses) {
    const uint64_t target = pc.is_called ? address_ + moved_.at(pc.target) : pc.target;
    const uint64_t distance = target - (address_ + instructions_.at(pc.getpc) + 4);
    const uint64_t before = pc.target - (pc.getpc + 4);
    const uint32_t low = instructions_.at(pc.low), high = instructions_.at(pc.high);
    const auto difference = static_cast<uint32_t>(distance) - static_cast<uint32_t>(before);
    setWord(low + 4, word(low + 4) + difference);
    const auto upper = static_cast<uint32_t>(distance >> 32);
    const Instruction &adds = program_.instructions.at(pc.high);
    if (pc.is_backward) {
      if (upper != UINT32_MAX || static_cast<int32_t>(distance) >= 0)
        return Error::of("a jump back would become one forward");
    } else if (adds.size == 8) {
      setWord(high + 4, upper);
    } else {
      if (upper != 0 && upper != UINT32_MAX) return Error::of("an address would be too far away");
      constexpr uint32_t zero = 128, minus_one = 193;
      const bool is_second = (adds.word >> 8 & 255) >= zero;
      const unsigned shift = is_second ? 8 : 0;
      setWord(high, (word(high) & ~(255u << shift)) | (upper == 0 ? zero : minus_one) << shift);
    }
  }
  return Done{};
}

Result<std::vector<uint8_t>> CopiedCode::finish() {
  if (auto status = connect(); !status) return std::move(status).error();
  if (auto status = moveAddresses(); !status) return std::move(status).error();
  return std::move(code_);
}

} // namespace fade::rewrite
