#include "optimize/signature.h"

#include "codeobj/finder.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace fade::cli {

Signature signatureOf(const codeobj::Kernel &kernel) {
  Signature signature{kernel.name, {}, 0};
  const codeobj::KernelMetadata &metadata = kernel.metadata;
  std::size_t number = 0;
  for (const codeobj::KernelArg &argument : metadata.args) {
    if (codeobj::isHidden(argument.kind)) continue; // the compiler's, and others for each version
    signature.parts.push_back(
        fmt::format("argument {} is {} of {} bytes at {}{}", ++number,
                    codeobj::to_string(argument.kind), argument.size, argument.offset,
                    argument.address_space.empty() ? "" : " (" + argument.address_space + ")"));
  }
  signature.most_work_items = metadata.max_flat_workgroup_size;
  if (const auto &size = metadata.reqd_workgroup_size)
    signature.parts.push_back(
        fmt::format("workgroups have {} x {} x {} work-items", (*size)[0], (*size)[1], (*size)[2]));
  return signature;
}

std::string textOf(const Signature &signature) {
  std::string text = fmt::format("at most {} work-items\n", signature.most_work_items);
  for (const std::string &part : signature.parts) text += part + "\n";
  return text;
}

Result<Signature> signatureOf(const std::string &path, const std::string &kernel,
                              const std::string &gpu) {
  std::optional<Signature> found;
  std::optional<Error> problem;
  codeobj::CodeHandler handler;
  handler.on_error = [&](const Error &error) {
    if (!problem) problem = error;
  };
  handler.on_code = [&](const codeobj::FoundCode &code) {
    const auto object = code.open();
    if (!object) {
      handler.on_error(object.error());
      return true;
    }
    const auto index = (*object)->findKernel(kernel);
    if (!index || (*object)->target().processor != gpu) return true;
    const auto read = (*object)->kernel(*index);
    if (!read) {
      handler.on_error(read.error());
      return true;
    }
    found = signatureOf(*read);
    return false;
  };
  if (Status searched = codeobj::findCode(path, handler); !searched)
    return std::move(searched).error();
  if (found) return *found;
  if (problem) return *problem;
  return Error{path, "", 0, fmt::format("there is no kernel {} for {} in it", kernel, gpu)};
}

std::string differenceOf(const Signature &before, const Signature &after, uint64_t enough) {
  const bool is_bound_well = enough != 0 && after.most_work_items >= enough &&
                             after.most_work_items < before.most_work_items;
  if (after.most_work_items != before.most_work_items && !is_bound_well)
    return fmt::format("workgroups have at most {} work-items, before: {}", after.most_work_items,
                       before.most_work_items);
  for (std::size_t i = 0; i < std::max(before.parts.size(), after.parts.size()); ++i) {
    const std::string was = i < before.parts.size() ? before.parts[i] : "nothing more";
    const std::string is = i < after.parts.size() ? after.parts[i] : "nothing more";
    if (was != is) return fmt::format("{}, before: {}", is, was);
  }
  return "";
}

} // namespace fade::cli
