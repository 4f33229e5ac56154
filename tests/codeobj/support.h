// What the code-object tests share: where the samples are, and the independent tools they are
// compared with.
#pragma once

#include "codeobj/code_object.h"

#include <map>
#include <string>
#include <vector>

namespace fade::codeobj::testing {

/// The standard output of a command; a failing command fails the test.
std::string outputOf(const std::string &command);

std::string readelf(const std::string &arguments);
/// What it says of one of all_code_objects().
const std::string &readelf(const std::string &options, const std::string &object);
std::string objdump(const std::string &arguments);
std::string objcopy(const std::string &arguments);
std::string symbolizer(const std::string &arguments, const std::string &input);
std::string bundler(const std::string &arguments);

std::vector<std::string> lines_of(const std::string &text);
/// A file in tests/data.
std::string data_file(const std::string &name);
/// A code object compiled for the tests: sample("arguments-gfx90a-v5").
std::string sample(const std::string &name);
/// Another file that the test build made: built_file("libfat.so").
std::string built_file(const std::string &name);
/// A library where the system has it; empty if it has not.
std::string system_library(const std::string &name);
/// All of them, and Triton's.
std::vector<std::string> all_code_objects();
/// Those of version 3 and later.
std::vector<std::string> modern_code_objects();
/// Those of these that are small enough to look at every instruction.
std::vector<std::string> small_code_objects();
/// "arguments-gfx90a-v5" or "triton_gfx90a_matmul": a name for a parameterised test.
std::string test_name(const std::string &path);

std::vector<std::uint8_t> contents_of(const std::string &path);
/// A fresh file name in the test's own temporary folder.
std::string temporary_file(const std::string &name);
void write_file(const std::string &path, ByteView bytes);

/// Opens the code object; a failure fails the test and throws.
std::shared_ptr<const CodeObject> open_object(const std::string &path);

} // namespace fade::codeobj::testing
