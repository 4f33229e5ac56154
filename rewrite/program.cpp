#include "rewrite/program.h"

#include "rewrite/known_addresses.h"
#include "rewrite/scalar_fields.h"

#include "fade/gpu.h"
#include "isa/added_opcodes.h"
#include "isa/llvm_mc.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

namespace fade::rewrite {
namespace {

using codeobj::read;

constexpr std::size_t kMostInstructions = 1 << 17; ///< of one kernel, against endless ones
constexpr unsigned kReturnRegister = 30;           ///< and the next one: the caller, by the ABI
constexpr unsigned kVcc = 106;
/// An address is computed by so many instructions at most.
constexpr int kLongestSequence = 24;
/// A call through a pointer compares with each of them.
constexpr std::size_t kMostPointedTo = 256;

Error refusal(uint64_t address, std::string_view what) {
  return Error::of(fmt::format("{} at {:#x}", what, address));
}

/// Calls `use` with the numbers of those registers of "SGPR4_SGPR5" that are of a kind ("SGPR").
template <typename Use> void forRegisters(std::string_view name, std::string_view kind, Use use) {
  while (!name.empty()) {
    const std::string_view one = name.substr(0, name.find('_'));
    name.remove_prefix(std::min(one.size() + 1, name.size()));
    if (!one.starts_with(kind)) continue;
    unsigned number = 0;
    for (const char c : one.substr(kind.size()))
      if (c >= '0' && c <= '9') number = number * 10 + static_cast<unsigned>(c - '0');
    use(number);
  }
}

void addScalars(std::string_view name, std::bitset<128> &to) {
  forRegisters(name, "SGPR", [&](unsigned number) {
    if (number < to.size()) to.set(number);
  });
}

/// Instructions that name vector registers by a number in a scalar register.
bool isIndexed(std::string_view name) {
  return name.starts_with("s_set_gpr_idx") || name.starts_with("v_movrel");
}

/// The value of an operand that is a constant.
std::optional<uint32_t> constant(unsigned operand, uint32_t literal) {
  if (operand >= 128 && operand <= 192) return operand - 128;
  if (operand >= 193 && operand <= 208) return 192 - operand;
  if (operand == 255) return literal;
  return std::nullopt;
}

/// Adds `count` scalar registers from an operand on, if it names scalar registers.
void addOperand(unsigned operand, unsigned count, std::bitset<128> &to) {
  if (operand >= kScalarRegisters) return;
  for (unsigned r = operand; r < operand + count && r < to.size(); ++r) to.set(r);
}

/// Scalar registers that an instruction reads which LLVM 19 does not know. It writes none.
void addScalarsOf(const sim::AddedInstruction &added, std::span<const uint8_t> code,
                  std::bitset<128> &to) {
  using enum sim::AddedEncoding;
  constexpr unsigned fields[] = {0, 9, 18}; // of sources, 9 bits each
  const uint32_t low = *read<uint32_t>(code, 0), high = *read<uint32_t>(code, 4);
  const sim::AddedOpcode &row = *added.opcode;
  const bool is_short = added.size == 4 || !(low >> 31);
  switch (row.encoding) {
  case ds: return;
  case global: addOperand(high >> 16 & 127, 2, to); return;
  case mubuf_lds:
    addOperand((high >> 16 & 31) * 4, 4, to);
    addOperand(high >> 24, 1, to);
    return;
  default: break;
  }
  if (is_short) {
    constexpr unsigned sdwa = 249;
    const unsigned source = low & 511;
    addOperand(source, row.src[0], to);
    if (source == sdwa && (high >> 23 & 1)) addOperand(high & 255, 1, to); // S0
    return;
  }
  // With scales, they come first, in an instruction of their own.
  const uint32_t sources = added.size == 16 ? *read<uint32_t>(code, 12) : high;
  for (unsigned i = 0; i < 3; ++i) addOperand(sources >> fields[i] & 511, row.src[i], to);
  if (added.size == 16)
    for (unsigned i = 0; i < 2; ++i) addOperand(high >> fields[i] & 511, 1, to);
}

/// gfx12 calls some instructions by other names.
std::string_view olderName(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"s_add_co_u32", "s_add_u32"},     {"s_sub_co_u32", "s_sub_u32"},
      {"s_add_co_i32", "s_add_i32"},     {"s_sub_co_i32", "s_sub_i32"},
      {"s_add_co_ci_u32", "s_addc_u32"}, {"s_sub_co_ci_u32", "s_subb_u32"},
  };
  const auto *at =
      std::ranges::find(names, name, &std::pair<std::string_view, std::string_view>::first);
  return at == std::end(names) ? name : at->second;
}

/// Addresses that the loader writes into data: functions in tables among them.
std::set<uint64_t> relocatedAddresses(const codeobj::Elf &elf) {
  constexpr uint32_t absolute64 = 3, relative64 = 13; // R_AMDGPU_*
  std::set<uint64_t> found;
  for (const codeobj::Section &section : elf.sections()) {
    if (section.type != SHT_RELA) continue;
    const auto table = elf.contents(section);
    if (!table) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table->size(); at += sizeof(Elf64_Rela)) {
      const auto r = *codeobj::read<Elf64_Rela>(*table, at);
      const auto addend = static_cast<uint64_t>(r.r_addend);
      if (ELF64_R_TYPE(r.r_info) == relative64) found.insert(addend);
      if (ELF64_R_TYPE(r.r_info) != absolute64) continue;
      const codeobj::Section *of =
          section.link < elf.sections().size() ? &elf.sections()[section.link] : nullptr;
      const auto names = of ? elf.contents(*of) : Result<codeobj::ByteView>(codeobj::ByteView());
      const auto symbol =
          names ? codeobj::read<Elf64_Sym>(*names, ELF64_R_SYM(r.r_info) * sizeof(Elf64_Sym))
                : std::nullopt;
      if (symbol) found.insert(symbol->st_value + addend);
    }
  }
  return found;
}

class Reader {
public:
  Reader(const codeobj::CodeObject &object, const codeobj::Kernel &kernel)
      : object_(object), kernel_(kernel), arch_(*archOf(object.target())),
        llvm_(sim::llvm_processor(arch_), kernel.descriptor.wavefront_size == 32) {}

  Result<Program> read() {
    program_.entries = {kernel_.code_address};
    if (kernel_.descriptor.user_sgprs.kernarg_preload_length != 0)
      program_.entries.push_back(kernel_.code_address + kPreloadedEntry);
    // Addresses that control goes to through registers are known once they were followed, and may
    // lead to others.
    for (bool is_new = true; is_new;) {
      if (auto status = follow(); !status) return std::move(status).error();
      findPcAddresses();
      is_new = followRegisters() || findPointerCalls();
    }
    if (auto status = judge(); !status) return std::move(status).error();
    return std::move(program_);
  }

private:
  Result<Instruction> decode(uint64_t address) {
    const auto bytes = object_.elf().atAddress(address, 0);
    if (!bytes || address % 4 != 0) return refusal(address, "control leaves the code");
    // Some LLVMs crash in the message that a constant is cut off.
    std::array<uint8_t, 20> code{};
    std::copy_n(bytes->begin(), std::min(bytes->size(), code.size()), code.begin());
    const auto added = sim::find_added(arch_, code);
    sim::LlvmDisassembler::Registers found;
    if (added.opcode)
      found.size = added.size, found.mnemonic = added.name;
    else
      found = llvm_.registers(code, address);
    if (found.size == 0 || found.size > bytes->size() || sim::is_removed(arch_, found.mnemonic))
      return refusal(address, "an instruction that is not known");
    Instruction i;
    i.address = address;
    i.size = found.size;
    i.mnemonic = olderName(found.mnemonic);
    i.word = *codeobj::read<uint32_t>(code, 0);
    i.literal = *codeobj::read<uint32_t>(code, 4);
    if (added.opcode) addScalarsOf(added, code, i.reads);
    if (added.opcode || isIndexed(found.mnemonic)) i.vectors.reset();
    const auto addVectors = [&](const std::string &name) {
      forRegisters(name, "VGPR", [&](unsigned number) {
        if (i.vectors) i.vectors = std::max(*i.vectors, number + 1);
      });
    };
    for (const std::string &name : found.reads) {
      addScalars(name, i.reads);
      addVectors(name);
      if (name == "SCC") i.reads_scc = true;
    }
    for (const std::string &name : found.writes) {
      addScalars(name, i.writes);
      addVectors(name);
      if (name == "SCC") i.writes_scc = true;
      if (name.starts_with("EXEC")) i.writes_exec = true;
    }
    i.is_matrix = i.mnemonic.starts_with("v_mfma") || i.mnemonic.starts_with("v_smfmac") ||
                  i.mnemonic.starts_with("v_wmma") || i.mnemonic.starts_with("v_swmmac");
    i.ends_registers =
        object_.target().version.major >= 11 && i.mnemonic == "s_sendmsg" && (i.word & 0xff) == 3;
    setFlow(i);
    return i;
  }

  void setFlow(Instruction &i) const {
    const std::string &name = i.mnemonic;
    const auto relative = [&](Flow flow) {
      i.flow = flow;
      i.is_relative = true;
      i.targets = {i.address + 4 + 4 * static_cast<uint64_t>(static_cast<int16_t>(i.word))};
    };
    if (name.starts_with("s_endpgm")) i.flow = Flow::end;
    if (name == "s_branch") relative(Flow::jump);
    if (name.starts_with("s_cbranch_") && !isFork(name)) relative(Flow::conditional);
    if (name == "s_call_b64") relative(Flow::call);
    if (const auto at = through_registers_.find(i.address); at != through_registers_.end())
      i.targets.assign(at->second.begin(), at->second.end());
    if (name == "s_swappc_b64") i.flow = Flow::call;
    if (name == "s_setpc_b64") i.flow = i.targets.empty() ? Flow::jump_back : Flow::jump;
  }
  static bool isFork(const std::string &name) {
    return name == "s_cbranch_g_fork" || name == "s_cbranch_i_fork" || name == "s_cbranch_join";
  }
  /// What changes the flow of control, or names registers, in a way that is not followed.
  static bool isStrange(const std::string &name) {
    return isFork(name) || name.starts_with("s_rfe") || name.starts_with("s_subvector") ||
           name.starts_with("s_movrel") || name == "s_endpgm_ordered_ps_done" ||
           name == "s_endpgm_saved" || name == "s_alloc_vgpr";
  }

  /// Finds all instructions that can be reached.
  Status follow() {
    program_.instructions.clear();
    program_.functions.clear();
    std::vector<uint64_t> to_do = program_.entries;
    std::set<uint64_t> functions = program_.pointed_to;
    to_do.insert(to_do.end(), functions.begin(), functions.end());
    while (!to_do.empty()) {
      const uint64_t address = to_do.back();
      to_do.pop_back();
      if (program_.instructions.contains(address)) continue;
      auto i = decode(address);
      if (!i) return std::move(i).error();
      if (isStrange(i->mnemonic)) return refusal(address, i->mnemonic);
      to_do.insert(to_do.end(), i->targets.begin(), i->targets.end());
      if (i->flow == Flow::call) functions.insert(i->targets.begin(), i->targets.end());
      if (i->reachesNext()) to_do.push_back(i->next());
      program_.instructions.emplace(address, *std::move(i));
      if (program_.instructions.size() > kMostInstructions)
        return Error::of("it has too many instructions");
    }
    program_.functions.assign(functions.begin(), functions.end());
    // Instructions must not overlap: code that is entered in the middle of one.
    uint64_t end = 0;
    for (const auto &[address, i] : program_.instructions) {
      if (address < end) return refusal(address, "instructions overlap");
      end = i.next();
    }
    return Done{};
  }

  void findPcAddresses() {
    program_.pc_addresses.clear();
    unresolved_.clear();
    for (const auto &[address, i] : program_.instructions) {
      if (i.mnemonic != "s_getpc_b64") continue;
      if (const auto found = pcAddress(i))
        program_.pc_addresses.push_back(*found);
      else
        unresolved_.push_back(address);
    }
  }

  /// What is computed from the result of an s_getpc_b64:
  ///   s_add_u32 s0, s0, LITERAL; s_addc_u32 s1, s1, LITERAL          by compilers
  ///   s_add_i32 t, LITERAL, 4; s_add_u32 s0, s0, t; s_addc_u32 s1, s1, 0       by Tensile
  ///   s_add_i32 t, LITERAL, 4; s_abs_i32 t, t; s_sub_u32 s0, s0, t; s_subb_u32 s1, s1, 0
  std::optional<PcAddress> pcAddress(const Instruction &getpc) const {
    struct Known {
      uint32_t value = 0;
      uint64_t literal = 0; ///< address of the instruction that has it
      bool is_negated = false;
    };
    std::map<unsigned, Known> constants;
    const unsigned low = destination(getpc.word), high = low + 1;
    PcAddress found{getpc.address};
    std::optional<uint32_t> distance;
    auto at = program_.instructions.find(getpc.address);
    for (int n = 0; n < kLongestSequence; ++n) {
      const uint64_t expected = at->second.next();
      if (++at == program_.instructions.end() || at->first != expected) return std::nullopt;
      const Instruction &i = at->second;
      if (i.flow != Flow::next) return std::nullopt;
      const unsigned to = destination(i.word), a = source0(i.word), b = source1(i.word);
      const std::string &name = i.mnemonic;
      const bool has_literal = i.size == 8;
      if (name == "s_add_u32" && to == low && (a == low || b == low) && !distance) {
        const unsigned other = a == low ? b : a;
        if (const auto known = constants.find(other);
            known != constants.end() && !known->second.is_negated)
          distance = known->second.value, found.low = known->second.literal;
        else if (other == 255)
          distance = i.literal, found.low = i.address;
        else
          return std::nullopt;
      } else if (name == "s_sub_u32" && to == low && a == low && !distance) {
        const auto known = constants.find(b);
        if (known == constants.end() || !known->second.is_negated) return std::nullopt;
        distance = 0 - known->second.value, found.low = known->second.literal;
        found.is_backward = true;
      } else if (name == "s_sext_i32_i16" && to == high && a == high && !distance) {
        continue; // on gfx12 the upper half has 16 bits
      } else if (distance && to == high &&
                 ((name == "s_addc_u32" && !found.is_backward) ||
                  (name == "s_subb_u32" && found.is_backward && a == high))) {
        const unsigned other = a == high ? b : a;
        if (a != high && b != high) return std::nullopt;
        const auto upper = constant(other, i.literal);
        if (!upper || (found.is_backward && *upper != 0)) return std::nullopt;
        found.high = i.address;
        found.target =
            getpc.next() + *distance + (uint64_t{found.is_backward ? UINT32_MAX : *upper} << 32);
        return found;
      } else if ((name == "s_add_i32" || name == "s_add_u32") && to != low && to != high &&
                 constant(a, i.literal) && constant(b, i.literal) && has_literal) {
        constants[to] = {*constant(a, i.literal) + *constant(b, i.literal), i.address, false};
      } else if (name == "s_mov_b32" && to != low && to != high && a == 255) {
        constants[to] = {i.literal, i.address, false};
      } else if (name == "s_abs_i32" && to == a && constants.contains(to) &&
                 static_cast<int32_t>(constants[to].value) < 0) {
        constants[to].value = 0 - constants[to].value;
        constants[to].is_negated = true;
      } else if (i.writes.test(low) || i.writes.test(high) || i.reads.test(low) ||
                 i.reads.test(high)) {
        return std::nullopt;
      } else {
        for (unsigned r = 0; r < kScalarRegisters; ++r)
          if (i.writes.test(r)) constants.erase(r);
        if (distance && i.writes_scc) return std::nullopt;
      }
    }
    return std::nullopt;
  }

  /// Finds out where control goes through registers. True if that changes something.
  bool followRegisters() {
    if (program_.pc_addresses.empty() && through_registers_.empty()) return false;
    const KnownAddresses addresses(program_, isAssembly());
    std::map<uint64_t, KnownAddresses::Numbers> found;
    std::set<uint64_t> known;
    for (const auto &[address, i] : program_.instructions) {
      if (i.mnemonic != "s_setpc_b64" && i.mnemonic != "s_swappc_b64") continue;
      const KnownAddresses::Numbers numbers = addresses.targetsOf(i);
      if (numbers.empty() || unclear_.contains(address)) continue;
      found[address] = numbers;
      known.insert(address);
    }
    // What is called is the copy of a function: nothing else may see its address.
    const KnownAddresses::Numbers seen = addresses.seenAsData(known);
    const auto isSeen = [&](int number) { return seen.contains(number); };
    bool is_new = false;
    for (const auto &[address, numbers] : found) {
      if (std::ranges::any_of(numbers, isSeen)) {
        is_new |= unclear_.insert(address).second;
        continue;
      }
      std::set<uint64_t> &targets = through_registers_[address];
      for (const int number : numbers) {
        PcAddress &pc = program_.pc_addresses[static_cast<std::size_t>(number)];
        pc.is_called = true;
        is_new |= targets.insert(pc.target).second;
      }
    }
    // With all that is known now, some may go elsewhere as well.
    for (const auto &[address, targets] : through_registers_)
      if (!found.contains(address)) is_new |= unclear_.insert(address).second;
    std::erase_if(through_registers_,
                  [&](const auto &each) { return unclear_.contains(each.first); });
    return is_new;
  }

  /// The pairs of registers in which functions find their callers: those of the kernel's own calls,
  /// or that of the ABI.
  std::map<uint64_t, std::set<unsigned>> returnRegisters() const {
    std::map<uint64_t, std::set<unsigned>> found;
    for (const auto &[address, i] : program_.instructions)
      if (i.flow == Flow::call)
        for (const uint64_t target : i.targets) found[target].insert(destination(i.word));
    for (const uint64_t function : program_.functions)
      if (auto &registers = found[function]; registers.empty()) registers = {kReturnRegister};
    return found;
  }
  /// Jumps to where all calls that lead there want to be returned to. In assembly that may be any
  /// pair of registers.
  std::set<uint64_t> findReturns() const {
    std::set<uint64_t> returns, others;
    for (const auto &[function, registers] : returnRegisters())
      for (const uint64_t address : program_.reachedFrom({function})) {
        const Instruction &i = program_.instructions.at(address);
        if (i.flow != Flow::jump_back) continue;
        const bool is_return = registers.size() == 1 && registers.contains(source0(i.word));
        (is_return ? returns : others).insert(address);
      }
    std::erase_if(returns, [&](uint64_t address) { return others.contains(address); });
    return returns;
  }

  /// Finds out which calls go to an address that cannot be told. True if that changes something.
  bool findPointerCalls() {
    program_.pointer_calls.clear();
    const std::set<uint64_t> own = program_.reachedFrom(program_.entries);
    const std::set<uint64_t> returns = findReturns();
    for (const auto &[address, i] : program_.instructions)
      if ((i.mnemonic == "s_swappc_b64" && i.targets.empty()) ||
          (i.flow == Flow::jump_back && !own.contains(address) && !returns.contains(address)))
        program_.pointer_calls.insert(address);
    if (program_.pointer_calls.empty()) return false;
    bool is_new = false;
    std::set<uint64_t> addresses = relocatedAddresses(object_.elf());
    for (const PcAddress &pc : program_.pc_addresses) addresses.insert(pc.target);
    for (const uint64_t address : addresses)
      if (const codeobj::Symbol *function = object_.functionAt(address);
          function && function->value == address && !object_.findKernel(function->name))
        is_new |= program_.pointed_to.insert(address).second;
    return is_new;
  }

  /// Whether all was understood.
  Status judge() {
    if (!unresolved_.empty())
      return refusal(unresolved_.front(), "an address that is computed from the program counter");
    std::set<uint64_t> targets;
    for (const auto &[address, i] : program_.instructions)
      targets.insert(i.targets.begin(), i.targets.end());
    for (const PcAddress &pc : program_.pc_addresses) {
      const auto inside = targets.upper_bound(pc.getpc);
      if (inside != targets.end() && *inside <= pc.high)
        return refusal(pc.getpc, "a jump into the computation of an address");
    }
    if (auto status = judgePointerCalls(); !status) return status;
    return judgeReturns();
  }

  /// What is compared with the pointer takes the place of what is overwritten anyway.
  Status judgePointerCalls() const {
    if (program_.pointed_to.size() > kMostPointedTo)
      return Error::of("its calls through pointers have too many targets");
    for (const uint64_t address : program_.pointer_calls) {
      const Instruction &i = program_.instructions.at(address);
      const unsigned to = i.flow == Flow::call ? destination(i.word) : kVcc;
      const unsigned from = source0(i.word);
      const bool overlap = from + 1 >= to && to + 1 >= from;
      if (overlap || from + 1 >= kScalarRegisters || (to != kVcc && to + 1 >= kScalarRegisters) ||
          isAssembly())
        return refusal(address, "a call through a pointer");
    }
    return Done{};
  }

  /// Code without sizes, such as Tensile's: its functions may use all registers.
  bool isAssembly() const {
    return std::ranges::any_of(object_.symbols(), [&](const codeobj::Symbol &symbol) {
      return symbol.value == kernel_.code_address && symbol.has_guessed_size;
    });
  }

  /// A jump through registers that hold no address known here must be the return of a function.
  Status judgeReturns() const {
    const std::set<uint64_t> own = program_.reachedFrom(program_.entries);
    for (const auto &[address, i] : program_.instructions)
      if (i.flow == Flow::jump_back && own.contains(address))
        return refusal(address, "a jump to an address in registers");
    for (const auto &[function, registers] : returnRegisters())
      for (const uint64_t address : program_.reachedFrom({function})) {
        const Instruction &i = program_.instructions.at(address);
        const auto writes = [&](unsigned r) {
          return r + 1 < i.writes.size() && (i.writes.test(r) || i.writes.test(r + 1));
        };
        // What may write them in a function: calls, and what brings saved ones back.
        if (std::ranges::any_of(registers, writes) && i.flow != Flow::call &&
            i.mnemonic != "v_readlane_b32" && !i.mnemonic.starts_with("s_mov_b"))
          return refusal(address, "a return address that is computed");
      }
    return Done{};
  }

  const codeobj::CodeObject &object_;
  const codeobj::Kernel &kernel_;
  const sim::Arch &arch_;
  sim::LlvmDisassembler llvm_;
  Program program_;
  std::map<uint64_t, std::set<uint64_t>> through_registers_; ///< where s_setpc and s_swappc go
  std::set<uint64_t> unclear_; ///< those that seemed to be known, and are not
  std::vector<uint64_t> unresolved_;
};

} // namespace

bool isKeptByFunctions(unsigned r) {
  return (r >= 34 && r <= 39) || (r >= 48 && r <= 55) || (r >= 64 && r <= 71) ||
         (r >= 80 && r <= 87) || (r >= 96 && r <= 103);
}

std::set<uint64_t> Program::reachedFrom(std::vector<uint64_t> to_do) const {
  std::set<uint64_t> seen;
  while (!to_do.empty()) {
    const uint64_t address = to_do.back();
    to_do.pop_back();
    if (!seen.insert(address).second) continue;
    for (const uint64_t next : successors(instructions.at(address))) to_do.push_back(next);
  }
  return seen;
}

std::vector<uint64_t> Program::successors(const Instruction &i) const {
  std::vector<uint64_t> all;
  if (i.reachesNext()) all.push_back(i.next());
  if (i.flow == Flow::jump || i.flow == Flow::conditional)
    all.insert(all.end(), i.targets.begin(), i.targets.end());
  return all;
}

Status Program::checkIndexing(const std::function<bool(uint64_t)> &isPlace) const {
  bool is_on = false;
  for (const auto &[address, i] : instructions) {
    const bool was_on = is_on; // for what comes before the instruction
    if (i.mnemonic == "s_set_gpr_idx_on") is_on = true;
    if (i.mnemonic == "s_set_gpr_idx_off") is_on = false;
    if ((was_on && isPlace(address)) || (is_on && i.flow != Flow::next))
      return refusal(address, i.mnemonic + " while registers are indexed");
  }
  return Done{};
}

std::bitset<128> Program::used() const {
  std::bitset<128> all;
  for (const auto &[address, i] : instructions) all |= i.reads | i.writes;
  return all;
}

std::optional<unsigned> Program::vectors() const {
  if (!pointer_calls.empty()) return std::nullopt;
  unsigned end = 0;
  for (const auto &[address, i] : instructions) {
    if (!i.vectors) return std::nullopt;
    end = std::max(end, *i.vectors);
  }
  return end;
}

std::map<uint64_t, bool> Program::sccLiveness() const {
  std::map<uint64_t, bool> live;
  const auto isLive = [&](uint64_t address) { return live[address]; };
  bool is_returned = false; // a caller reads what a function has left
  // Backwards over the code, until nothing changes: loops take a second time.
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (auto at = instructions.rbegin(); at != instructions.rend(); ++at) {
      const Instruction &i = at->second;
      bool is_live = i.reads_scc;
      if (i.flow == Flow::call) {
        // Functions that are not known keep to the ABI: they neither take nor return it.
        is_live |= std::ranges::any_of(i.targets, isLive);
        const bool is_read = !i.targets.empty() && isLive(i.next());
        has_changed |= is_read && !is_returned;
        is_returned |= is_read;
      } else if (i.flow == Flow::jump_back) {
        is_live |= is_returned && !pointer_calls.contains(i.address);
      } else if (!i.writes_scc) {
        is_live |= std::ranges::any_of(successors(i), isLive);
      }
      bool &known = live[at->first];
      has_changed |= known != is_live;
      known = is_live;
    }
  }
  return live;
}

const sim::Arch *archOf(const codeobj::Target &target) {
  if (!target.generic) return sim::find_arch(target.processor);
  // Those of which all that it stands for have the instructions.
  for (const char *name : {"gfx942", "gfx1030", "gfx1100", "gfx1200"})
    if (genericOf(name) == target.processor) return sim::find_arch(name);
  return nullptr;
}

Result<Program> readProgram(const codeobj::CodeObject &object, const codeobj::Kernel &kernel) {
  return Reader(object, kernel).read();
}

} // namespace fade::rewrite
