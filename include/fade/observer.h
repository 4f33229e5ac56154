// Observers: callbacks of the software GPU while it runs kernels.
//
// An observer is a shared library, or an object given to the executor. It is notified of the start
// and end of dispatches, workgroups and waves, every memory access with its lanes and addresses,
// barriers, waits, cache control and branches.
// examples/observer/busiest_lines.cpp is a complete example; FADE_GPU_OBSERVER=libbusiest_lines.so
// loads it.
//
// Threads. Several workers run a dispatch at the same time. Each has its own object, so no lock is
// needed before DispatchObserver::end(), which is called after the last of them:
//
//   Observer                   begin(dispatch)        on the queue's thread, several at once
//     └ DispatchObserver       worker(n)              on worker n, before it takes up a workgroup
//         └ WorkerObserver     group, wave, access …  on worker n
//       DispatchObserver       end(result)            on the queue's thread, when all is over
//
// One worker at a time runs a workgroup, but another may continue it; ObservedGroup::state holds
// the observer's data of a workgroup. Nothing may throw. An observer changes neither results nor
// counts, except by passesFault().
#pragma once

#include <cstdint>
#include <memory>

namespace fade {

#define FADE_OBSERVER_VERSION 16

/// Callbacks that an observer wants; data for others is not collected.
enum ObserverWants : uint32_t {
  kWantsAccesses = 1 << 0,  ///< access()
  kWantsBlocks = 1 << 1,    ///< block()
  kWantsControl = 1 << 2,   ///< barrier(), wait(), fence(), branch(), crossing()
  kWantsRegisters = 1 << 3, ///< registers(); slow
  kWantsRuns = 1 << 4,      ///< run(): what is needed to count instructions, at little cost
  kWantsHazards = 1 << 5,   ///< hazard(); slow
  kWantsHangs = 1 << 6,     ///< hung()
  /// Workgroups one at a time, on worker 0, in an order that depends only on what they execute: the
  /// same in each run, whatever the number of workers.
  kWantsOrder = 1 << 7,
};

struct ObservedDispatch {
  uint64_t number = 0;        ///< counts the dispatches of a GPU
  const char *gpu = "";       ///< "gfx90a"
  const char *kernel = "";    ///< its symbol, without ".kd"; lives as long as the dispatch
  uint64_t kernel_object = 0; ///< address of the kernel descriptor
  uint64_t entry = 0;         ///< address of the first instruction
  uint64_t kernarg_address = 0;
  uint64_t packet_address = 0;
  uint64_t queue_address = 0;        ///< of the amd_queue_t
  uint64_t packet_index = 0;         ///< in the queue, from 0
  uint32_t kernarg_bytes = 0;        ///< as the kernel descriptor says; 0: it does not
  uint32_t lds_bytes = 0;            ///< of a workgroup
  uint32_t scratch_bytes = 0;        ///< of a work-item
  uint32_t lanes = 64;               ///< of a wave: 32 or 64
  uint32_t grid[3] = {1, 1, 1};      ///< work-items
  uint32_t workgroup[3] = {1, 1, 1}; ///< work-items
};

struct ObservedGroup {
  const ObservedDispatch *dispatch = nullptr;
  uint32_t id[3] = {};
  uint32_t size[3] = {}; ///< work-items; fewer than the dispatch's at the edge of the grid
  uint32_t waves = 0;
  void *state = nullptr;     ///< the observer's; see groupEnds()
  const void *lds = nullptr; ///< its bytes, as they are at the moment: ObservedDispatch::lds_bytes
  bool splits_barriers = false; ///< gfx12: arriving and waiting are separate; see barrierLeft()
};

struct ObservedWave {
  ObservedGroup *group = nullptr;
  uint32_t number = 0; ///< in the workgroup
  uint32_t lanes = 64;
  uint64_t work_items = 0; ///< lanes that have one: all, but for the last wave
  /// kWantsRegisters, set and cleared by the observer: from the next instruction on, registers() is
  /// called for this wave, whatever the dispatch wants besides kWantsControl.
  mutable uint32_t also_wants = 0;
  uint32_t hardware_id = 0; ///< where it runs: HW_ID (gfx9) or HW_ID1, as the wave would read it
  /// Its registers as they are at the moment, numbered as in ObservedRange: a row of 64 lanes for
  /// each vector register.
  const uint32_t (*vector_registers)[64] = nullptr;
  const uint32_t *scalar_registers = nullptr;
};

enum class AccessKind : uint8_t { load, store, atomic };
enum class AccessSpace : uint8_t { global, lds, scratch };
/// What made the access.
enum class AccessPath : uint8_t { flat, global, buffer, image, scalar, lds, scratch };

struct ObservedAccess {
  uint64_t pc = 0;
  uint64_t lanes = 0; ///< that take part: active, and inside of a buffer's bounds
  /// One per lane. LDS: byte in the workgroup's LDS; scratch: byte in the work-item's private
  /// memory. A scalar access has one lane, the first.
  const uint64_t *address = nullptr;
  uint32_t size = 0; ///< bytes per lane. Images: of one texel, where several are mixed the first
  AccessKind kind = AccessKind::load;
  AccessSpace space = AccessSpace::global;
  AccessPath path = AccessPath::global;
  bool returns = false;   ///< atomics: the old value is returned
  bool exchanges = false; ///< atomics: the new value does not depend on the old one
  bool coherent = false; ///< loads, stores: past the nearest cache, as atomic and volatile ones are
  bool device = false;   ///< coherent: beyond the workgroup (gfx942: SC1; others: always)
  bool streaming = false; ///< not to be kept in caches: non-temporal
  uint64_t active = 0;    ///< all lanes that are active: a scalar access is made for them
  /// The first register that is loaded or stored, numbered as in ObservedRange: vector registers,
  /// or scalar ones if the path is. The others follow, a dword in each.
  static constexpr uint16_t none = 0xffff;
  uint16_t data = none;
  uint8_t data_byte = 0;  ///< its first byte there: 2 if only an upper half is loaded or stored
  uint8_t data_bytes = 0; ///< how many it has there: more than `size` if its sign is extended
  /// Stores: what is stored. Dword k of a lane is stored[k * stored_stride + lane]; less than a
  /// dword are the bytes from `stored_byte` on.
  const uint32_t *stored = nullptr;
  uint32_t stored_stride = 64;
  uint8_t stored_byte = 0;
  /// Lane n accesses lane_stride * n bytes after lane 0, without overlaps; equal to the size if
  /// lanes are contiguous. 0: unknown.
  uint32_t lane_stride = 0;
  /// Through a buffer that a lane is partly outside of, each dword is an access of its own: which
  /// one of its instruction's it is. Lanes of the first are all that access the buffer.
  uint8_t dword = 0;
};

struct ObservedWait {
  static constexpr uint32_t any = ~0u; ///< does not wait for that counter
  uint64_t pc = 0;
  uint32_t vector = any;  ///< vmcnt: vector loads, and on gfx9 stores, that may be in flight
  uint32_t stores = any;  ///< vscnt
  uint32_t scalar = any;  ///< lgkmcnt: LDS, scalar loads, messages; gfx12: not LDS
  uint32_t lds = any;     ///< gfx12: dscnt
  uint32_t exports = any; ///< expcnt
};

struct ObservedBranch {
  uint64_t pc = 0;
  uint64_t target = 0; ///< where it went
  bool taken = false;
  uint64_t lanes = 0; ///< active ones
};

enum class FenceKind : uint8_t { invalidate, write_back, both };
struct ObservedFence {
  uint64_t pc = 0;
  FenceKind kind = FenceKind::both;
  bool scalar = false;   ///< the scalar cache's
  bool device = false;   ///< reaches beyond the workgroup
  const char *name = ""; ///< "buffer_gl0_inv"
};

constexpr uint16_t kObservedScc = 253; ///< SCC, as a scalar register

/// Registers side by side. Vector: v0 is 0, a0 is 256. Scalar: vcc is 106, m0 is 124, exec is 126.
struct ObservedRange {
  bool vector = false;
  uint16_t first = 0, count = 0;
};

/// The counter that tracks an instruction until it has completed.
enum class WaitCounter : uint8_t {
  none,
  vector, ///< vmcnt, in order
  stores, ///< vscnt, in order
  lds,    ///< lgkmcnt, in order among each other
  scalar, ///< lgkmcnt, in any order: scalar loads, messages
  flat,   ///< vmcnt and lgkmcnt, in any order
};

/// Bytes of one register, in some lanes. Scalar: only the first bit of a mask counts.
struct ObservedBytes {
  bool vector = false;
  uint16_t number = 0;
  uint64_t lanes[4] = {}; ///< by byte of the register
};

/// What would an instruction do if some of its registers had other values?
class ObservedTrial {
public:
  virtual ~ObservedTrial() = default;
  /// The registers that it writes, each with the bytes that change for other values of `inputs`;
  /// several values are tried. Returns their number, at most `room`.
  virtual uint32_t depends(const ObservedBytes *inputs, uint32_t count, ObservedBytes *results,
                           uint32_t room) const = 0;
};

struct ObservedInstruction {
  uint64_t pc = 0;
  uint64_t lanes = 0;    ///< active ones
  const char *name = ""; ///< as LLVM has it, without the suffix of the encoding
  bool selects = false;  ///< bytes of its operands, or other lanes' (SDWA, DPP)
  const ObservedRange *reads = nullptr, *writes = nullptr;
  uint32_t reads_count = 0, writes_count = 0;
  WaitCounter counter = WaitCounter::none;
  const char *paired = nullptr;         ///< the second of two operations in one instruction
  uint16_t paired_result = 0;           ///< the vector register that it writes
  const ObservedTrial *trial = nullptr; ///< null: it does more than write registers
};

/// A shuffle (ds_bpermute, ds_swizzle) in which some lanes read inactive lanes.
struct ObservedCrossing {
  uint64_t pc = 0;
  const char *name = "";
  uint64_t lanes = 0;            ///< active ones that do
  const uint8_t *from = nullptr; ///< by lane: the one that it reads
  uint16_t result = 0;           ///< the vector register that it writes
};

/// Consecutive instructions that a wave executes with the same lanes: up to a branch, a change of
/// EXEC, or the beginning of the next block. Counting runs is enough to count instructions.
struct ObservedRun {
  uint64_t pc = 0, end = 0; ///< of the first instruction, and behind the last
  uint32_t number = 0;      ///< from 0, in a dispatch: the same code has the same
};

/// A data hazard: an instruction follows another one with too few wait states, and may see the old
/// value of registers. The fix is more wait states (s_nop), or `cure`.
struct ObservedHazard {
  uint64_t pc = 0, first = 0; ///< it, and the one before it
  const char *rule = "";      ///< "VALU write of an SGPR, then VALU read of it"
  const char *cure = "";      ///< empty: s_nop
  ObservedRange at{};         ///< the registers; count 0: none that can be named
  uint32_t present = 0, needed = 0;
};

/// State of a wave that has not ended.
enum class WaveHalt : uint8_t { runs, sleeps, at_barrier, at_global_barrier };
struct ObservedWaitingWave {
  const ObservedWave *wave = nullptr;
  uint64_t pc = 0; ///< of the barrier that it waits at; else of its next instruction
  uint64_t lanes = 0;
  WaveHalt halt = WaveHalt::runs;
};

/// A dispatch that hangs, with all its running waves, which are paused during the call.
struct ObservedHang {
  bool is_still = false; ///< no wave makes progress; else the time limit was reached
  double seconds = 0;    ///< how long
  const ObservedWaitingWave *waves = nullptr;
  uint64_t count = 0;
  uint64_t groups = 0, groups_ended = 0; ///< of the dispatch
  uint64_t groups_not_begun = 0;         ///< not resident: no room on the GPU
};

/// When a dispatch counts as hung, in seconds; 0: never.
struct HangLimits {
  double still = 0; ///< every wave returns to the same instruction with the same registers
  double longest = 0;
};

/// Executed instructions whose results may differ from a card's.
enum Inexact : uint32_t {
  kInexactRcp = 1 << 0, ///< outside of divisions, which are exact
  kInexactRsq = 1 << 1,
  kInexactSqrt = 1 << 2,
  kInexactExp = 1 << 3,
  kInexactLog = 1 << 4,
  kInexactSin = 1 << 5,
  kInexactCos = 1 << 6,
  kInexactMatrix = 1 << 7,  ///< narrow types: the order of the sum
  kInexactAtomics = 1 << 8, ///< sums of floats, in the order of arrival
  kInexactClock = 1 << 9,
};

struct ObservedEnd {
  bool ok = true;
  const char *message = ""; ///< one line, if it was not
  uint32_t inexact = 0;     ///< bits of Inexact
};

/// A packet of a queue: a dispatch, a barrier or something else.
struct ObservedPacket {
  uint64_t queue_address = 0;       ///< of the amd_queue_t
  uint64_t index = 0;               ///< in the queue, from 0
  uint64_t completion_signal = 0;   ///< 0: none
  const uint64_t *waited = nullptr; ///< signals that it has waited for
  uint32_t waited_count = 0;
};

/// Memory of the GPU, as its page tables have it.
struct ObservedRegion {
  uint64_t address = 0, size = 0;
  bool writable = false;
  bool local = false; ///< the card's own memory, not the host's
};
class ObservedMemory {
public:
  virtual ~ObservedMemory() = default;
  /// The region that holds the address. May be called at any time, from any thread.
  virtual bool find(uint64_t address, ObservedRegion &region) const = 0;
  /// Reads memory; false if not all of it is mapped.
  virtual bool read(uint64_t address, void *to, uint64_t size) const = 0;
  /// The same memory, for the host to use; null if not all of it is mapped in one piece.
  virtual void *host(uint64_t /*address*/, uint64_t /*size*/) const { return nullptr; }
};

/// One worker's part of one dispatch. Callbacks come before the event, unless stated otherwise: an
/// access that will fault is reported, too.
class WorkerObserver {
public:
  virtual ~WorkerObserver() = default;
  virtual void groupBegins(ObservedGroup &) {}
  /// Not called for workgroups that are aborted when a dispatch ends early.
  virtual void groupEnds(ObservedGroup &) {}
  virtual void waveBegins(const ObservedWave &) {}
  virtual void waveEnds(const ObservedWave &, uint64_t /*pc*/) {}
  /// Where a basic block begins, with the active lanes; there may be none.
  virtual void block(const ObservedWave &, uint64_t /*pc*/, uint64_t /*lanes*/) {}
  virtual void access(const ObservedWave &, const ObservedAccess &) {}
  /// The atomic of the last access() was executed, or has faulted. The worker makes no other call
  /// in between, so an observer that holds a lock from access() on knows the order of atomics.
  virtual void atomicDone(const ObservedWave &) {}
  /// An access reported by access() is about to fault. True: suppress the fault; loads read 0, and
  /// stores are dropped. This is the only way for an observer to change results.
  virtual bool passesFault(uint64_t /*address*/, uint64_t /*size*/, bool /*write*/) {
    return false;
  }
  /// A wave arrives at a barrier. Barriers do not wait for waves that have ended.
  virtual void barrier(const ObservedWave &, uint64_t /*pc*/, uint64_t /*lanes*/) {}
  /// All remaining waves have arrived and continue; with split barriers, those that wait for it.
  virtual void barrierPassed(ObservedGroup &) {}
  /// A wave arrives at the barrier of the whole dispatch (global wave sync).
  virtual void globalBarrier(const ObservedWave &, uint64_t /*pc*/) {}
  virtual void wait(const ObservedWave &, const ObservedWait &) {}
  virtual void fence(const ObservedWave &, const ObservedFence &) {}
  /// Each instruction, with the registers that it reads and writes, except EXEC and MODE.
  virtual void registers(const ObservedWave &, const ObservedInstruction &) {}
  /// Wait states are missing between two instructions, of which the second is about to be executed.
  virtual void hazard(const ObservedWave &, const ObservedHazard &) {}
  /// After registers() of the same instruction.
  virtual void crossing(const ObservedWave &, const ObservedCrossing &) {}
  /// After the branch was decided. Calls and returns are branches, too.
  virtual void branch(const ObservedWave &, const ObservedBranch &) {}
  /// About to be executed, with the active lanes; there may be none. Compare with the wave's
  /// previous run to see the effect of a branch or a change of EXEC.
  virtual void run(const ObservedWave &, const ObservedRun &, uint64_t /*lanes*/) {}
  /// Split barriers only: a wave has waited for the barrier that was passed last. Its accesses
  /// since barrier() are not ordered with those of other waves.
  virtual void barrierLeft(const ObservedWave &) {}
};

class DispatchObserver {
public:
  virtual ~DispatchObserver() = default;
  /// For worker `n`; the same object each time. Calls for different workers may be concurrent.
  virtual WorkerObserver *worker(uint32_t n) = 0;
  /// The subset of Observer::wants() for this dispatch.
  virtual uint32_t wants() const { return ~0u; }
  virtual HangLimits hangLimits() const { return {}; }
  /// On the queue's thread. True: end the dispatch; false: continue.
  virtual bool hung(const ObservedHang &) { return true; }
  virtual void end(const ObservedEnd &) {}
};

class Observer {
public:
  virtual ~Observer() = default;
  virtual uint32_t wants() const = 0; ///< bits of ObserverWants
  /// Null: this dispatch runs unobserved, at full speed. Workers are numbered below `workers`.
  virtual std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &, uint32_t workers) = 0;
  /// A copy engine has written there. On the engine's thread.
  virtual void memoryWritten(uint64_t /*address*/, uint64_t /*size*/) {}
  /// A packet has completed, but its signal is not set yet. On the queue's thread.
  virtual void packetEnds(const ObservedPacket &) {}
};

/// The function that an observer library exports. It is called once per GPU and returns null if it
/// does not want to observe, or does not know the version. `memory` lives as long as the process.
extern "C" {
using FadeObserverEntry = Observer *(*)(uint32_t version, const char *gpu,
                                        const ObservedMemory *memory);
}
#define FADE_OBSERVER_ENTRY "fade_observer"

} // namespace fade
