#include "rewrite/recording.h"

#include "rewrite/pointer_calls.h"
#include "rewrite/sum_text.h"

#include "fade/sites.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace fade::rewrite {
namespace {

/// Calls reach 128 KiB: there is one more copy of the routine behind so many bytes.
constexpr std::size_t kRoutineEvery = 96 << 10;
constexpr unsigned kFlatScratch = 102; ///< s102 and s103 on gfx9

enum class Routine : uint8_t { access, block, count, sum };

class RecordingWriter : SumText {
public:
  RecordingWriter(const RecordingRequest &request, Assembler &assembler, Islands &islands)
      : SumText(Dialect(request.object.target(), request.kernel.descriptor.wavefront_size == 32),
                CopiedCode(request.object, request.program, request.address, assembler, islands),
                request.object, request.kernel, (request.modes & FADE_MODE_SUMMARY) != 0,
                !hasRoomForVectors(request)),
        in_(request) {}

  Result<RecordingCode> write() {
    if (auto status = launch_.check(); !status) return std::move(status).error();
    if (auto status = chooseRegisters(); !status) return std::move(status).error();
    const auto is_site = [&](uint64_t address) { return isSite(address); };
    if (auto status = in_.program.checkIndexing(is_site); !status) return std::move(status).error();
    writeEntry();
    for (const auto &[address, i] : in_.program.instructions)
      if (auto status = writeInstruction(i); !status) return std::move(status).error();
    writeRoutines();
    copy_.pad();
    auto code = copy_.finish();
    if (!code) return std::move(code).error();
    out_.code = *std::move(code);
    out_.registers = s_.taken;
    out_.vector_registers = borrows_ ? 0 : kVectorCount;
    out_.scratch = borrows_ ? kBorrowedBytes : 0;
    out_.descriptor = launch_.descriptor({.scalars = s_.end,
                                          .vectors = borrows_ ? 0 : v_ + kVectorCount,
                                          .has_workgroup = true,
                                          .scratch = out_.scratch});
    return std::move(out_);
  }

private:
  // Deciding.

  static constexpr unsigned kAligned = 2, kOfWorkItems = 3; ///< pairs; v0 to v2

  static unsigned firstAdded(const LaunchRegisters &launch, const Program &program) {
    return std::max((launch.firstVector(program) + kAligned - 1) / kAligned * kAligned,
                    kOfWorkItems + 1);
  }
  static bool hasRoomForVectors(const RecordingRequest &request) {
    const LaunchRegisters launch(request.object, request.kernel);
    const unsigned end = firstAdded(launch, request.program) + kVectorCount;
    return end <= kVectorRegisters && launch.fits(end);
  }

  /// Two groups that do not touch: the address of an access may be in a pair of one of them.
  Status chooseBorrowedVectors() {
    constexpr unsigned between = 2 * kVectorCount;
    const unsigned end = launch_.firstVector(in_.program) / kAligned * kAligned;
    if (end < kOfWorkItems + between + kVectorCount)
      return Error::of("it leaves no vector registers free, and has too few to borrow some");
    groups_ = {end - kVectorCount, end - between - kVectorCount};
    v_ = groups_.front();
    scratch_ = launch_.scratchBytes();
    const codeobj::KernelDescriptor &d = in_.kernel.descriptor;
    const bool has_flat_scratch = used_.test(kFlatScratch) || used_.test(kFlatScratch + 1);
    if (dialect_.major() == 9 && launch_.setsFlatScratch() && !d.user_sgprs.flat_scratch_init &&
        has_flat_scratch)
      return Error::of(
          "it leaves no vector registers free, and uses FLAT_SCRATCH for other things");
    for (const auto &[address, i] : in_.program.instructions) has_matrices_ |= i.is_matrix;
    if (!takeOwn(2, s_.back) || !takeOwn(2, s_.exec))
      return Error::of("it leaves neither vector nor scalar registers free");
    return Done{};
  }

  Status chooseRegisters() {
    used_ = in_.program.used();
    if (borrows_) {
      if (auto status = chooseBorrowedVectors(); !status) return status;
    } else {
      v_ = firstAdded(launch_, in_.program);
      groups_ = {v_};
    }
    for (const auto &[address, site] : in_.sites) {
      const auto at = in_.program.instructions.find(address);
      if (at != in_.program.instructions.end()) read_at_sites_ |= at->second.reads;
    }
    findArgumentLoads();
    // What a call overwrites before the routine saves the rest.
    const bool is_complete = (borrows_ || take(2, s_.back, true)) && take(2, s_.site, true) &&
                             (s_.saved_by_calls = savedCount(), true) &&
                             (adds_up_ ? takeForSums() : take(4, s_.ring) && take(2, s_.control)) &&
                             (borrows_ || take(2, s_.exec)) && take(2, s_.base) && take(2, s_.t) &&
                             take(2, s_.lanes) && take(1, s_.scc) && take(1, s_.stride) &&
                             take(1, s_.header) && take(1, s_.position) && take(1, s_.size);
    if (!is_complete || firstSaved() + savedCount() > in_.kernel.descriptor.wavefront_size)
      return Error::of("it leaves too few scalar registers free");
    return Done{};
  }
  bool takeForSums() {
    const bool is_complete = takeHome(2, s_.table, keeps_table_) &&
                             takeHome(1, s_.counter, keeps_counter_) &&
                             takeHome(1, s_.key, keeps_key_) &&
                             takeHome(1, s_.arguments, keeps_arguments_) && take(8, s_.own);
    s_.ring = s_.own; // what is recorded has no class
    s_.control = s_.own + 4;
    return is_complete;
  }
  /// `is_kept`: nobody else changes them.
  bool takeHome(unsigned count, unsigned &to, bool &is_kept) {
    const unsigned before = savedCount();
    if (!take(count, to)) return false;
    is_kept = before == savedCount() && !callsPointers();
    return true;
  }

  /// Loads of arguments that can be told from where the address of the arguments still is.
  void findArgumentLoads() {
    if (launch_.addsPointer()) return;
    std::vector<uint64_t> changed = in_.program.functions;
    const unsigned first = launch_.kernargRegister();
    for (const auto &[address, i] : in_.program.instructions)
      if (i.writes.test(first) || i.writes.test(first + 1))
        for (const uint64_t next : in_.program.successors(i)) changed.push_back(next);
    changed_arguments_ = in_.program.reachedFrom(changed);
  }
  bool isArgumentLoad(const Instruction &i, const AccessAddress &access) const {
    return access.scalar_base == launch_.kernargRegister() && !launch_.addsPointer() &&
           access.scalar_offset < argumentBytes() && !changed_arguments_.contains(i.address);
  }

  /// Takes registers side by side, of those that the kernel leaves free if there are as many.
  bool take(unsigned count, unsigned &to, bool is_for_calls = false) {
    return takeOwn(count, to) || takeAny(count, to, true, is_for_calls);
  }
  bool takeOwn(unsigned count, unsigned &to) { return takeAny(count, to, false, false); }
  bool takeAny(unsigned count, unsigned &to, bool may_be_used, bool is_for_calls) {
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

  uint64_t endOfClause(const Instruction &clause) const {
    uint64_t at = clause.next();
    for (unsigned n = 0; n <= (clause.word & 63); ++n) {
      const auto next = in_.program.instructions.find(at);
      if (next == in_.program.instructions.end()) break;
      at = next->second.next();
    }
    return at;
  }
  /// Nothing can be inserted into a clause of memory instructions; without it they are the same.
  bool isClauseWithSites(const Instruction &clause) const {
    if (clause.mnemonic != "s_clause") return false;
    const uint64_t end = endOfClause(clause);
    for (auto at = in_.program.instructions.find(clause.next());
         at != in_.program.instructions.end() && at->first < end; ++at)
      if (isSite(at->first)) return true;
    return false;
  }

  // The beginning of a wave.

  void readWorkItem() {
    const codeobj::KernelDescriptor &d = in_.kernel.descriptor;
    put({fmt::format("v_readlane_b32 s{}, v0, 0", s_.stride)});
    if (adds_up_) settleScalars(); // it is kept at once
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
  void storeWorkgroup() {
    storeWorkgroup({s(start_.workgroup[0]), s(start_.workgroup[1]), s(start_.workgroup[2])});
  }
  void storeWorkgroup(std::array<std::string, 3> id) {
    put({fmt::format("s_getreg_b32 s{}, hwreg({})", s_.header,
                     dialect_.major() == 9 ? "HW_REG_HW_ID" : "HW_REG_HW_ID1")});
    if (dialect_.major() >= 12) {
      put({fmt::format("s_and_b32 s{}, ttmp7, 0xffff", s_.t),
           fmt::format("s_lshr_b32 s{}, ttmp7, 16", s_.t + 1)});
      settle();
      id = {"ttmp9", s(s_.t), s(s_.t + 1)};
    }
    store(id[0], id[1], offsetof(fade_wave_begin, workgroup_x));
    store(id[2], s(s_.header), offsetof(fade_wave_begin, workgroup_z));
    storeBases();
  }
  void storeBases() {
    put({fmt::format("s_mov_b64 {}, src_shared_base", scalarPair(s_.t)),
         fmt::format("s_mov_b32 s{}, s{}", s_.header, s_.t + 1),
         fmt::format("s_mov_b64 {}, src_private_base", scalarPair(s_.t))});
    if (dialect_.major() >= 11) settle();
    store(s(s_.header), s(s_.t + 1), offsetof(fade_wave_begin, shared_base));
  }

  /// What the wave's record has besides: by one lane, which has room for it.
  void storeModule() {
    store(fmt::format("{:#x}", static_cast<uint32_t>(in_.module)),
          fmt::format("{:#x}", static_cast<uint32_t>(in_.module >> 32)),
          offsetof(fade_wave_begin, module));
  }
  void publishBegin() {
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
  }

  /// Announces the wave, or finds where it adds up. No register is saved: those of the kernel that
  /// are used here are not set yet.
  void begin() {
    const unsigned arguments = launch_.kernargRegister();
    if (launch_.setsFlatScratch()) setFlatScratch();
    keep(arguments, kArguments);
    keep(arguments + 1, kArguments + 1);
    if (in_.kernel.descriptor.user_sgprs.dispatch_ptr) {
      keep(launch_.packetRegister(), kPacket);
      keep(launch_.packetRegister() + 1, kPacket + 1);
    }
    readWorkItem();
    if (adds_up_)
      beginSums();
    else
      announce(arguments);
    putKeptAside();
    for (const LaunchRegisters::Move &move : start_.moves)
      put({fmt::format("s_mov_b32 s{}, s{}", move.to, move.from)});
    if (dialect_.major() >= 11) settle();
  }

  /// As compilers do it.
  void setFlatScratch() {
    const bool is_gfx9 = dialect_.major() == 9;
    const std::string low = is_gfx9 ? "flat_scratch_lo" : s(s_.t),
                      high = is_gfx9 ? "flat_scratch_hi" : s(s_.t + 1);
    put({fmt::format("s_add_u32 {}, s{}, s{}", low, start_.scratch, start_.scratch_offset),
         fmt::format("s_addc_u32 {}, s{}, 0", high, start_.scratch + 1)});
    if (!is_gfx9)
      put({fmt::format("s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), {}", low),
           fmt::format("s_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), {}", high)});
  }

  void announce(unsigned arguments) {
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
    readTimes(s_.lanes);
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
    storeModule();
    storeWorkgroup();
    publishBegin();
    copy_.place(done);
    execTo(dialect_.lanes(s_.exec));
  }

  /// In front of the first record of a wave that adds up, by one lane: all of its lanes, as if its
  /// workgroup were whole.
  void announceLate() override {
    const unsigned time = s_.own + 6;
    loadRing();
    readTimes(time);
    put({fmt::format("s_movk_i32 s{}, {}", s_.size, sizeof(fade_wave_begin))});
    reserve();
    store("-1", dialect_.isWave32() ? "0" : "-1", offsetof(fade_wave_begin, mask));
    store(s(s_.base), s(s_.base + 1), offsetof(fade_wave_begin, clock));
    store(s(time), s(time + 1), offsetof(fade_wave_begin, time));
    storeModule();
    bringBack(s_.site, kWave);
    bringBack(s_.stride, kWorkItem);
    settle();
    store(s(s_.site), s(s_.stride), offsetof(fade_wave_begin, wave));
    for (unsigned i = 0; i < 3 && dialect_.major() < 12; ++i)
      bringBack(i == 2 ? s_.site : s_.t + i, kWorkgroup + i);
    settle();
    storeWorkgroup({s(s_.t), s(s_.t + 1), s(s_.site)});
    publishBegin();
  }

  void writeEntry() {
    const std::vector<uint64_t> &entries = in_.program.entries;
    if (entries.size() == 1) {
      begin();
      if (in_.program.instructions.begin()->first != entries.front())
        copy_.jumpToCopy("s_branch", entries.front());
      return;
    }
    // Hardware that preloads arguments starts behind the entry.
    const CopiedCode::Label first = copy_.label();
    copy_.jump("s_branch", first);
    while (copy_.size() < kPreloadedEntry) put({"s_nop 0"});
    begin();
    copy_.jumpToCopy("s_branch", entries.back());
    copy_.place(first);
    begin();
    copy_.jumpToCopy("s_branch", entries.front());
  }

  // Accesses.

  Status writeInstruction(const Instruction &i) {
    if (copy_.size() - last_routine_ > kRoutineEvery && i.address >= clause_end_) {
      const CopiedCode::Label over = copy_.label();
      copy_.jump("s_branch", over);
      writeRoutines();
      copy_.putIsland();
      copy_.place(over);
    }
    copy_.beginAt(i);
    if (const auto block = in_.blocks.find(i.address); block != in_.blocks.end())
      callBlockRoutines(block->second);
    if (const auto site = in_.sites.find(i.address); site != in_.sites.end())
      if (auto status = callRoutine(i, site->second); !status) return status;
    if (i.mnemonic == "s_clause" && !isClauseWithSites(i)) clause_end_ = endOfClause(i);
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
    std::vector<AccessAddress> accesses;
    for (const unsigned group : groups_) {
      v_ = group;
      auto found = addressesOf(in_.object, i, dialect_,
                               {v_ + kAddress, v_ + kData, v_ + kExpected, s_.site}, site.bytes);
      if (!found) return std::move(found).error();
      accesses = *std::move(found);
      if (std::ranges::none_of(accesses, [&](const AccessAddress &a) { return isInGroup(a); }))
        break;
    }
    ++out_.sites;
    putAround([&] {
      for (const AccessAddress &access : accesses) {
        if (isArgumentLoad(i, access)) continue;
        copy_.put(access.lines);
        if (dialect_.major() >= 11) settle();
        const uint32_t how = uint32_t{access.may_be_argument} << kMayBeArgument |
                             uint32_t{access.may_be_private} << kMayBePrivate |
                             uint32_t{access.may_be_outside} << kMayBeOutside;
        callWith(site, how);
      }
    });
    return Done{};
  }
  bool isInGroup(const AccessAddress &access) const {
    return access.vector < v_ + kVectorCount && access.vector + access.vectors > v_;
  }
  /// Puts aside what calls need, and brings it back.
  template <typename Calls> void putAround(Calls &&calls) {
    borrow();
    save(0, s_.saved_by_calls);
    calls();
    restore(0, s_.saved_by_calls);
    giveBack();
  }
  void callWith(const RecordingRequest::Site &site, uint32_t how) {
    if (!adds_up_) {
      put({fmt::format("s_mov_b32 s{}, {:#x}", s_.site, site.number),
           fmt::format("s_movk_i32 s{}, {}", s_.site + 1, how)});
      return call(Routine::access);
    }
    how |= uint32_t{site.is_lds} << kIsLds | uint32_t{site.is_atomic} << kIsAtomic;
    put({fmt::format("s_mov_b32 s{}, {:#x}", s_.site,
                     sizeof(fade_summary) + site.number * sizeof(fade_class))});
    call(Routine::sum, how);
  }
  /// The next copy of the routine.
  void call(Routine routine, uint32_t how = 0) {
    const auto [at, is_new] = routines_.try_emplace({v_, routine, how});
    if (is_new) at->second = copy_.label();
    copy_.jump(fmt::format("s_call_b64 {},", scalarPair(s_.back)), at->second);
  }

  /// What is called records nothing: it counts as dropped, once.
  void leave() {
    v_ = groups_.front();
    putAround([&] {
      moveTo(kAddress + 1, fmt::format("{}", kNotUnderstood));
      callWith({}, 1u << kMayBeOutside);
    });
  }

  void callBlockRoutines(uint32_t site) {
    v_ = groups_.front();
    putAround([&] {
      put({fmt::format("s_mov_b32 s{}, {:#x}", s_.site, site)});
      if (hasMode(FADE_MODE_BLOCKS)) call(Routine::block);
      if (hasMode(FADE_MODE_COUNTS)) call(Routine::count);
    });
  }
  bool hasMode(uint32_t mode) const { return (in_.modes & mode) != 0; }

  /// Those that were called since the last time.
  void writeRoutines() {
    for (const unsigned group : groups_) {
      v_ = group;
      bool has_sums = false;
      for (const auto &[key, label] : routines_) {
        const auto &[vectors, routine, how] = key;
        if (vectors != group) continue;
        switch (routine) {
        case Routine::access: writeRoutine(label, &RecordingWriter::recordAccess); break;
        case Routine::block: writeRoutine(label, &RecordingWriter::recordBlock); break;
        case Routine::count: writeRoutine(label, &RecordingWriter::countBlock); break;
        case Routine::sum: writeSums(label, how), has_sums = true; break;
        }
      }
      if (has_sums) writeSearch();
    }
    routines_.clear();
    last_routine_ = copy_.size();
  }

  /// A routine that does `what` for the lanes that are active. `what` may jump to its end.
  void writeRoutine(CopiedCode::Label routine, void (RecordingWriter::*what)(CopiedCode::Label)) {
    const CopiedCode::Label nobody = copy_.label(), out = copy_.label();
    copy_.place(routine);
    copy_.jump("s_cbranch_execz", nobody);
    save(s_.saved_by_calls, savedCount());
    put({fmt::format("s_cselect_b32 s{}, 1, 0", s_.scc),
         fmt::format("{} {}, {}", dialect_.ofLanes("s_mov"), dialect_.lanes(s_.exec),
                     dialect_.exec())});
    if (adds_up_) {
      bringBackTable();
      findControl();
    } else {
      bringBack(s_.control, kControl);
      bringBack(s_.control + 1, kControl + 1);
      settle();
      put({fmt::format("s_cmp_eq_u64 {}, 0", scalarPair(s_.control))});
      copy_.jump("s_cbranch_scc1", out);
    }
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

  const RecordingRequest &in_;
  /// First vector registers; more than one group only if they are borrowed.
  std::vector<unsigned> groups_;
  /// The next copy of each: by its vector registers, and what is known of accesses.
  std::map<std::tuple<unsigned, Routine, uint32_t>, CopiedCode::Label> routines_;
  std::size_t last_routine_ = 0;
  uint64_t clause_end_ = 0; ///< of the last one that stays
  RecordingCode out_;
  std::set<uint64_t> changed_arguments_; ///< where the address of arguments may be another
  std::bitset<128> used_, taken_, read_at_sites_;
};

} // namespace

Result<RecordingCode> makeRecording(const RecordingRequest &request, Assembler &assembler) {
  constexpr int most_attempts = 16;
  Islands islands;
  for (int n = 1;; ++n) {
    auto code = RecordingWriter(request, assembler, islands).write();
    if (code || !islands.has_more || n == most_attempts) return code;
  }
}

} // namespace fade::rewrite
