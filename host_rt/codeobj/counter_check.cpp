#include "codeobj/counter_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>

namespace fade::codeobj {
namespace {

/// Kernels of a table are looked at up to this size, which takes some tenths of a second.
constexpr uint64_t kMostCheckedBytes = uint64_t{1} << 19;

/// Scalar registers by number; none: both are 0.
struct Range {
  uint32_t first = 0, end = 0;
  bool empty() const { return first == end; }
  bool meets(Range other) const { return first < other.end && other.first < end; }
  bool isIn(Range other) const { return first >= other.first && end <= other.end && !empty(); }
};

std::optional<uint32_t> registerNumber(std::string_view text) {
  uint32_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "s7" or "s[8:9]"; none for anything else.
Range registersOf(std::string_view operand) {
  if (!operand.starts_with('s')) return {};
  operand.remove_prefix(1);
  if (const auto one = registerNumber(operand)) return {*one, *one + 1};
  const auto colon = operand.find(':');
  if (!operand.starts_with('[') || !operand.ends_with(']') || colon == std::string_view::npos)
    return {};
  const auto low = registerNumber(operand.substr(1, colon - 1));
  const auto high = registerNumber(operand.substr(colon + 1, operand.size() - colon - 2));
  return low && high && *low <= *high ? Range{*low, *high + 1} : Range{};
}

std::vector<std::string_view> operandsOf(std::string_view text) {
  std::vector<std::string_view> operands;
  const auto space = text.find(' ');
  std::string_view rest = space == std::string_view::npos ? "" : text.substr(space + 1);
  while (!rest.empty()) {
    const auto comma = rest.find(", ");
    operands.push_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 2);
  }
  return operands;
}

bool startsWithAny(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return text.starts_with(prefix); });
}

/// Whether the first operand is only read, or is no scalar register.
bool readsFirst(std::string_view mnemonic, std::size_t operands) {
  if (mnemonic.starts_with("v_cmpx_")) return operands < 3; // gfx9 writes a mask, too
  if (mnemonic.starts_with("s_sendmsg_rtn_")) return false;
  return startsWithAny(
      mnemonic, {"s_cmp_",         "s_bitcmp", "s_cbranch", "s_branch",  "s_setpc",   "s_store",
                 "s_buffer_store", "s_dcache", "s_nop",     "s_wait",    "s_sleep",   "s_endpgm",
                 "s_barrier",      "s_setreg", "s_set_gpr", "s_sendmsg", "s_setprio", "s_prefetch",
                 "s_trap",         "s_clause", "s_delay",   "s_icache",  "global_",   "flat_",
                 "scratch_",       "buffer_",  "tbuffer_",  "ds_",       "image_",    "exp"});
}

/// Those that write a second one: what is carried, or the scale of a division.
bool writesSecond(std::string_view mnemonic) {
  return startsWithAny(mnemonic,
                       {"v_add_co_", "v_sub_co_", "v_subrev_co_", "v_addc_co_", "v_subb_co_",
                        "v_subbrev_co_", "v_add_co_ci_", "v_sub_co_ci_", "v_subrev_co_ci_",
                        "v_mad_u64_u32", "v_mad_i64_i32", "v_mad_co_", "v_div_scale_"});
}

std::vector<Range> written(std::string_view mnemonic,
                           const std::vector<std::string_view> &operands) {
  std::vector<Range> out;
  if (!operands.empty() && !readsFirst(mnemonic, operands.size()))
    out.push_back(registersOf(operands[0]));
  if (operands.size() > 1 && writesSecond(mnemonic)) out.push_back(registersOf(operands[1]));
  return out;
}

/// What FADE writes there, and from what: d, the register itself; r, one of its registers; x, EXEC;
/// v, VCC; h, a hardware register; m, a mask of 20 bits; 0 and 1.
struct Form {
  std::string_view mnemonic, sources;
};
constexpr std::array kForms = {
    Form{"s_bcnt1_i32_b32", "x"}, Form{"s_bcnt1_i32_b64", "x"}, Form{"s_bcnt1_i32_b32", "r"},
    Form{"s_bcnt1_i32_b64", "r"}, Form{"s_cselect_b32", "10"},  Form{"s_add_u32", "dr"},
    Form{"s_add_u32", "dv"},      Form{"s_addc_u32", "d0"},     Form{"s_addc_u32", "dr"},
    Form{"s_sub_u32", "dr"},      Form{"s_subb_u32", "dr"},     Form{"s_and_b32", "dm"},
    Form{"s_mul_i32", "rr"},      Form{"s_mul_hi_u32", "rr"},   Form{"s_mov_b32", "0"},
    Form{"s_mov_b64", "0"},       Form{"s_mov_b32", "x"},       Form{"s_mov_b64", "x"},
    Form{"s_xor_b32", "dx"},      Form{"s_xor_b64", "dx"},      Form{"s_memtime", ""},
    Form{"s_getreg_b32", "h"},
};

/// gfx12 has other names for some.
std::string_view olderName(std::string_view mnemonic) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> names = {
      {{"s_add_co_u32", "s_add_u32"},
       {"s_add_co_ci_u32", "s_addc_u32"},
       {"s_sub_co_u32", "s_sub_u32"},
       {"s_sub_co_ci_u32", "s_subb_u32"}}};
  for (const auto &[name, older] : names)
    if (name == mnemonic) return older;
  return mnemonic;
}

bool isSource(char kind, std::string_view operand, std::string_view to, Range counters) {
  switch (kind) {
  case 'd': return operand == to;
  case 'r': return registersOf(operand).isIn(counters);
  case 'x': return operand == "exec" || operand == "exec_lo";
  case 'v': return operand == "vcc_lo";
  case 'h': return operand.starts_with("hwreg(");
  case 'm': return operand == "0xfffff";
  default: return operand == std::string_view(&kind, 1);
  }
}

bool isForm(const Form &form, std::string_view mnemonic,
            const std::vector<std::string_view> &operands, Range counters) {
  if (form.mnemonic != mnemonic || operands.empty() || !registersOf(operands[0]).isIn(counters))
    return false;
  if (form.sources == "h") return operands.size() > 1 && isSource('h', operands[1], "", counters);
  if (operands.size() != form.sources.size() + 1) return false;
  for (std::size_t i = 0; i < form.sources.size(); ++i)
    if (!isSource(form.sources[i], operands[i + 1], operands[0], counters)) return false;
  return true;
}

} // namespace

std::optional<std::string> otherUseOfCounters(const std::vector<Instruction> &code, uint32_t first,
                                              uint32_t end) {
  const Range counters{first, end};
  std::set<uint32_t> begun; // a register is set once, at the start
  for (const Instruction &instruction : code) {
    const std::string_view mnemonic = olderName(instruction.mnemonic());
    const auto operands = operandsOf(instruction.text);
    const auto all = written(mnemonic, operands);
    if (std::ranges::none_of(all, [&](Range range) { return range.meets(counters); })) continue;
    bool is_ours = std::ranges::any_of(
        kForms, [&](const Form &form) { return isForm(form, mnemonic, operands, counters); });
    if (is_ours && mnemonic.starts_with("s_mov_"))
      for (uint32_t i = all[0].first; i < all[0].end; ++i)
        is_ours = begun.insert(i).second && is_ours;
    if (!is_ours) return instruction.text;
  }
  return std::nullopt;
}

std::map<std::string, std::string> kernelsThatMiscount(const SiteTable &table,
                                                       const CodeObject &object) {
  std::map<std::string, std::string> out;
  uint64_t left = kMostCheckedBytes;
  for (const fade_site_kernel &twin : table.kernels()) {
    const uint32_t first = FADE_KERNEL_FIRST_COUNTER(twin.flags);
    const uint32_t end = FADE_KERNEL_END_OF_COUNTERS(twin.flags);
    const std::string symbol(table.string(twin.clone));
    const auto index = first < end ? object.findKernel(symbol) : std::nullopt;
    if (!index) continue;
    const auto kernel = object.kernel(*index);
    if (!kernel || kernel->code_size > left) continue;
    left -= kernel->code_size;
    const auto code = object.code(kernel->code_address, kernel->code_size);
    const auto disassembler =
        Disassembler::create(object.target(), kernel->descriptor.wavefront_size);
    if (!code || !disassembler) continue;
    const auto other =
        otherUseOfCounters((*disassembler)->disassemble(*code, kernel->code_address), first, end);
    if (other)
      out[symbol] = fmt::format(
          "its counters are in s{} to s{}, where its compiler has values of its own ({}): compile "
          "it with FADE_INSTRUMENT=blocks, or with another version of the compiler",
          first, end - 1, *other);
  }
  return out;
}

} // namespace fade::codeobj
