#include "rewrite/recording.h"

#include "rewrite/address.h"
#include "rewrite/copied_code.h"
#include "rewrite/dialect.h"
#include "rewrite/pointer_calls.h"

#include "fade/message.h"
#include "fade/sites.h"

#include <algorithm>
#include <cstddef>

namespace fade::rewrite {
namespace {

/// Calls reach 128 KiB: there is one more copy of the routine behind so many bytes.
constexpr std::size_t kRoutineEvery = 96 << 10;

// Vector registers that are added.
enum Vector : unsigned {
  kAddress = 0,  ///< pair: of each lane
  kData = 2,     ///< pair
  kExpected = 4, ///< pair: the addresses, if they are on a line
  kOffset = 6,   ///< in the ring
  kKept = 7,     ///< what follows, in its lanes
  kVectorCount = 8,
};
// Lanes of kKept.
enum Lane : unsigned {
  kControl = 0,   ///< two: address of the fade_control
  kWave = 2,      ///< number of the wave
  kArguments = 3, ///< two: address
  kPacket = 5,    ///< two: address
  kFirstSaved = 7,
};

// What the routine is told about an access.
constexpr unsigned kMayBeArgument = 0, kMayBePrivate = 1, kMayBeOutside = 2; // bits

constexpr uint32_t headerOf(uint32_t words, uint32_t kind, uint32_t encoding) {
  return words | kind << 16 | encoding << 24;
}

/// Whether a line is an instruction of the scalar unit that computes something.
bool writesScalars(std::string_view line) {
  constexpr std::array<std::string_view, 7> others = {"s_cmp",  "s_bitcmp", "s_nop", "s_sleep",
                                                      "s_load", "s_setpc",  "s_wait"};
  return line.starts_with("s_") && std::ranges::none_of(others, [&](std::string_view other) {
           return line.starts_with(other);
         });
}

/// Scalar registers that the routine uses. Those of the kernel are saved meanwhile.
class Scalars {
public:
  unsigned back = 0;    ///< pair: where the routine returns to
  unsigned site = 0;    ///< pair: number of the site, and what is known of the access
  unsigned exec = 0;    ///< pair: lanes that were active
  unsigned control = 0; ///< pair: address
  unsigned base = 0;    ///< pair: address of the first lane
  unsigned ring = 0;    ///< four: address and mask
  unsigned t = 0;       ///< pair: temporary
  unsigned lanes = 0;   ///< pair: of the record
  unsigned scc = 0, stride = 0, header = 0, position = 0, size = 0;

  std::vector<unsigned> saved; ///< in lanes from kFirstSaved on; those of calls come first
  unsigned saved_by_calls = 0; ///< how many
  unsigned taken = 0, end = 0; ///< that the kernel does not use; behind the last
};

class RecordingWriter {
public:
  RecordingWriter(const RecordingRequest &request, Assembler &assembler)
      : in_(request),
        dialect_(request.object.target(), request.kernel.descriptor.wavefront_size == 32),
        launch_(request.object, request.kernel), start_(launch_.withWorkgroup()),
        copy_(request.object, request.program, request.address, assembler), routine_(copy_.label()),
        block_routine_(copy_.label()), count_routine_(copy_.label()) {}

  Result<RecordingCode> write() {
    if (auto status = launch_.check(); !status) return std::move(status).error();
    if (auto status = chooseRegisters(); !status) return std::move(status).error();
    if (auto status = checkIndexing(); !status) return std::move(status).error();
    writeEntry();
    for (const auto &[address, i] : in_.program.instructions)
      if (auto status = writeInstruction(i); !status) return std::move(status).error();
    writeRoutines();
    copy_.pad();
    auto code = copy_.finish();
    if (!code) return std::move(code).error();
    out_.code = *std::move(code);
    out_.descriptor = launch_.descriptor(
        {.scalars = s_.end, .vectors = v_ + kVectorCount, .has_workgroup = true});
    out_.registers = s_.taken;
    out_.vector_registers = kVectorCount;
    return std::move(out_);
  }

private:
  // Deciding.

  Status chooseRegisters() {
    constexpr unsigned aligned = 2, of_work_items = 3; // pairs; v0 to v2
    v_ = std::max((launch_.firstVector(callsPointers()) + aligned - 1) / aligned * aligned,
                  of_work_items + 1);
    if (v_ + kVectorCount > kVectorRegisters)
      return Error::of("it leaves no vector registers free");
    if (!launch_.fits(v_ + kVectorCount))
      return Error::of("with more vector registers its workgroups would not fit");
    used_ = in_.program.used();
    for (const auto &[address, site] : in_.sites) {
      const auto at = in_.program.instructions.find(address);
      if (at != in_.program.instructions.end()) read_at_sites_ |= at->second.reads;
    }
    // What a call overwrites before the routine saves the rest.
    const bool is_complete = take(2, s_.back, true) && take(2, s_.site, true) &&
                             (s_.saved_by_calls = savedCount(), true) && take(4, s_.ring) &&
                             take(2, s_.exec) && take(2, s_.control) && take(2, s_.base) &&
                             take(2, s_.t) && take(2, s_.lanes) && take(1, s_.scc) &&
                             take(1, s_.stride) && take(1, s_.header) && take(1, s_.position) &&
                             take(1, s_.size);
    if (!is_complete) return Error::of("it leaves too few scalar registers free");
    return Done{};
  }
  unsigned savedCount() const { return static_cast<unsigned>(s_.saved.size()); }

  /// Takes registers side by side, of those that the kernel leaves free if there are as many.
  bool take(unsigned count, unsigned &to, bool is_for_calls = false) {
    for (const bool may_be_used : {false, true})
      for (unsigned first = (start_.end + count - 1) / count * count;
           first + count <= launch_.scalarLimit(); first += count) {
        const auto is_fine = [&](unsigned r) {
          return !taken_.test(r) && (may_be_used || !used_.test(r)) &&
                 (!is_for_calls || !read_at_sites_.test(r));
        };
        bool are_fine = true;
        for (unsigned r = first; r < first + count; ++r) are_fine &= is_fine(r);
        if (!are_fine) continue;
        for (unsigned r = first; r < first + count; ++r) {
          taken_.set(r);
          if (used_.test(r))
            s_.saved.push_back(r);
          else
            ++s_.taken;
        }
        s_.end = std::max(s_.end, first + count);
        to = first;
        return true;
      }
    return false;
  }

  bool callsPointers() const { return !in_.program.pointer_calls.empty(); }
  /// Whether something is inserted there.
  bool isSite(uint64_t address) const {
    return in_.sites.contains(address) || in_.blocks.contains(address);
  }

  /// gfx9: between s_set_gpr_idx_on and _off vector instructions mean other registers.
  Status checkIndexing() const {
    bool is_on = false;
    for (const auto &[address, i] : in_.program.instructions) {
      if (i.mnemonic == "s_set_gpr_idx_on") is_on = true;
      if (i.mnemonic == "s_set_gpr_idx_off") is_on = false;
      if (is_on && (isSite(address) || i.flow != Flow::next))
        return Error::of(
            fmt::format("{} at {:#x} while registers are indexed", i.mnemonic, address));
    }
    return Done{};
  }

  /// Nothing can be inserted into a clause of memory instructions; without it they are the same.
  bool isClauseWithSites(const Instruction &clause) const {
    if (clause.mnemonic != "s_clause") return false;
    uint64_t at = clause.next();
    for (unsigned n = 0; n <= (clause.word & 63); ++n) {
      if (isSite(at)) return true;
      const auto next = in_.program.instructions.find(at);
      if (next == in_.program.instructions.end()) return false;
      at = next->second.next();
    }
    return false;
  }

  // Writing.

  std::string v(unsigned which) const { return fmt::format("v{}", v_ + which); }
  static std::string s(unsigned number) { return fmt::format("s{}", number); }
  /// gfx12: what the scalar unit writes must not be read at once where vector instructions have
  /// read the register before.
  void put(std::initializer_list<std::string> lines) {
    for (const std::string &line : lines) {
      copy_.put({line});
      if (dialect_.major() >= 12 && writesScalars(line)) copy_.put({"s_wait_alu 0xfffe"});
    }
  }
  void settle() {
    Lines lines;
    dialect_.settle(lines);
    copy_.put(lines);
  }
  template <typename Wait> void wait(Wait what) {
    Lines lines;
    (dialect_.*what)(lines);
    copy_.put(lines);
  }
  void keep(unsigned from, unsigned lane) {
    put({fmt::format("v_writelane_b32 {}, s{}, {}", v(kKept), from, lane)});
  }
  void bringBack(unsigned to, unsigned lane) {
    put({fmt::format("v_readlane_b32 s{}, {}, {}", to, v(kKept), lane)});
  }
  void save(unsigned first, unsigned end) {
    if (first == end) return;
    wait(&Dialect::waitForScalars); // they may still be on their way
    for (unsigned n = first; n < end; ++n) keep(s_.saved[n], kFirstSaved + n);
    settle();
  }
  void restore(unsigned first, unsigned end) {
    if (first == end) return;
    for (unsigned n = first; n < end; ++n) bringBack(s_.saved[n], kFirstSaved + n);
    settle();
  }
  void execTo(const std::string &value) {
    put({fmt::format("{} {}, {}", dialect_.ofLanes("s_mov"), dialect_.exec(), value)});
    if (dialect_.major() >= 11) settle();
  }
  void moveTo(unsigned vector, const std::string &from) {
    put({fmt::format("v_mov_b32_e32 {}, {}", v(vector), from)});
  }
  /// Two words of the record, by one lane.
  void store(const std::string &low, const std::string &high, unsigned offset) {
    moveTo(kData, low);
    moveTo(kData + 1, high);
    put({dialect_.store(v_ + kOffset, v_ + kData, s_.ring, offset, Scope::system)});
  }

  /// Reserves as many bytes of the ring as s_.size says, and waits until they are free. One lane is
  /// active then, and has their offset.
  void reserve() {
    wait(&Dialect::waitForScalars);
    execTo("1");
    moveTo(kData, s(s_.size));
    moveTo(kData + 1, "0");
    moveTo(kOffset, "0");
    put({dialect_.load(v_ + kExpected, v_ + kOffset, s_.control, offsetof(fade_control, limit),
                       Scope::device),
         dialect_.addReturning(v_ + kData, v_ + kOffset, v_ + kData, s_.control,
                               offsetof(fade_control, head))});
    wait(&Dialect::waitForVectors);
    put({fmt::format("v_readfirstlane_b32 s{}, {}", s_.position, v(kData)),
         fmt::format("v_readfirstlane_b32 s{}, {}", s_.t, v(kExpected))});
    settle();
    const CopiedCode::Label again = copy_.label(), has_room = copy_.label();
    copy_.place(again);
    put({fmt::format("s_sub_u32 s{0}, s{0}, s{1}", s_.t, s_.position),
         fmt::format("s_cmp_ge_i32 s{}, s{}", s_.t, s_.size)});
    copy_.jump("s_cbranch_scc1", has_room);
    put({"s_sleep 8", dialect_.loadScalars(2, scalarPair(s_.t), scalarPair(s_.control),
                                           offsetof(fade_control, tail))});
    wait(&Dialect::waitForScalars);
    put({dialect_.load(v_ + kData, v_ + kOffset, s_.t, 0, Scope::system)});
    wait(&Dialect::waitForVectors);
    put({fmt::format("v_readfirstlane_b32 s{}, {}", s_.t, v(kData)),
         fmt::format("v_readfirstlane_b32 s{}, {}", s_.t + 1, v(kData + 1))});
    settle();
    put({fmt::format("s_add_u32 s{0}, s{0}, s{1}", s_.t, s_.ring + 2),
         fmt::format("s_addc_u32 s{0}, s{0}, s{1}", s_.t + 1, s_.ring + 3),
         fmt::format("s_add_u32 s{0}, s{0}, 1", s_.t),
         fmt::format("s_addc_u32 s{0}, s{0}, 0", s_.t + 1)});
    if (dialect_.major() >= 11) settle();
    moveTo(kData, s(s_.t));
    moveTo(kData + 1, s(s_.t + 1));
    put({dialect_.raise(v_ + kOffset, v_ + kData, s_.control, offsetof(fade_control, limit))});
    copy_.jump("s_branch", again);
    copy_.place(has_room);
    put({fmt::format("s_and_b32 s{0}, s{0}, s{1}", s_.position, s_.ring + 2)});
    if (dialect_.major() >= 11) settle();
    moveTo(kOffset, s(s_.position));
  }
  /// The header, last of all.
  void publish(const std::string &site, const std::string &header) {
    wait(&Dialect::waitForStores);
    store(site, header, 0);
  }
  void loadRing() {
    put({dialect_.loadScalars(4, fmt::format("s[{}:{}]", s_.ring, s_.ring + 3),
                              scalarPair(s_.control), offsetof(fade_control, data))});
  }

  // The beginning of a wave.

  void readWorkItem() {
    const codeobj::KernelDescriptor &d = in_.kernel.descriptor;
    put({fmt::format("v_readlane_b32 s{}, v0, 0", s_.stride)});
    if (archOf(in_.object.target())->packed_ids) {
      // As the original sees it: without what it does not ask for.
      if (d.system.workitem_id < 2)
        put({fmt::format("v_and_b32_e32 v0, {:#x}, v0",
                         d.system.workitem_id == 0 ? 0x3ff : 0xfffff)});
      return;
    }
    for (const unsigned y_or_z : {1u, 2u}) {
      put({fmt::format("v_readlane_b32 s{}, v{}, 0", s_.t, y_or_z)});
      settle();
      put({fmt::format("s_lshl_b32 s{0}, s{0}, {1}", s_.t, 10 * y_or_z),
           fmt::format("s_or_b32 s{0}, s{0}, s{1}", s_.stride, s_.t)});
    }
  }
  void readTimes() {
    readClock();
    put({dialect_.major() < 11 ? fmt::format("s_memrealtime {}", scalarPair(s_.lanes))
                               : fmt::format("s_sendmsg_rtn_b64 {}, sendmsg(MSG_RTN_GET_REALTIME)",
                                             scalarPair(s_.lanes))});
  }
  /// It has arrived when scalar loads have.
  void readClock() {
    const unsigned clock = s_.base;
    if (dialect_.major() < 11) put({fmt::format("s_memtime {}", scalarPair(clock))});
    if (dialect_.major() == 11)
      put({fmt::format("s_getreg_b32 s{}, hwreg(HW_REG_SHADER_CYCLES, 0, 20)", clock),
           fmt::format("s_mov_b32 s{}, 0", clock + 1)});
    if (dialect_.major() >= 12)
      put({fmt::format("s_getreg_b32 s{}, hwreg(HW_REG_SHADER_CYCLES_LO)", clock),
           fmt::format("s_getreg_b32 s{}, hwreg(HW_REG_SHADER_CYCLES_HI)", clock + 1)});
  }
  void storeWorkgroup() {
    put({fmt::format("s_getreg_b32 s{}, hwreg({})", s_.header,
                     dialect_.major() == 9 ? "HW_REG_HW_ID" : "HW_REG_HW_ID1")});
    std::array<std::string, 3> id;
    for (unsigned i = 0; i < 3; ++i) id[i] = s(start_.workgroup[i]);
    if (dialect_.major() >= 12) {
      put({fmt::format("s_and_b32 s{}, ttmp7, 0xffff", s_.t),
           fmt::format("s_lshr_b32 s{}, ttmp7, 16", s_.t + 1)});
      settle();
      id = {"ttmp9", s(s_.t), s(s_.t + 1)};
    }
    store(id[0], id[1], offsetof(fade_wave_begin, workgroup_x));
    store(id[2], s(s_.header), offsetof(fade_wave_begin, workgroup_z));
    put({fmt::format("s_mov_b64 {}, src_shared_base", scalarPair(s_.t)),
         fmt::format("s_mov_b32 s{}, s{}", s_.t, s_.t + 1),
         fmt::format("s_mov_b64 {}, src_private_base", scalarPair(s_.site))});
    if (dialect_.major() >= 11) settle();
    store(s(s_.t), s(s_.site + 1), offsetof(fade_wave_begin, shared_base));
  }

  /// Announces the wave. No register is saved: those of the kernel that are used here are not set
  /// yet.
  void announce() {
    const unsigned arguments = launch_.kernargRegister();
    keep(arguments, kArguments);
    keep(arguments + 1, kArguments + 1);
    if (in_.kernel.descriptor.user_sgprs.dispatch_ptr) {
      keep(launch_.packetRegister(), kPacket);
      keep(launch_.packetRegister() + 1, kPacket + 1);
    }
    readWorkItem();
    put({dialect_.loadScalars(2, scalarPair(s_.control), scalarPair(arguments),
                              controlOffset(in_.kernel)),
         fmt::format("{} {}, {}", dialect_.ofLanes("s_mov"), dialect_.lanes(s_.exec),
                     dialect_.exec())});
    wait(&Dialect::waitForScalars);
    keep(s_.control, kControl);
    keep(s_.control + 1, kControl + 1);
    const CopiedCode::Label done = copy_.label();
    put({fmt::format("s_cmp_eq_u64 {}, 0", scalarPair(s_.control))});
    copy_.jump("s_cbranch_scc1", done);
    loadRing();
    readTimes();
    put({fmt::format("s_movk_i32 s{}, {}", s_.size, sizeof(fade_wave_begin))});
    execTo("1");
    moveTo(kData, "1");
    moveTo(kOffset, "0");
    put({dialect_.addReturning32(v_ + kExpected, v_ + kOffset, v_ + kData, s_.control,
                                 offsetof(fade_control, waves))});
    wait(&Dialect::waitForVectors);
    put({fmt::format("v_readfirstlane_b32 s{}, {}", s_.site, v(kExpected))});
    settle();
    keep(s_.site, kWave);
    reserve();
    store(s(s_.exec), dialect_.isWave32() ? "0" : s(s_.exec + 1), offsetof(fade_wave_begin, mask));
    store(s(s_.base), s(s_.base + 1), offsetof(fade_wave_begin, clock));
    store(s(s_.site), s(s_.stride), offsetof(fade_wave_begin, wave));
    store(s(s_.lanes), s(s_.lanes + 1), offsetof(fade_wave_begin, time));
    store(fmt::format("{:#x}", static_cast<uint32_t>(in_.module)),
          fmt::format("{:#x}", static_cast<uint32_t>(in_.module >> 32)),
          offsetof(fade_wave_begin, module));
    storeWorkgroup();
    const uint32_t flags = dialect_.isWave32() ? FADE_WAVE_IS_WAVE32 : 0;
    put({fmt::format(
        "s_mov_b32 s{}, {:#x}", s_.header,
        headerOf(sizeof(fade_wave_begin) / FADE_RECORD_ALIGN, FADE_RECORD_WAVE_BEGIN, flags))});
    if (dialect_.hasXcc())
      put({fmt::format("s_getreg_b32 s{}, hwreg(HW_REG_XCC_ID, 0, 4)", s_.t),
           fmt::format("s_lshl_b32 s{0}, s{0}, {1}", s_.t, 24 + FADE_WAVE_XCC_SHIFT),
           fmt::format("s_or_b32 s{0}, s{0}, s{1}", s_.header, s_.t)});
    if (dialect_.major() >= 11) settle();
    publish("0", s(s_.header));
    copy_.place(done);
    execTo(dialect_.lanes(s_.exec));
    for (const LaunchRegisters::Move &move : start_.moves)
      put({fmt::format("s_mov_b32 s{}, s{}", move.to, move.from)});
    if (dialect_.major() >= 11) settle();
  }

  void writeEntry() {
    const std::vector<uint64_t> &entries = in_.program.entries;
    if (entries.size() == 1) {
      announce();
      if (in_.program.instructions.begin()->first != entries.front())
        copy_.jumpToCopy("s_branch", entries.front());
      return;
    }
    // Hardware that preloads arguments starts behind the entry.
    const CopiedCode::Label first = copy_.label();
    copy_.jump("s_branch", first);
    while (copy_.size() < kPreloadedEntry) put({"s_nop 0"});
    announce();
    copy_.jumpToCopy("s_branch", entries.back());
    copy_.place(first);
    announce();
    copy_.jumpToCopy("s_branch", entries.front());
  }

  // Accesses.

  Status writeInstruction(const Instruction &i) {
    if (copy_.size() - last_routine_ > kRoutineEvery) {
      const CopiedCode::Label over = copy_.label();
      copy_.jump("s_branch", over);
      writeRoutines();
      copy_.place(over);
    }
    copy_.beginAt(i);
    if (const auto block = in_.blocks.find(i.address); block != in_.blocks.end())
      callBlockRoutines(block->second);
    if (const auto site = in_.sites.find(i.address); site != in_.sites.end())
      if (auto status = callRoutine(i, site->second); !status) return status;
    if (isClauseWithSites(i))
      copy_.leaveOut(i);
    else if (in_.program.pointer_calls.contains(i.address))
      putPointerCall(copy_, dialect_, in_.program, i, [&] { leave(); });
    else
      copy_.copy(i);
    // The same for the kernel's own registers, which vector instructions read that are inserted.
    const bool is_read = (i.writes & (read_at_sites_ | taken_)).any();
    if (dialect_.major() >= 12 && is_read && i.flow == Flow::next && writesScalars(i.mnemonic))
      put({"s_wait_alu 0xfffe"});
    return Done{};
  }

  Status callRoutine(const Instruction &i, const RecordingRequest::Site &site) {
    const auto accesses = addressesOf(
        in_.object, i, dialect_, {v_ + kAddress, v_ + kData, v_ + kExpected, s_.site}, site.bytes);
    if (!accesses) return accesses.error();
    ++out_.sites;
    save(0, s_.saved_by_calls);
    for (const AccessAddress &access : *accesses) {
      copy_.put(access.lines);
      if (dialect_.major() >= 11) settle();
      put({fmt::format("s_mov_b32 s{}, {:#x}", s_.site, site.number),
           fmt::format("s_movk_i32 s{}, {}", s_.site + 1,
                       unsigned{access.may_be_argument} << kMayBeArgument |
                           unsigned{access.may_be_private} << kMayBePrivate |
                           unsigned{access.may_be_outside} << kMayBeOutside)});
      copy_.jump(fmt::format("s_call_b64 {},", scalarPair(s_.back)), routine_);
    }
    restore(0, s_.saved_by_calls);
    return Done{};
  }

  /// What is called records nothing: it counts as dropped, once.
  void leave() {
    save(0, s_.saved_by_calls);
    moveTo(kAddress + 1, fmt::format("{}", kNotUnderstood));
    put({fmt::format("s_movk_i32 s{}, {}", s_.site + 1, 1u << kMayBeOutside)});
    copy_.jump(fmt::format("s_call_b64 {},", scalarPair(s_.back)), routine_);
    restore(0, s_.saved_by_calls);
  }

  void callBlockRoutines(uint32_t site) {
    save(0, s_.saved_by_calls);
    put({fmt::format("s_mov_b32 s{}, {:#x}", s_.site, site)});
    const std::string call = fmt::format("s_call_b64 {},", scalarPair(s_.back));
    if (hasMode(FADE_MODE_BLOCKS)) copy_.jump(call, block_routine_);
    if (hasMode(FADE_MODE_COUNTS)) copy_.jump(call, count_routine_);
    restore(0, s_.saved_by_calls);
  }
  bool hasMode(uint32_t mode) const { return (in_.modes & mode) != 0; }

  /// Jumps to `to` if the first lane's address is one of so many bytes from that in a lane of
  /// kKept on.
  void leaveIfWithin(unsigned lane, uint32_t bytes, CopiedCode::Label to) {
    const CopiedCode::Label is_elsewhere = copy_.label();
    bringBack(s_.t, lane);
    bringBack(s_.t + 1, lane + 1);
    settle();
    put({fmt::format("s_sub_u32 s{0}, s{1}, s{0}", s_.t, s_.base),
         fmt::format("s_subb_u32 s{0}, s{1}, s{0}", s_.t + 1, s_.base + 1),
         fmt::format("s_cmp_lg_u32 s{}, 0", s_.t + 1)});
    copy_.jump("s_cbranch_scc1", is_elsewhere);
    put({fmt::format("s_cmp_lt_u32 s{}, {:#x}", s_.t, bytes)});
    copy_.jump("s_cbranch_scc1", to);
    copy_.place(is_elsewhere);
  }

  /// Lanes that access their scratch are not recorded, and loads of arguments neither, as the
  /// software GPU's observer has it.
  void filter(CopiedCode::Label out) {
    const CopiedCode::Label is_shared = copy_.label(), is_wanted = copy_.label();
    put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.site + 1, kMayBePrivate)});
    copy_.jump("s_cbranch_scc0", is_shared);
    put({fmt::format("s_mov_b64 {}, src_private_base", scalarPair(s_.t))});
    if (dialect_.major() >= 11) settle();
    put({fmt::format("v_cmp_ne_u32_e64 {}, s{}, {}", dialect_.lanes(s_.t), s_.t + 1,
                     v(kAddress + 1))});
    settle();
    put({fmt::format("{0} {1}, {1}, {2}", dialect_.ofLanes("s_and"), dialect_.exec(),
                     dialect_.lanes(s_.t))});
    copy_.jump("s_cbranch_execz", out);
    copy_.place(is_shared);
    filterBuffers(out);
    put({fmt::format("v_readfirstlane_b32 s{}, {}", s_.base, v(kAddress)),
         fmt::format("v_readfirstlane_b32 s{}, {}", s_.base + 1, v(kAddress + 1))});
    settle();
    put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.site + 1, kMayBeArgument)});
    copy_.jump("s_cbranch_scc0", is_wanted);
    constexpr uint32_t least = 256, packet = 64;
    leaveIfWithin(kArguments, std::max(in_.kernel.descriptor.kernarg_size, least), out);
    if (in_.kernel.descriptor.user_sgprs.dispatch_ptr) leaveIfWithin(kPacket, packet, out);
    copy_.place(is_wanted);
  }

  /// Lanes with that in the upper halves of their addresses, in s_.t.
  void findLanes(const char *comparison, int upper) {
    put({fmt::format("{} {}, {}, {}", comparison, dialect_.lanes(s_.t), upper, v(kAddress + 1))});
    settle();
  }
  /// What is not understood counts as dropped, as a whole.
  void filterBuffers(CopiedCode::Label out) {
    const CopiedCode::Label is_no_buffer = copy_.label(), is_understood = copy_.label();
    put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.site + 1, kMayBeOutside)});
    copy_.jump("s_cbranch_scc0", is_no_buffer);
    findLanes("v_cmp_eq_u32_e64", kNotUnderstood);
    put({dialect_.isWave32() ? fmt::format("s_cmp_eq_u32 s{}, 0", s_.t)
                             : fmt::format("s_cmp_eq_u64 {}, 0", scalarPair(s_.t))});
    copy_.jump("s_cbranch_scc1", is_understood);
    execTo("1");
    moveTo(kData, "1");
    moveTo(kData + 1, "0");
    moveTo(kOffset, "0");
    put({dialect_.addReturning(v_ + kData, v_ + kOffset, v_ + kData, s_.control,
                               offsetof(fade_control, dropped))});
    wait(&Dialect::waitForVectors);
    copy_.jump("s_branch", out);
    copy_.place(is_understood);
    findLanes("v_cmp_ne_u32_e64", kOutside);
    put({fmt::format("{0} {1}, {1}, {2}", dialect_.ofLanes("s_and"), dialect_.exec(),
                     dialect_.lanes(s_.t))});
    copy_.jump("s_cbranch_execz", out);
    if (dialect_.major() >= 11) settle();
    copy_.place(is_no_buffer);
  }

  /// Finds out whether the addresses are on a line, and how large the record is.
  void chooseEncoding() {
    const bool is_wave32 = dialect_.isWave32();
    const std::string exec = dialect_.exec();
    keepLanes();
    put({fmt::format("{} s{}, {}",
                     dialect_.major() >= 11 ? dialect_.ofLanes("s_ctz_i32")
                                            : dialect_.ofLanes("s_ff1_i32"),
                     s_.t, exec)});
    if (dialect_.major() >= 11) settle();
    put({fmt::format("v_mbcnt_lo_u32_b32 {}, -1, 0", v(kOffset))});
    if (!is_wave32) put({fmt::format("v_mbcnt_hi_u32_b32 {0}, -1, {0}", v(kOffset))});
    put({fmt::format("{0} {1}, s{2}, {1}", dialect_.subtractFrom(), v(kOffset), s_.t),
         fmt::format("s_add_u32 s{0}, s{0}, 1", s_.t)});
    settle();
    put({fmt::format("v_readlane_b32 s{}, {}, s{}", s_.stride, v(kAddress), s_.t)});
    settle();
    // The distance to the neighbour of the first lane, if that is active.
    put({fmt::format("s_sub_u32 s{0}, s{0}, s{1}", s_.stride, s_.base),
         fmt::format("{} {}, s{}", is_wave32 ? "s_bitcmp1_b32" : "s_bitcmp1_b64", exec, s_.t),
         fmt::format("s_cselect_b32 s{0}, s{0}, 0", s_.stride)});
    if (dialect_.major() >= 11) settle();
    moveTo(kData, s(s_.base));
    moveTo(kData + 1, s(s_.base + 1));
    put({fmt::format("{} {}, {}, {}, s{}, {}", dialect_.multiplyAdd(), vectorPair(v_ + kExpected),
                     dialect_.lanes(s_.t), v(kOffset), s_.stride, vectorPair(v_ + kData)),
         fmt::format("v_cmp_ne_u64_e64 {}, {}, {}", dialect_.lanes(s_.t),
                     vectorPair(v_ + kExpected), vectorPair(v_ + kAddress))});
    settle();
    const CopiedCode::Label is_raw = copy_.label(), is_known = copy_.label();
    put({is_wave32 ? fmt::format("s_cmp_lg_u32 s{}, 0", s_.t)
                   : fmt::format("s_cmp_lg_u64 {}, 0", scalarPair(s_.t))});
    copy_.jump("s_cbranch_scc1", is_raw);
    constexpr uint32_t words = sizeof(fade_record) / FADE_RECORD_ALIGN;
    static_assert(FADE_ENCODING_UNIFORM == 0 && FADE_ENCODING_AFFINE == 1);
    put({fmt::format("s_cmp_lg_u32 s{}, 0", s_.stride),
         fmt::format("s_cselect_b32 s{}, 1, 0", s_.header),
         fmt::format("s_lshl_b32 s{0}, s{0}, 24", s_.header),
         fmt::format("s_or_b32 s{0}, s{0}, {1:#x}", s_.header,
                     headerOf(words, FADE_RECORD_ACCESS, 0)),
         fmt::format("s_movk_i32 s{}, {}", s_.size, sizeof(fade_record))});
    copy_.jump("s_branch", is_known);
    copy_.place(is_raw);
    put({fmt::format("s_mov_b32 s{}, 0", s_.stride),
         fmt::format("{} s{}, {}", dialect_.ofLanes("s_bcnt1_i32"), s_.t, exec),
         fmt::format("s_add_u32 s{0}, s{0}, {1}", s_.t, words - 1),
         fmt::format("s_lshl_b32 s{}, s{}, 3", s_.size, s_.t),
         fmt::format("s_or_b32 s{}, s{}, {:#x}", s_.header, s_.t,
                     headerOf(0, FADE_RECORD_ACCESS, FADE_ENCODING_RAW))});
    copy_.place(is_known);
    if (dialect_.major() >= 11) settle();
  }

  /// By all lanes but the first.
  void storeAddresses() {
    const CopiedCode::Label is_line = copy_.label();
    constexpr unsigned bit_of_raw = 26;
    static_assert(FADE_ENCODING_RAW == 4);
    put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.header, bit_of_raw)});
    copy_.jump("s_cbranch_scc0", is_line);
    put({fmt::format("s_sub_u32 s{}, s{}, 1", s_.t, s_.lanes),
         fmt::format("s_subb_u32 s{}, s{}, 0", s_.t + 1, s_.lanes + 1),
         fmt::format("{} {}, {}, {}", dialect_.ofLanes("s_and"), dialect_.exec(),
                     dialect_.lanes(s_.lanes), dialect_.lanes(s_.t)),
         fmt::format("s_add_u32 s{}, s{}, {}", s_.t, s_.position, sizeof(fade_record) - 8)});
    if (dialect_.major() >= 11) settle();
    put({fmt::format("v_mbcnt_lo_u32_b32 {}, s{}, 0", v(kExpected), s_.lanes)});
    if (!dialect_.isWave32())
      put({fmt::format("v_mbcnt_hi_u32_b32 {0}, s{1}, {0}", v(kExpected), s_.lanes + 1)});
    put({fmt::format("v_lshlrev_b32_e32 {0}, 3, {0}", v(kExpected)),
         fmt::format("{0} {1}, s{2}, {1}", dialect_.add(), v(kExpected), s_.t),
         dialect_.store(v_ + kExpected, v_ + kAddress, s_.ring, 0, Scope::system)});
    execTo("1");
    copy_.place(is_line);
  }

  void writeRoutines() {
    if (hasMode(FADE_MODE_ACCESSES) || callsPointers())
      writeRoutine(routine_, &RecordingWriter::recordAccess);
    if (hasMode(FADE_MODE_BLOCKS)) writeRoutine(block_routine_, &RecordingWriter::recordBlock);
    if (hasMode(FADE_MODE_COUNTS)) writeRoutine(count_routine_, &RecordingWriter::countBlock);
    last_routine_ = copy_.size();
  }

  /// A routine that does `what` for the lanes that are active. `what` may jump to its end.
  void writeRoutine(CopiedCode::Label &routine, void (RecordingWriter::*what)(CopiedCode::Label)) {
    const CopiedCode::Label nobody = copy_.label(), out = copy_.label();
    copy_.place(std::exchange(routine, copy_.label()));
    copy_.jump("s_cbranch_execz", nobody);
    save(s_.saved_by_calls, savedCount());
    put({fmt::format("s_cselect_b32 s{}, 1, 0", s_.scc),
         fmt::format("{} {}, {}", dialect_.ofLanes("s_mov"), dialect_.lanes(s_.exec),
                     dialect_.exec())});
    bringBack(s_.control, kControl);
    bringBack(s_.control + 1, kControl + 1);
    settle();
    put({fmt::format("s_cmp_eq_u64 {}, 0", scalarPair(s_.control))});
    copy_.jump("s_cbranch_scc1", out);
    (this->*what)(out);
    copy_.place(out);
    wait(&Dialect::waitForScalars); // who has left early has not
    execTo(dialect_.lanes(s_.exec));
    put({fmt::format("s_cmp_lg_u32 s{}, 0", s_.scc)});
    restore(s_.saved_by_calls, savedCount());
    copy_.place(nobody);
    put({fmt::format("s_setpc_b64 {}", scalarPair(s_.back))});
  }

  /// Of the addresses in kAddress.
  void recordAccess(CopiedCode::Label out) {
    loadRing();
    filter(out);
    chooseEncoding();
    reserve();
    storeShared(s(s_.stride));
    storeAddresses();
    publish(s(s_.site), s(s_.header));
  }

  /// What all records have besides the header.
  void storeShared(const std::string &extra) {
    store(s(s_.lanes), s(s_.lanes + 1), offsetof(fade_record, mask));
    store(s(s_.base), s(s_.base + 1), offsetof(fade_record, value));
    bringBack(s_.t, kWave);
    settle();
    store(s(s_.t), extra, offsetof(fade_record, wave));
  }

  void recordBlock(CopiedCode::Label) {
    loadRing();
    readClock();
    keepLanes();
    put({fmt::format("s_movk_i32 s{}, {}", s_.size, sizeof(fade_record)),
         fmt::format("s_mov_b32 s{}, {:#x}", s_.header,
                     headerOf(sizeof(fade_record) / FADE_RECORD_ALIGN, FADE_RECORD_BLOCK, 0))});
    reserve();
    storeShared("0");
    publish(s(s_.site), s(s_.header));
  }

  /// By site, as twins with a stream do.
  void countBlock(CopiedCode::Label) {
    static_assert(sizeof(fade_counter) == 16);
    put({dialect_.loadScalars(2, scalarPair(s_.ring), scalarPair(s_.control),
                              offsetof(fade_control, counters)),
         fmt::format("{} s{}, {}", dialect_.ofLanes("s_bcnt1_i32"), s_.t, dialect_.exec()),
         fmt::format("s_sub_u32 s{0}, s{0}, 1", s_.t),
         fmt::format("s_lshl_b32 s{}, s{}, 4", s_.header, s_.site)});
    wait(&Dialect::waitForScalars);
    execTo("1");
    moveTo(kOffset, s(s_.header));
    moveTo(kData, "1");
    moveTo(kData + 1, "0");
    put({dialect_.addTo(v_ + kOffset, v_ + kData, s_.ring, offsetof(fade_counter, entries))});
    moveTo(kData, s(s_.t));
    put({dialect_.addTo(v_ + kOffset, v_ + kData, s_.ring, offsetof(fade_counter, more_lanes))});
  }

  void keepLanes() {
    put({fmt::format("{} {}, {}", dialect_.ofLanes("s_mov"), dialect_.lanes(s_.lanes),
                     dialect_.exec())});
    if (dialect_.isWave32()) put({fmt::format("s_mov_b32 s{}, 0", s_.lanes + 1)});
  }

  const RecordingRequest &in_;
  const Dialect dialect_;
  const LaunchRegisters launch_;
  const LaunchRegisters::WithWorkgroup start_;
  CopiedCode copy_;
  // The next copy of each.
  CopiedCode::Label routine_, block_routine_, count_routine_;
  std::size_t last_routine_ = 0;
  RecordingCode out_;
  Scalars s_;
  unsigned v_ = 0; ///< the first vector register that is added
  std::bitset<128> used_, taken_, read_at_sites_;
};

} // namespace

Result<RecordingCode> makeRecording(const RecordingRequest &request, Assembler &assembler) {
  return RecordingWriter(request, assembler).write();
}

} // namespace fade::rewrite
