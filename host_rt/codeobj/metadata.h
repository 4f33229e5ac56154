// What the compiler wrote down about kernels: the metadata note of a code object.
// Versions 3 to 6 are MessagePack and are read lazily, kernel by kernel; version 2 is YAML and
// small.
#pragma once

#include "codeobj/bytes.h"

#include <array>
#include <utility>
#include <vector>

namespace fade::codeobj {

/// What an argument is. The Hidden* kinds are filled in by the runtime, not by the application.
enum class ArgKind : uint8_t {
  ByValue,
  GlobalBuffer,
  DynamicSharedPointer,
  Sampler,
  Image,
  Pipe,
  Queue,
  HiddenGlobalOffsetX,
  HiddenGlobalOffsetY,
  HiddenGlobalOffsetZ,
  HiddenNone,
  HiddenPrintfBuffer,
  HiddenHostcallBuffer,
  HiddenDefaultQueue,
  HiddenCompletionAction,
  HiddenMultigridSyncArg,
  HiddenBlockCountX,
  HiddenBlockCountY,
  HiddenBlockCountZ,
  HiddenGroupSizeX,
  HiddenGroupSizeY,
  HiddenGroupSizeZ,
  HiddenRemainderX,
  HiddenRemainderY,
  HiddenRemainderZ,
  HiddenGridDims,
  HiddenHeapV1,
  HiddenDynamicLdsSize,
  HiddenPrivateBase,
  HiddenSharedBase,
  HiddenQueuePtr,
  HiddenOther, ///< a hidden argument this version of FADE has no name for
  Other,       ///< likewise, not hidden
};

bool isHidden(ArgKind kind);
/// The metadata's spelling: "by_value", "hidden_grid_dims".
std::string_view to_string(ArgKind kind);
ArgKind argKindFromString(std::string_view text);

struct KernelArg {
  uint32_t offset = 0;
  uint32_t size = 0;
  ArgKind kind = ArgKind::Other;
  std::string kind_text; ///< the metadata's own word, also when `kind` is Other
  std::string name;
  std::string type_name;
  std::string address_space; ///< "global", "local", …; empty when not given
  std::string access;
  std::string actual_access;
  uint32_t pointee_align = 0;
  bool is_const = false;
  bool is_restrict = false;
  bool is_volatile = false;
  bool is_pipe = false;
};

struct KernelMetadata {
  std::string name;   ///< as the compiler mangled it
  std::string symbol; ///< of the kernel descriptor: "name.kd"; in version 2 the name itself
  std::string language;
  std::vector<uint32_t> language_version;
  std::vector<KernelArg> args;
  uint32_t kernarg_segment_size = 0;
  uint32_t kernarg_segment_align = 0;
  uint32_t group_segment_fixed_size = 0;
  uint32_t private_segment_fixed_size = 0;
  uint32_t wavefront_size = 0;
  uint32_t max_flat_workgroup_size = 0;
  uint32_t sgpr_count = 0;
  uint32_t vgpr_count = 0;
  uint32_t agpr_count = 0;
  uint32_t sgpr_spill_count = 0;
  uint32_t vgpr_spill_count = 0;
  std::optional<std::array<uint32_t, 3>> reqd_workgroup_size;
  std::optional<std::array<uint32_t, 3>> workgroup_size_hint;
  bool uses_dynamic_stack = false;
  std::string kind; ///< "normal", "init", "fini"; empty when not given
  /// Scalars this version of FADE has no field for, as written: {".uniform_work_group_size", "1"}.
  std::vector<std::pair<std::string, std::string>> other;
};

/// The note as an index: where each kernel's description lies. The views point into the note.
struct MetadataIndex {
  struct Entry {
    std::string_view name;
    std::string_view symbol;
    std::size_t position = 0; ///< of the kernel's map in the note
  };
  std::vector<Entry> kernels;
  std::string target; ///< "amdgcn-amd-amdhsa--gfx90a"; empty before version 4
  std::vector<uint32_t> version;
  std::vector<std::string> printf_formats;
};

// Errors say what is malformed in the note, and at which offset; the caller knows the file.

Result<MetadataIndex> indexMetadata(ByteView note);
Result<KernelMetadata> readKernelMetadata(ByteView note, std::size_t position);

/// Version 2: the whole note at once.
struct OldMetadata {
  std::vector<KernelMetadata> kernels;
  std::vector<uint32_t> version;
  std::vector<std::string> printf_formats;
};
Result<OldMetadata> readOldMetadata(std::string_view yaml);

} // namespace fade::codeobj
