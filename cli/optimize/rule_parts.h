// What several rules need of a source.
#pragma once

#include "optimize/rules.h"

namespace fade::cli {

/// The kernels that were captured and can be found in the source.
std::vector<const KernelText *> kernelsOf(const SourceText &source,
                                          const nlohmann::ordered_json &request);

/// The names of a kernel's pointers, as indexes of tokens.
std::vector<std::size_t> pointersOf(const SourceText &source, const KernelText &kernel);

/// Says that the pointers of a kernel lead to memory of their own. False: there are fewer than two
/// of them, or it is said of some already.
bool addRestrict(const SourceText &source, const KernelText &kernel, Edits &edits);

/// Whether a name gets a value there: "name =", "name +=", "name++", "++name".
bool isAssigned(const SourceText &source, std::size_t name);

/// Where the braces end in which a token stands.
std::size_t scopeEnd(const SourceText &source, std::size_t token);

/// "\n" or "\r\n".
std::string_view lineEndOf(const SourceText &source);

// ---- rules of arrays in LDS
std::vector<RuleEdit> padArrays(const SourceText &source, const nlohmann::ordered_json &request);
std::vector<RuleEdit> swapIndices(const SourceText &source, const nlohmann::ordered_json &request);

// ---- rules of loops
std::vector<RuleEdit> widenLoops(const SourceText &source, const nlohmann::ordered_json &request);
std::vector<RuleEdit> unrollLoops(const SourceText &source, const nlohmann::ordered_json &request);

} // namespace fade::cli
