// Metadata of code objects of version 2: YAML, with other names for the same things and no argument
// offsets.
#include "codeobj/metadata.h"
#include "codeobj/yaml_subset.h"

#include <cctype>
#include <fmt/format.h>

namespace fade::codeobj {
namespace {

/// "HiddenGlobalOffsetX" -> "hidden_global_offset_x", "ReadOnly" -> "read_only".
std::string snakeCase(std::string_view camel) {
  if (camel == "HiddenMultiGridSyncArg") return "hidden_multigrid_sync_arg";
  std::string out;
  for (char c : camel) {
    auto byte = static_cast<unsigned char>(c);
    if (std::isupper(byte) && !out.empty()) out += '_';
    out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

class Fields {
public:
  Fields(const YamlNode &node, std::string &problem) : node_(node), problem_(problem) {}

  void take(const char *key, uint32_t &into) {
    const YamlNode *field = node_.find(key);
    if (field == nullptr) return;
    if (auto value = field->number())
      into = *value;
    else if (problem_.empty())
      problem_ = fmt::format("metadata '{}' is not a number", key);
  }
  void take(const char *key, std::string &into) {
    if (const YamlNode *field = node_.find(key)) into = field->scalar;
  }
  void take(const char *key, bool &into) {
    if (const YamlNode *field = node_.find(key)) into = field->scalar == "true";
  }
  void take(const char *key, std::vector<uint32_t> &into) {
    const YamlNode *field = node_.find(key);
    if (field == nullptr) return;
    for (const YamlNode &element : field->list) {
      auto value = element.number();
      if (!value && problem_.empty()) problem_ = fmt::format("metadata '{}' is not numbers", key);
      into.push_back(value.value_or(0));
    }
  }
  void take(const char *key, std::optional<std::array<uint32_t, 3>> &into) {
    std::vector<uint32_t> values;
    take(key, values);
    if (values.size() == 3) into = {values[0], values[1], values[2]};
  }

private:
  const YamlNode &node_;
  std::string &problem_;
};

KernelArg readArg(const YamlNode &node, uint64_t &end, std::string &problem) {
  KernelArg arg;
  uint32_t align = 1;
  std::string kind, space, access, actual;
  Fields in(node, problem);
  in.take("Size", arg.size);
  in.take("Align", align);
  in.take("ValueKind", kind);
  in.take("Name", arg.name);
  in.take("TypeName", arg.type_name);
  in.take("AddrSpaceQual", space);
  in.take("AccQual", access);
  in.take("ActualAccQual", actual);
  in.take("PointeeAlign", arg.pointee_align);
  in.take("IsConst", arg.is_const);
  in.take("IsRestrict", arg.is_restrict);
  in.take("IsVolatile", arg.is_volatile);
  in.take("IsPipe", arg.is_pipe);
  arg.kind_text = snakeCase(kind);
  arg.kind = argKindFromString(arg.kind_text);
  arg.address_space = snakeCase(space);
  if (access != "Default") arg.access = snakeCase(access);
  if (actual != "Default") arg.actual_access = snakeCase(actual);
  // Arguments follow one another, each at its own alignment.
  if (align == 0 || (align & (align - 1)) != 0) align = 1;
  uint64_t offset = (end + align - 1) & ~uint64_t(align - 1);
  end = offset + arg.size;
  if (end > UINT32_MAX && problem.empty()) problem = "metadata describes arguments past 4 GiB";
  arg.offset = static_cast<uint32_t>(offset);
  return arg;
}

KernelMetadata readKernel(const YamlNode &node, std::string &problem) {
  KernelMetadata kernel;
  Fields in(node, problem);
  in.take("Name", kernel.name);
  in.take("Language", kernel.language);
  in.take("LanguageVersion", kernel.language_version);
  kernel.symbol = kernel.name;
  if (const YamlNode *args = node.find("Args")) {
    uint64_t end = 0;
    for (const YamlNode &arg : args->list) kernel.args.push_back(readArg(arg, end, problem));
  }
  if (const YamlNode *attributes = node.find("Attrs")) {
    Fields attrs(*attributes, problem);
    attrs.take("ReqdWorkGroupSize", kernel.reqd_workgroup_size);
    attrs.take("WorkGroupSizeHint", kernel.workgroup_size_hint);
  }
  if (const YamlNode *properties = node.find("CodeProps")) {
    Fields props(*properties, problem);
    props.take("KernargSegmentSize", kernel.kernarg_segment_size);
    props.take("KernargSegmentAlign", kernel.kernarg_segment_align);
    props.take("GroupSegmentFixedSize", kernel.group_segment_fixed_size);
    props.take("PrivateSegmentFixedSize", kernel.private_segment_fixed_size);
    props.take("WavefrontSize", kernel.wavefront_size);
    props.take("NumSGPRs", kernel.sgpr_count);
    props.take("NumVGPRs", kernel.vgpr_count);
    props.take("NumSpilledSGPRs", kernel.sgpr_spill_count);
    props.take("NumSpilledVGPRs", kernel.vgpr_spill_count);
    props.take("MaxFlatWorkGroupSize", kernel.max_flat_workgroup_size);
    props.take("IsDynamicCallStack", kernel.uses_dynamic_stack);
  }
  return kernel;
}

} // namespace

Result<OldMetadata> readOldMetadata(std::string_view yaml) {
  auto parsed = parseYamlSubset(yaml);
  if (!parsed) return std::move(parsed).error();
  const YamlNode &root = *parsed;
  OldMetadata metadata;
  std::string problem;
  Fields(root, problem).take("Version", metadata.version);
  if (const YamlNode *formats = root.find("Printf"))
    for (const YamlNode &format : formats->list) metadata.printf_formats.push_back(format.scalar);
  if (const YamlNode *kernels = root.find("Kernels"))
    for (const YamlNode &kernel : kernels->list)
      metadata.kernels.push_back(readKernel(kernel, problem));
  if (!problem.empty()) return Error::of(problem);
  return metadata;
}

} // namespace fade::codeobj
