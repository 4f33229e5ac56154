// HIP's functions as `fadeprobe trace` records them: one list, made by scripts/hip-functions from
// HIP's headers. libfade makes a wrapper of each line, readers of a trace learn from the same line
// what was recorded and what to call it. No header of HIP is needed for either.
//
//   FADE_HIP(table, index, name, group, result, (arguments), "result's type", "argument:its type,
//   ...")
//
// `table` and `index`: HIP 6 and 7 call every function through a table of pointers, which only ever
// grows at its end; this is the place there. `result` and `arguments` are types that are passed in
// the same registers as HIP's own; a pointer to something that is not const is an output, whose
// value after the call is recorded; outputs that are not recorded have the type void *. Structures
// behind pointers are In, Out or InOut; what is in them is said by fade/hip_structures.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

namespace fade::hip {

/// A structure that is passed by value, by the size of its elements.
template <typename Word, unsigned Count> struct Words { Word words[Count]; };
template <unsigned Count> using Words1 = Words<uint8_t, Count>;
template <unsigned Count> using Words4 = Words<uint32_t, Count>;
template <unsigned Count> using Words8 = Words<uint64_t, Count>;

/// A structure that a pointer points to: whether HIP reads or writes it, its size, and that in
/// HIP 5. Never defined: nobody but HIP and its clients know what is in it.
enum class Way : uint8_t { in, out, both };
template <Way Passed, unsigned Bytes, unsigned BytesInFive> struct Behind;
template <unsigned Bytes, unsigned InFive = Bytes> using In = Behind<Way::in, Bytes, InFive>;
template <unsigned Bytes, unsigned InFive = Bytes> using Out = Behind<Way::out, Bytes, InFive>;
template <unsigned Bytes, unsigned InFive = Bytes> using InOut = Behind<Way::both, Bytes, InFive>;

/// `plain`: no table, but functions of HIP 5 that later versions have under their names only, for
/// programs that were compiled long ago or take them with dlsym.
enum class Table : uint16_t { runtime = 0, compiler = 2000, rtc = 2100, plain = 2200 };

/// The number of a function in a trace. It stays the same in every version of FADE.
constexpr uint16_t functionNumber(Table table, unsigned index) {
  return static_cast<uint16_t>(static_cast<unsigned>(table) + index);
}

enum class Kind : uint8_t {
  nothing, // the result of a void function
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64,
  pointer,
  text,   // const char *: what it points to, up to kTextBytes
  words4, // a structure of 32-bit numbers
  words8, // and of 64-bit ones
  other,  // a structure of something else
  behind, // a structure that a pointer points to
  bits,   // of a member of a structure: a bit-field
};

inline constexpr std::size_t kTextBytes = 128;

/// What is recorded of an argument or a result: so many 64-bit words. A text has the pointer, then
/// the bytes, with a zero after the last. An output has the pointer, then the value after the call,
/// or a text. A structure behind a pointer has the pointer, then its bytes: an output's after the
/// call, any other's before it, and again after it if HIP may have changed it.
struct Recorded {
  Kind kind = Kind::nothing;
  bool is_output = false;
  uint16_t words = 0;
};

template <typename T> struct IsWords : std::false_type {};
template <typename Word, unsigned Count> struct IsWords<Words<Word, Count>> : std::true_type {
  using Element = Word;
};
template <typename T> struct BehindOf : std::false_type {};
template <Way Passed, unsigned Bytes, unsigned BytesInFive>
struct BehindOf<Behind<Passed, Bytes, BytesInFive> *> : std::true_type {
  static constexpr bool kIsRead = Passed != Way::out, kIsWritten = Passed != Way::in;
  static constexpr unsigned kBytes = Bytes, kBytesInFive = BytesInFive;
};

template <typename T> constexpr Recorded recordedAs() {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else if constexpr (std::is_same_v<T, const char *> || std::is_same_v<T, char *>) {
    return {Kind::text, std::is_same_v<T, char *>, 1 + kTextBytes / 8};
  } else if constexpr (BehindOf<T>::value) {
    return {Kind::behind, !BehindOf<T>::kIsRead, 1 + (BehindOf<T>::kBytes + 7) / 8};
  } else if constexpr (std::is_pointer_v<T>) {
    using Pointee = std::remove_pointer_t<T>;
    if constexpr (std::is_void_v<Pointee>)
      return {Kind::pointer, false, 1};
    else
      return {recordedAs<Pointee>().kind, true, 2};
  } else if constexpr (IsWords<T>::value) {
    constexpr auto words = static_cast<uint16_t>((sizeof(T) + 7) / 8);
    constexpr std::size_t element = sizeof(typename IsWords<T>::Element);
    return {element == 4 ? Kind::words4 : element == 8 ? Kind::words8 : Kind::other, false, words};
  } else if constexpr (std::is_same_v<T, bool>) {
    return {Kind::boolean, false, 1};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {sizeof(T) == 4 ? Kind::f32 : Kind::f64, false, 1};
  } else {
    constexpr Kind kinds[] = {Kind::u8, Kind::u16, Kind::u32, Kind::u64,
                              Kind::i8, Kind::i16, Kind::i32, Kind::i64};
    constexpr unsigned size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return {kinds[size + (std::is_signed_v<T> ? 4 : 0)], false, 1};
  }
}

/// Of a result: a pointer is only that. Its first word is in the event itself; if it has more than
/// one, all of them follow the arguments.
template <typename R> constexpr Recorded resultRecordedAs() {
  constexpr Recorded recorded = recordedAs<R>();
  if constexpr (recorded.is_output)
    return {Kind::pointer, false, 1};
  else
    return recorded;
}

template <typename Signature> struct SignatureOf;
template <typename R, typename... A> struct SignatureOf<R(A...)> {
  /// Of the arguments and of what follows them.
  static constexpr unsigned kArgumentWords = (0u + ... + recordedAs<A>().words);
  static constexpr unsigned kWords =
      kArgumentWords + (resultRecordedAs<R>().words > 1 ? resultRecordedAs<R>().words : 0);
  static constexpr unsigned kCount = sizeof...(A);
  /// The last is the result.
  static constexpr Recorded kRecorded[] = {recordedAs<A>()..., resultRecordedAs<R>()};
};

/// A function of HIP, for readers.
struct FunctionInfo {
  uint16_t number;
  const char *name, *group;
  const char *result_type, *parameters; // as in FADE_HIP
  unsigned argument_words, words, count;
  const Recorded *recorded; // `count` arguments and the result
};

#define FADE_HIP_SIGNATURE(result, arguments) SignatureOf<result arguments>

inline constexpr FunctionInfo kFunctions[] = {
#define FADE_HIP(table, index, name, group, result, arguments, result_type, parameters)            \
  {functionNumber(Table::table, index),                                                            \
   #name,                                                                                          \
   #group,                                                                                         \
   result_type,                                                                                    \
   parameters,                                                                                     \
   FADE_HIP_SIGNATURE(result, arguments)::kArgumentWords,                                          \
   FADE_HIP_SIGNATURE(result, arguments)::kWords,                                                  \
   FADE_HIP_SIGNATURE(result, arguments)::kCount,                                                  \
   FADE_HIP_SIGNATURE(result, arguments)::kRecorded},
#include "fade/hip_functions.inc"
#undef FADE_HIP
};

inline constexpr std::size_t kFunctionCount = std::size(kFunctions);

} // namespace fade::hip
