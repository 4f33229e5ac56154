// What was found, as libfadecheck keeps it for fadeprobe: a file that both map.
//
// The library lives in the application, which may end in any way at any moment, by a fault it was
// warned of for example. So findings are never "written at the end": they are in shared memory
// from the first moment, and fadeprobe reads the file when the process is gone. Text, source lines
// and JSON are made there, outside of the application.
//
//   header | findings[] | code objects[] | allocations[] | spans[] | strings
//
// The file is sparse: what is not used takes no room. One per process and program that it runs, in
// FADE_CHECK_DIR; if that ends with '/', in the folder of the process there (base/run_folder.h).
#pragma once

#include <cstdint>
#include <type_traits>

namespace fade::checks {

inline constexpr uint32_t kFileMagic = 0x46434844; // "DHCF"
inline constexpr uint32_t kFileVersion = 11;
inline constexpr uint32_t kMostFindings = 2048, kMostCode = 4096, kMostAllocations = 1 << 16;
inline constexpr uint32_t kMostSpans = 1 << 13;
inline constexpr uint32_t kStringBytes = 8 << 20;

enum class Check : uint32_t {
  memory,
  init,
  race,
  sync,
  wait,
  hazard,
  leak,
  hang,
  nan,
  precision,
  wave,
  schedules,
  count
};

/// What exactly is wrong.
enum class Problem : uint32_t {
  outside,        ///< of every allocation
  gap,            ///< beyond or before an allocation
  freed,          ///< memory that was freed
  lds_bounds,     ///< beyond the LDS of the dispatch
  scratch_bounds, ///< beyond the private memory of a work-item
  arguments,      ///< beyond the kernel's arguments
  read_only,      ///< written to
  misaligned,
  freed_twice,   ///< by the host
  uninitialized, ///< read before anybody wrote it
  race,
  overlap,           ///< a race between dispatches on different queues
  lanes,             ///< lanes of a wave store different values to the same place at once
  lost_update,       ///< lanes of a wave change the same place: `h[x]++`
  divergent_barrier, ///< not all lanes of a wave are there
  missing_waves,     ///< waves that ended never came to the barrier
  inactive_lane,     ///< a shuffle reads one, and its value is used
  unwaited,          ///< a register is used while a load into it is under way
  wait_states,       ///< too few between two instructions
  leak,
  polls,             ///< hang: a wave loads the same place again and again
  at_barrier,        ///< hang: a wave waits for others of its workgroup
  at_global_barrier, ///< hang: a wave waits for other workgroups
  not_ended,         ///< hang: a wave that neither polls nor waits
  nan_born,          ///< of operands that are none
  infinity_born,     ///< of finite operands
  order,             ///< another one of waves and workgroups gives another result
  overflow,          ///< a conversion that makes an infinity of a finite value
  flushed,           ///< a result that is denormal, or would be with the operands, is 0
  half_wave,         ///< in order only because a wave has 64 lanes
  array_bounds,      ///< beyond a variable of LDS or of the code object, into another one
  copy_overlap,      ///< a race between a dispatch and a copy or fill of the host's
  unregistered,      ///< host memory, while a dispatch or a copy may use it
  freed_early,       ///< memory of a pool, while another stream may use it
  used_early,        ///< memory of a pool, before the stream that allocates it
  count
};

inline constexpr uint32_t kMostCallers = 4;
inline constexpr int64_t kNoRank = -1;
inline constexpr uint64_t kNoRegister = ~uint64_t{0}; ///< hazard: none that can be named

/// race: what there is between the two sides, and what it lacks.
enum class Between : uint32_t {
  nothing,
  no_release, ///< an atomic or a flag's store, before which the first side was not waited for
  no_acquire, ///< an atomic or a polling load, behind which the cache was not invalidated
  count
};

/// hang: the wave that last wrote what is polled.
enum class Writer : uint32_t {
  unknown,
  nobody,    ///< in this dispatch
  ended,     ///< it has ended since
  same_wave, ///< another lane of the wave that polls, or itself
  waits,     ///< it is at `between` now
  count
};

/// An offset into the strings; 0 is the empty one.
using String = uint32_t;

struct Place {
  uint64_t pc;       ///< as executed
  uint32_t code;     ///< number of the code object + 1; 0: not known
  uint32_t kind;     ///< AccessKind
  uint64_t address;  ///< in the file of the code object
  uint32_t group[3]; ///< of the first occurrence
  uint32_t item[3];  ///< in the workgroup
  uint32_t lane, size;
  uint32_t byte; ///< of the access: the one in question
  uint32_t data; ///< 1 + the first register that is loaded or stored; 0: `byte` is not known
  uint64_t
      callers[kMostCallers]; ///< calls that were not inlined, from the inside; in the same file
};

/// A call in code of the host.
struct HostCall {
  uint64_t address; ///< in the file
  String module;    ///< the file; 0: none
  uint32_t unused;
};

struct AllocationInfo {
  uint64_t base, size;
  uint32_t number; ///< from 1; 0: none
  uint32_t is_freed, on_host;
  String api;    ///< "hipMalloc"
  uint32_t path; ///< tells ways through the runtimes apart
  uint32_t unused;
  HostCall callers[kMostCallers]; ///< outside of the runtimes, from the inside
  HostCall freed_by[kMostCallers];
};

/// With a WaitCounter: of a GPU that waits for each by itself (gfx12).
constexpr uint32_t kCountersApart = 1u << 8;
/// Finding::space of check `wait`: a load to LDS is under way, and the address is a byte there.
constexpr uint32_t kUnwaitedLds = 2;

struct Finding {
  uint32_t check, problem, space, waves; ///< waves: sync, how many came; wait: WaitCounter;
                                         ///< hazard: states that there are; hang: wave's number;
                                         ///< inactive_lane: whether it has a work-item;
                                         ///< copies: whether the call writes;
                                         ///< lost_update: whether the value was followed
  uint64_t count;                        ///< atomically counted
  String kernel, gpu;
  uint64_t dispatch; ///< of the first occurrence
  uint64_t address;  ///< wait, hazard: the register; then `space` is 1 for vector registers
  uint64_t limit;   ///< wait: what its counter must come down to; LDS, scratch, arguments: how many
                    ///< bytes there are; sync: waves there are; hazard: states that are needed;
                    ///< hang: the value that is polled; inactive_lane: the lane; nan: 1 if it is
                    ///< a constant that was selected, wanted unless a library function did it
  int64_t distance; ///< gap: bytes behind the end (positive, 0: the first) or before the start
  Place place, other;  ///< other: the second side of a race
  Place between;       ///< race: an atomic that could have ordered them; without a pc: none;
                       ///< hang: where the one who wrote is now
  String other_kernel; ///< if it is not the same dispatch's
  uint32_t lacks;      ///< race: Between; hang: Writer
  String rule, cure;   ///< hazard: what is broken; empty: s_nop; hang: how it stands as a whole;
                       ///< nan: the operation with its operands
  AllocationInfo allocation;
  HostCall called_by[kMostCallers]; ///< if it is the host's error; then there is no `place`
  String api;                       ///< what it called
  String other_api;                 ///< likewise, of the other side
  HostCall other_by[kMostCallers];
};

struct CodeInfo {
  uint64_t base, size, delta;
};

/// All that an instruction of a kernel touched in LDS, or in the memory of its code object: only
/// fadeprobe knows which variables are there.
struct Span {
  String kernel, gpu;
  uint32_t space, size;
  uint64_t lowest, highest; ///< addresses of lanes
  uint64_t dispatches[2];   ///< of the lowest and of the highest, the first
  Place low, high;
};

/// The way through the runtime of the last allocation that a function made.
struct LastWay {
  String api;
  uint32_t path;
};

struct FileHeader {
  uint32_t magic, version;
  uint32_t pid;
  uint32_t inexact;          ///< bits of Inexact, of all dispatches that were checked
  uint32_t observer_version; ///< what the GPU asked for, if it is not this library's; else 0
  uint32_t spans;            ///< used, atomically
  uint32_t findings, code, allocations, strings; ///< used; findings atomically
  uint64_t lost;       ///< occurrences of findings for which there was no room
  uint64_t dispatches; ///< that were checked
  uint64_t left_out;   ///< dispatches that were not chosen
  int64_t rank;        ///< in a parallel job; kNoRank: there is none
  LastWay ways[64];    ///< those that are used come first
};

inline constexpr uint64_t kFindingsAt = 4096;
inline constexpr uint64_t kCodeAt = kFindingsAt + sizeof(Finding) * kMostFindings;
inline constexpr uint64_t kAllocationsAt = kCodeAt + sizeof(CodeInfo) * kMostCode;
inline constexpr uint64_t kSpansAt = kAllocationsAt + sizeof(AllocationInfo) * kMostAllocations;
inline constexpr uint64_t kStringsAt = kSpansAt + sizeof(Span) * kMostSpans;
inline constexpr uint64_t kFileBytes = kStringsAt + kStringBytes;

static_assert(std::is_trivially_copyable_v<Finding> && sizeof(FileHeader) <= kFindingsAt);
static_assert(sizeof(Place) == 96 && sizeof(AllocationInfo) == 168 && sizeof(Finding) == 672);
static_assert(kCodeAt % 8 == 0 && kAllocationsAt % 8 == 0 && kSpansAt % 8 == 0 &&
              kStringsAt % 8 == 0);

} // namespace fade::checks
