// How much of a long series a test runs through.
#pragma once

namespace fade::extent {

/// Everything, however long it takes (scripts/test --all).
constexpr bool is_long = FADE_LONG_TESTS;
/// Sanitizers make each step five to twenty times as long, and nobody asked for everything.
constexpr bool is_slowed = FADE_TESTS_ARE_SANITIZED && !is_long;

/// `all` steps, or as many of them as a slowed test has time for.
template <class T> constexpr T steps(T all, T when_slowed) { return is_slowed ? when_slowed : all; }

} // namespace fade::extent
