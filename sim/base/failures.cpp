#include "base/failures.h"

#include "base/trace.h"

#include <charconv>
#include <cinttypes>
#include <cstdlib>
#include <utility>

namespace fade::sim {
namespace {

constexpr std::pair<std::string_view, Failure> words[] = {
    {"open", Failure::open},           {"allocation", Failure::allocation},
    {"queue", Failure::queue},         {"fault", Failure::fault},
    {"violation", Failure::violation}, {"illegal", Failure::illegal},
    {"hang", Failure::hang},           {"lost", Failure::lost},
    {"reset", Failure::reset},         {"ecc", Failure::ecc},
    {"skip", Failure::skip},           {"copy", Failure::copy},
    {"copyhang", Failure::copyhang}};

const char *name_of(Failure what) {
  for (const auto &[word, failure] : words)
    if (failure == what) return word.data();
  return "nothing";
}

bool to_number(std::string_view text, uint64_t &value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

Failures::Failures(std::string_view text) {
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (!word.empty() && !read(word))
      say("FADE_GPU_FAIL: '%.*s' is not known (open, allocation, queue, fault, violation, illegal, "
          "hang, lost, reset, ecc, skip, copy, copyhang; :N or :* and :TEXT behind it)",
          static_cast<int>(word.size()), word.data());
  }
}

bool Failures::read(std::string_view word) {
  Order order;
  const auto colon = std::min(word.find(':'), word.size());
  for (const auto &[name, failure] : words)
    if (word.substr(0, colon) == name) order.what = failure;
  if (order.what == Failure::none) return false;
  word.remove_prefix(std::min(colon + 1, word.size()));
  const auto next = std::min(word.find(':'), word.size());
  const std::string_view number = word.substr(0, next),
                         text = word.substr(std::min(next + 1, word.size()));
  if (number == "*")
    order.number = 0;
  else if (!number.empty() && (!to_number(number, order.number) || order.number == 0))
    return false;
  const bool is_dispatch = is_of_dispatch(order.what);
  if (!text.empty() && is_dispatch)
    order.name = text;
  else if (!text.empty() && (order.what != Failure::allocation || !to_number(text, order.size)))
    return false;
  order.seen = std::make_unique<std::atomic<uint64_t>>(0);
  any_dispatch_ |= is_dispatch;
  any_name_ |= !order.name.empty();
  orders_.push_back(std::move(order));
  return true;
}

bool Failures::is_of_dispatch(Failure what) {
  return what >= Failure::fault && what <= Failure::skip;
}

bool Failures::is_due(Order &order) {
  const uint64_t count = order.seen->fetch_add(1) + 1;
  if (order.number != 0 && count != order.number) return false;
  say("FADE_GPU_FAIL: %s %" PRIu64 " fails on purpose", name_of(order.what), count);
  return true;
}

Failure Failures::next_dispatch(const std::string &name) {
  Failure result = Failure::none;
  for (Order &order : orders_)
    if (is_of_dispatch(order.what) && name.find(order.name) != name.npos && is_due(order))
      result = order.what;
  return result;
}

Failure Failures::next(Failure what, uint64_t size) {
  for (Order &order : orders_)
    if (order.what == what && size >= order.size && is_due(order)) return what;
  return Failure::none;
}

Failure Failures::at_copy() {
  if (orders_.empty()) return Failure::none;
  const Failure first = next(Failure::copy, 0), second = next(Failure::copyhang, 0);
  return second == Failure::none ? first : second;
}

Failures &failures() {
  static Failures *all = [] {
    const char *text = std::getenv("FADE_GPU_FAIL");
    return new Failures(text ? text : ""); // threads of the device outlive static objects
  }();
  return *all;
}

} // namespace fade::sim
