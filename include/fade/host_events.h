// What an application does on the host, as a file that is always readable: HIP's calls, the kernels
// and copies they caused, markers.
//
//   +-------------+---------+---------+---------+ - - -
//   | file header | block 0 | block 1 | block 2 |          kHeaderBytes, then kBlockBytes each
//   +-------------+---------+---------+---------+ - - -
//   block: BlockHeader, then events back to back, up to `used` bytes
//
// The file is written through shared mappings. A thread that has something to say claims a block
// (one atomic addition to FileHeader::claimed, by whichever process), has its room on the disk
// allocated, and appends events; each is there once `used` covers it. So nothing needs a writer, a
// lock or a flush: whatever ends the process, the kernel has the pages. A thread that ends leaves
// its block to another one. Several processes may write into one file at the same time.
//
// An event is a multiple of 8 bytes and begins with its kind and size. A call is there from its
// start; `end` and the result come when it has returned, and outputs with them. A call's id is its
// place in the file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fade::events {

inline constexpr uint64_t kMagic = 0x53544e4556454446ull; // "FDEVENTS"
inline constexpr uint32_t kBlockMagic = 0x4b424446;       // "FDBK"
inline constexpr uint32_t kVersion = 3;
inline constexpr uint64_t kHeaderBytes = 4096;
inline constexpr uint32_t kBlockBytes = 128 * 1024;

struct FileHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t block_bytes;
  uint64_t claimed;                  ///< atomic: blocks that were given out
  uint64_t lost;                     ///< atomic: events there was no room for
  int64_t monotonic_ns, realtime_ns; ///< the same moment by both clocks
};
static_assert(sizeof(FileHeader) == 48);

/// Between who records and a process that makes another file of what was recorded, if there is one:
/// the latter follows the former's count (futex).
struct FlushCounts {
  uint32_t wanted, done; ///< atomic
};
inline constexpr uint64_t kFlushCountsAt = 48;

/// Whether a process records: it looks at each call, so others can switch it on and off here
/// (fadeprobe control). A process takes the first place with the pid 0; they begin at kSwitchesAt.
struct ProcessSwitch {
  uint32_t pid;   ///< atomic
  uint32_t is_on; ///< atomic
};
inline constexpr uint64_t kSwitchesAt = 64;
inline constexpr std::size_t kSwitches = (kHeaderBytes - kSwitchesAt) / sizeof(ProcessSwitch);

struct BlockHeader {
  uint32_t magic;
  uint32_t used; ///< atomic, published with release: bytes of this block with its header
};
static_assert(sizeof(BlockHeader) == 8);

enum class EventKind : uint16_t {
  thread = 1,  ///< whose events follow in this block
  process = 2, ///< a process has begun to record
  call = 3,
  text = 4, ///< a name that operations and markers refer to
  operation = 5,
  marker = 6,
  recording = 7, ///< switched on or off
  operation_end = 8,
  function = 9, ///< the name of a kernel that is launched by this address
  stack = 10,
  call_stack = 11, ///< from where a call was made
  library = 12,    ///< loaded or unloaded
  caller = 13,     ///< a place in the application that calls a function, when it first does
  finding = 14,    ///< something that is not as it seems
  kernel = 15,     ///< what is known of a kernel besides its name
  usage = 16,      ///< the time that the process has had from its processors
};

struct EventHeader {
  EventKind kind;
  uint16_t words; ///< of the whole event
};

struct ThreadEvent {
  EventHeader header;
  uint32_t tid;
  uint32_t pid;
  uint32_t reserved;
  uint64_t time_ns;
};
static_assert(sizeof(ThreadEvent) == 24);

/// Followed by texts that end with a zero: the program, the path of libamdhip64 or nothing.
struct ProcessEvent {
  EventHeader header;
  uint32_t pid;
  uint32_t parent_pid;
  uint32_t reserved;
  uint64_t time_ns;
};
static_assert(sizeof(ProcessEvent) == 24);

/// How a call was seen; see CallEvent::flags.
enum : uint16_t {
  kCallReturned = 1, ///< end_ns and result are there
  kCallOutputs = 2,  ///< and the outputs
  kCallNameOnly = 4, ///< the one in which FADE was loaded: no arguments, no result, times within
};

/// Followed by the arguments: see fade/hip_api.h.
struct CallEvent {
  EventHeader header;
  uint16_t function; ///< fade::hip::FunctionInfo::number
  uint16_t flags;
  uint64_t parent; ///< the call of the same thread during which this one was made, or 0
  uint64_t caller; ///< the address that it returns to: CallerEvent tells more of it; 0: not known
  uint64_t start_ns, end_ns;
  uint64_t result; ///< its first 8 bytes
};
static_assert(sizeof(CallEvent) == 48);

/// Followed by the bytes of the text. Known in all of the process.
struct TextEvent {
  EventHeader header;
  uint32_t size;
  uint64_t id; ///< unique in the process
};
static_assert(sizeof(TextEvent) == 16);

enum class OperationKind : uint16_t { kernel = 1, copy = 2 };

/// Of an operation and of its end.
enum : uint16_t {
  kOperationTimes = 1,     ///< start_ns and end_ns are there
  kOperationFailed = 2,    ///< it ended with an error
  kOperationEngine = 4,    ///< a copy on the engine with that number
  kOperationRefused = 8,   ///< the runtime did not take it: it never was
  kOperationBlit = 16,     ///< a kernel whose bytes, to and from are there
  kOperationSoftware = 32, ///< done by the software GPU: its times are this machine's, not a card's
};

enum class Direction : uint8_t {
  none,
  host_to_host,
  host_to_device,
  device_to_host,
  device_to_device
};

/// Something that the GPU was given to do, when that happened. What became of it is said by an
/// OperationEndEvent; one without was under way when the process ended. Its id is its place in the
/// file, as of a call.
struct OperationEvent {
  EventHeader header;
  OperationKind kind;
  uint16_t flags;
  uint64_t call; ///< id of the call that asked for it, or 0
  uint64_t submitted_ns;
  uint32_t agent, queue; ///< numbers of FADE's; a copy has no queue
  uint64_t sequence;     ///< of the packet in its queue, or of the copy
  uint64_t name;         ///< of the kernel: id of a text
  uint32_t grid[3], workgroup[3];
  uint32_t lds_bytes, private_bytes;
  uint64_t bytes, to, from; ///< of a copy or fill
  uint32_t engine;
  Direction direction;
  uint8_t gpu; ///< which of the GPUs the agent is, counting from 0
  uint8_t reserved[2];
};
static_assert(sizeof(OperationEvent) == 112);

struct OperationEndEvent {
  EventHeader header;
  uint16_t flags;
  uint16_t reserved;
  uint64_t operation;        ///< its id
  uint64_t start_ns, end_ns; ///< on the GPU, by CLOCK_MONOTONIC
};
static_assert(sizeof(OperationEndEvent) == 32);

/// The first argument of launches, and the kernel's symbol.
struct FunctionEvent {
  EventHeader header;
  uint32_t reserved;
  uint64_t address;
  uint64_t name; ///< id of a text
};
static_assert(sizeof(FunctionEvent) == 24);

enum class MarkerKind : uint16_t { mark, push, pop, start, stop };

/// roctx and RPD. Followed by the bytes of the text, if it has one.
struct MarkerEvent {
  EventHeader header;
  MarkerKind kind;
  uint16_t size; ///< of the text
  uint64_t time_ns;
  /// Of start and stop: its number. Of push and mark: 0, or what its text consists of
  /// (MarkerParts).
  uint64_t range;
};
static_assert(sizeof(MarkerEvent) == 24);

/// A text that is a domain, a name and arguments, one behind the other, as RPD's functions take
/// them: the sizes of the first two.
struct MarkerParts {
  uint16_t domain = 0, name = 0;

  constexpr uint64_t packed() const {
    return uint64_t{1} << 32 | uint64_t{domain} << 16 | uint64_t{name};
  }
  static constexpr bool isPacked(uint64_t range) { return range >> 32 == 1; }
  static constexpr MarkerParts of(uint64_t range) {
    return {static_cast<uint16_t>(range >> 16), static_cast<uint16_t>(range)};
  }
};

struct RecordingEvent {
  EventHeader header;
  uint32_t is_on;
  uint64_t time_ns;
};
static_assert(sizeof(RecordingEvent) == 16);

/// Followed by `count` frames, the innermost first: addresses that calls return to, or, with this
/// bit, ids of texts "function\nfile\nline" of an interpreter. Every stack is there once.
inline constexpr uint64_t kInterpretedFrame = uint64_t{1} << 63;
struct StackEvent {
  EventHeader header;
  uint32_t count;
  uint64_t id; ///< unique in the process
};
static_assert(sizeof(StackEvent) == 16);

struct CallStackEvent {
  EventHeader header;
  uint32_t reserved;
  uint64_t call;  ///< its id
  uint64_t stack; ///< id of a stack
};
static_assert(sizeof(CallStackEvent) == 24);

enum : uint16_t {
  kLibraryUnloaded = 1,  ///< it is not there any more
  kLibraryRequested = 2, ///< somebody has asked for it; no addresses yet, and it may not exist
};

/// Followed by texts that end with a zero: the path, and for a request who asked.
struct LibraryEvent {
  EventHeader header;
  uint16_t flags;
  uint16_t reserved;
  uint64_t time_ns;
  uint64_t bias;       ///< what was added to the file's addresses
  uint64_t begin, end; ///< of what is mapped
};
static_assert(sizeof(LibraryEvent) == 40);

struct CallerEvent {
  EventHeader header;
  uint16_t function; ///< as in CallEvent
  uint16_t reserved;
  uint64_t address; ///< that the call returns to
  uint64_t stack;   ///< id of a stack, or 0
};
static_assert(sizeof(CallerEvent) == 24);

enum class FindingKind : uint16_t {
  property = 1, ///< HIP says something else about a device than HSA or the driver
  corrected,    ///< and was corrected
};

/// Followed by the bytes of the text.
struct FindingEvent {
  EventHeader header;
  FindingKind kind;
  uint16_t size; ///< of the text
  uint64_t call; ///< id of the call, or 0
  uint64_t time_ns;
};
static_assert(sizeof(FindingEvent) == 24);

struct KernelEvent {
  EventHeader header;
  uint32_t vgprs, agprs, sgprs; ///< of a lane, a lane and a wave
  uint32_t spilled_vgprs, spilled_sgprs;
  uint32_t kernarg_bytes;
  uint32_t reserved;
  uint64_t name;   ///< id of a text; kernels of one name in two modules have two
  uint64_t module; ///< fade_kernel.module as a number; 0: not known. Older files do not have it
};
static_assert(sizeof(KernelEvent) == 48);
inline constexpr std::size_t kOldKernelEventBytes = 40;

struct UsageEvent {
  EventHeader header;
  uint32_t is_last; ///< the process has begun to end
  uint64_t time_ns;
  uint64_t cpu_ns; ///< CLOCK_PROCESS_CPUTIME_ID
};
static_assert(sizeof(UsageEvent) == 24);

} // namespace fade::events
