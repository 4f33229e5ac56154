#include "codeobj/metadata.h"

#include "codeobj/msgpack_reader.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::codeobj {
namespace {

using Kind = MsgpackReader::Kind;

constexpr std::pair<ArgKind, std::string_view> kArgKinds[] = {
    {ArgKind::ByValue, "by_value"},
    {ArgKind::GlobalBuffer, "global_buffer"},
    {ArgKind::DynamicSharedPointer, "dynamic_shared_pointer"},
    {ArgKind::Sampler, "sampler"},
    {ArgKind::Image, "image"},
    {ArgKind::Pipe, "pipe"},
    {ArgKind::Queue, "queue"},
    {ArgKind::HiddenGlobalOffsetX, "hidden_global_offset_x"},
    {ArgKind::HiddenGlobalOffsetY, "hidden_global_offset_y"},
    {ArgKind::HiddenGlobalOffsetZ, "hidden_global_offset_z"},
    {ArgKind::HiddenNone, "hidden_none"},
    {ArgKind::HiddenPrintfBuffer, "hidden_printf_buffer"},
    {ArgKind::HiddenHostcallBuffer, "hidden_hostcall_buffer"},
    {ArgKind::HiddenDefaultQueue, "hidden_default_queue"},
    {ArgKind::HiddenCompletionAction, "hidden_completion_action"},
    {ArgKind::HiddenMultigridSyncArg, "hidden_multigrid_sync_arg"},
    {ArgKind::HiddenBlockCountX, "hidden_block_count_x"},
    {ArgKind::HiddenBlockCountY, "hidden_block_count_y"},
    {ArgKind::HiddenBlockCountZ, "hidden_block_count_z"},
    {ArgKind::HiddenGroupSizeX, "hidden_group_size_x"},
    {ArgKind::HiddenGroupSizeY, "hidden_group_size_y"},
    {ArgKind::HiddenGroupSizeZ, "hidden_group_size_z"},
    {ArgKind::HiddenRemainderX, "hidden_remainder_x"},
    {ArgKind::HiddenRemainderY, "hidden_remainder_y"},
    {ArgKind::HiddenRemainderZ, "hidden_remainder_z"},
    {ArgKind::HiddenGridDims, "hidden_grid_dims"},
    {ArgKind::HiddenHeapV1, "hidden_heap_v1"},
    {ArgKind::HiddenDynamicLdsSize, "hidden_dynamic_lds_size"},
    {ArgKind::HiddenPrivateBase, "hidden_private_base"},
    {ArgKind::HiddenSharedBase, "hidden_shared_base"},
    {ArgKind::HiddenQueuePtr, "hidden_queue_ptr"},
    {ArgKind::HiddenOther, "hidden_other"},
    {ArgKind::Other, "other"},
};

/// Reads nested maps field by field. A field of the wrong type is a fault, a field nobody asked for
/// is not.
class FieldReader {
public:
  FieldReader(ByteView note, std::size_t position) : reader_(note, position) {}

  std::size_t position() const { return reader_.position(); }
  const std::optional<Error> &fault() const { return fault_; }

  /// Calls `field(key)` for every pair of the map that comes next; the callee takes the value.
  template <class Field> void map(Field field) {
    auto item = expect(Kind::Map, "a map");
    for (uint32_t i = 0; item && i < item->elements && !fault_; ++i) {
      auto key = expect(Kind::String, "a string (a key)");
      if (!key) return;
      key_ = key->text;
      field(key->text);
    }
  }
  /// Calls `element()` for every element of the array that comes next; the callee takes the value.
  template <class Element> void array(Element element) {
    auto item = expect(Kind::Array, "an array");
    for (uint32_t i = 0; item && i < item->elements && !fault_; ++i) element();
  }
  void take(std::string &into) {
    if (auto item = expect(Kind::String, "a string")) into = item->text;
  }
  void take(std::string_view &into) {
    if (auto item = expect(Kind::String, "a string")) into = item->text;
  }
  void take(bool &into) {
    if (auto item = expect(Kind::Boolean, "a boolean")) into = item->number != 0;
  }
  void take(uint32_t &into) {
    auto item = reader_.next();
    auto value = item ? item->asUnsigned() : std::nullopt;
    if (!value || *value > UINT32_MAX) return fail("is not a 32-bit number");
    into = static_cast<uint32_t>(*value);
  }
  void take(std::vector<uint32_t> &into) {
    array([&] { take(into.emplace_back()); });
  }
  void take(std::optional<std::array<uint32_t, 3>> &into) {
    std::vector<uint32_t> values;
    take(values);
    if (values.size() != 3) return fail("does not have three numbers");
    into = {values[0], values[1], values[2]};
  }
  void skip() {
    if (!reader_.skip()) fail("is malformed");
  }
  /// A scalar as text; an array or a map is passed over.
  std::optional<std::string> takeScalar() {
    MsgpackReader ahead = reader_;
    auto item = ahead.next();
    skip();
    if (fault_) return std::nullopt;
    switch (item->kind) {
    case Kind::Boolean: return item->number ? "true" : "false";
    case Kind::Unsigned: return fmt::format("{}", item->number);
    case Kind::Signed: return fmt::format("{}", static_cast<int64_t>(item->number));
    case Kind::Float: return fmt::format("{}", item->real);
    case Kind::String: return std::string(item->text);
    default: return std::nullopt;
    }
  }

private:
  std::optional<MsgpackReader::Item> expect(Kind kind, const char *name) {
    auto item = reader_.next();
    if (item && item->kind == kind) return item;
    fail(fmt::format("is not {}", name));
    return std::nullopt;
  }
  void fail(std::string_view what) {
    if (!fault_)
      fault_ = Error{"", "", reader_.position(), fmt::format("metadata '{}' {}", key_, what)};
  }

  MsgpackReader reader_;
  std::string_view key_ = "(top)";
  std::optional<Error> fault_;
};

void readArgField(FieldReader &in, std::string_view key, KernelArg &arg) {
  if (key == ".offset") return in.take(arg.offset);
  if (key == ".size") return in.take(arg.size);
  if (key == ".value_kind") return in.take(arg.kind_text);
  if (key == ".name") return in.take(arg.name);
  if (key == ".type_name") return in.take(arg.type_name);
  if (key == ".address_space") return in.take(arg.address_space);
  if (key == ".access") return in.take(arg.access);
  if (key == ".actual_access") return in.take(arg.actual_access);
  if (key == ".pointee_align") return in.take(arg.pointee_align);
  if (key == ".is_const") return in.take(arg.is_const);
  if (key == ".is_restrict") return in.take(arg.is_restrict);
  if (key == ".is_volatile") return in.take(arg.is_volatile);
  if (key == ".is_pipe") return in.take(arg.is_pipe);
  in.skip();
}

void readArgs(FieldReader &in, std::vector<KernelArg> &args) {
  in.array([&] {
    KernelArg &arg = args.emplace_back();
    in.map([&](std::string_view key) { readArgField(in, key, arg); });
    arg.kind = argKindFromString(arg.kind_text);
  });
}

void readKernelField(FieldReader &in, std::string_view key, KernelMetadata &kernel) {
  if (key == ".name") return in.take(kernel.name);
  if (key == ".symbol") return in.take(kernel.symbol);
  if (key == ".language") return in.take(kernel.language);
  if (key == ".language_version") return in.take(kernel.language_version);
  if (key == ".args") return readArgs(in, kernel.args);
  if (key == ".kernarg_segment_size") return in.take(kernel.kernarg_segment_size);
  if (key == ".kernarg_segment_align") return in.take(kernel.kernarg_segment_align);
  if (key == ".group_segment_fixed_size") return in.take(kernel.group_segment_fixed_size);
  if (key == ".private_segment_fixed_size") return in.take(kernel.private_segment_fixed_size);
  if (key == ".wavefront_size") return in.take(kernel.wavefront_size);
  if (key == ".max_flat_workgroup_size") return in.take(kernel.max_flat_workgroup_size);
  if (key == ".sgpr_count") return in.take(kernel.sgpr_count);
  if (key == ".vgpr_count") return in.take(kernel.vgpr_count);
  if (key == ".agpr_count") return in.take(kernel.agpr_count);
  if (key == ".sgpr_spill_count") return in.take(kernel.sgpr_spill_count);
  if (key == ".vgpr_spill_count") return in.take(kernel.vgpr_spill_count);
  if (key == ".reqd_workgroup_size") return in.take(kernel.reqd_workgroup_size);
  if (key == ".workgroup_size_hint") return in.take(kernel.workgroup_size_hint);
  if (key == ".uses_dynamic_stack") return in.take(kernel.uses_dynamic_stack);
  if (key == ".kind") return in.take(kernel.kind);
  if (auto value = in.takeScalar()) kernel.other.emplace_back(key, std::move(*value));
}

} // namespace

bool isHidden(ArgKind kind) {
  return kind >= ArgKind::HiddenGlobalOffsetX && kind <= ArgKind::HiddenOther;
}

std::string_view to_string(ArgKind kind) {
  for (const auto &[value, text] : kArgKinds)
    if (value == kind) return text;
  return "other";
}

ArgKind argKindFromString(std::string_view text) {
  for (const auto &[value, name] : kArgKinds)
    if (name == text) return value;
  return text.starts_with("hidden_") ? ArgKind::HiddenOther : ArgKind::Other;
}

Result<MetadataIndex> indexMetadata(ByteView note) {
  MetadataIndex index;
  FieldReader in(note, 0);
  auto readEntry = [&] {
    MetadataIndex::Entry &entry = index.kernels.emplace_back();
    entry.position = in.position();
    in.map([&](std::string_view key) {
      if (key == ".name") return in.take(entry.name);
      if (key == ".symbol") return in.take(entry.symbol);
      in.skip();
    });
  };
  in.map([&](std::string_view key) {
    if (key == "amdhsa.kernels") return in.array(readEntry);
    if (key == "amdhsa.target") return in.take(index.target);
    if (key == "amdhsa.version") return in.take(index.version);
    if (key == "amdhsa.printf")
      return in.array([&] { in.take(index.printf_formats.emplace_back()); });
    in.skip();
  });
  if (in.fault()) return *in.fault();
  return index;
}

Result<KernelMetadata> readKernelMetadata(ByteView note, std::size_t position) {
  KernelMetadata kernel;
  FieldReader in(note, position);
  in.map([&](std::string_view key) { readKernelField(in, key, kernel); });
  if (in.fault()) return *in.fault();
  return kernel;
}

} // namespace fade::codeobj
