// Result<T>: a value, or an Error that says which file, which part of it and which offset was
// wrong. Files come from anywhere, so a bad one is an ordinary outcome and not an exception.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace fade {

struct Error {
  std::string file;    ///< name of the bytes: a path, or "path:gfx90a", or what the caller said
  std::string section; ///< the part of the file, e.g. ".note" or "bundle header"; may be empty
  uint64_t offset = 0; ///< offset in the section, or in the file when section is empty
  std::string what;

  /// Where what is wrong is no place in a file.
  static Error of(std::string what) { return {"", "", 0, std::move(what)}; }

  /// One line: "kernel.hsaco: .note+0x14: note runs past the end of the section".
  std::string message() const;
};

template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // The callers check ok() first; std::get would throw in a process that may not expect it.
  T &operator*() & { return *std::get_if<0>(&state_); }
  const T &operator*() const & { return *std::get_if<0>(&state_); }
  T &&operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T *operator->() { return std::get_if<0>(&state_); }
  const T *operator->() const { return std::get_if<0>(&state_); }

  const Error &error() const & { return *std::get_if<1>(&state_); }
  Error &&error() && { return std::move(*std::get_if<1>(&state_)); }

private:
  std::variant<T, Error> state_;
};

/// The result of something that only succeeds or fails.
struct Done {};
using Status = Result<Done>;

} // namespace fade
