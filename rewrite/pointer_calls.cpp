#include "rewrite/pointer_calls.h"

namespace fade::rewrite {

void putPointerCall(CopiedCode &copy, const Dialect &dialect, const Program &program,
                    const Instruction &call, const std::function<void()> &leave) {
  const auto put = [&](const std::string &line) {
    copy.put({line});
    if (dialect.major() >= 12 && !line.starts_with("s_cmp")) copy.put({"s_wait_alu 0xfffe"});
  };
  const bool returns = call.flow == Flow::call;
  const unsigned to = call.word >> 16 & 127, from = call.word & 255;
  // Functions neither expect anything in VCC nor keep it.
  const std::string pair = returns ? scalarPair(to) : "vcc";
  const std::string low = returns ? fmt::format("s{}", to) : "vcc_lo";
  const std::string high = returns ? fmt::format("s{}", to + 1) : "vcc_hi";
  put("s_getpc_b64 " + pair);
  uint64_t here = copy.address();
  if (dialect.major() >= 12) {
    here -= 4; // s_wait_alu
    put(fmt::format("s_sext_i32_i16 {0}, {0}", high));
  }
  put(fmt::format("s_sub_u32 {0}, s{1}, {0}", low, from));
  put(fmt::format("s_subb_u32 {0}, s{1}, {0}", high, from + 1));
  const CopiedCode::Label unknown = copy.label(), done = copy.label();
  put(fmt::format("s_cmp_lg_u32 {}, -1", high)); // the original is before the copy
  copy.jump("s_cbranch_scc1", unknown);
  std::vector<std::pair<CopiedCode::Label, uint64_t>> known;
  for (const uint64_t function : program.pointed_to) {
    known.emplace_back(copy.label(), function);
    put(fmt::format("s_cmp_eq_u32 {}, {:#x}", low, static_cast<uint32_t>(function - here)));
    copy.jump("s_cbranch_scc1", known.back().first);
  }
  copy.place(unknown);
  leave();
  copy.copy(call);
  if (returns) copy.jump("s_branch", done);
  for (const auto &[label, function] : known) {
    copy.place(label);
    copy.jumpToCopy(returns ? fmt::format("s_call_b64 {},", pair) : "s_branch", function);
    if (returns) copy.jump("s_branch", done);
  }
  copy.place(done);
}

} // namespace fade::rewrite
