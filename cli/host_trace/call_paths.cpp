#include "host_trace/call_paths.h"

#include "host_trace/log_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <unordered_map>

namespace fade::host_trace {
namespace {

/// "#2 0x55ae in main(int) at a.cpp:1" without number and address, by which equal places differ.
std::string_view placeIn(std::string_view frame) {
  const auto skip = [&](auto is_part) {
    while (!frame.empty() && is_part(frame.front())) frame.remove_prefix(1);
  };
  const auto is_blank = [](char c) { return c == ' '; };
  const std::string_view whole = frame;
  if (frame.starts_with('#')) {
    frame.remove_prefix(1);
    skip([](char c) { return c >= '0' && c <= '9'; });
    skip(is_blank);
  }
  if (frame.starts_with("0x"))
    skip([](char c) { return c != ' '; });
  else if (constexpr std::string_view mark = "(inlined)"; frame.starts_with(mark))
    frame.remove_prefix(mark.size());
  skip(is_blank);
  if (frame.starts_with("in ")) frame.remove_prefix(3);
  return frame.empty() ? whole : frame;
}

class PathTree {
public:
  explicit PathTree(const TraceLog &log, const Nesting &nesting) : log_(log), nesting_(nesting) {}

  CallPath build() {
    std::vector<CallPath *> of_item(nesting_.items().size());
    for (std::size_t i = 0; i < of_item.size(); ++i) {
      const Nesting::Item &item = nesting_.items()[i];
      CallPath *parent = item.parent ? of_item[*item.parent] : &root_;
      const uint64_t ns = item.end_ns - item.start_ns;
      const bool is_outermost =
          item.is_call && !(item.parent && nesting_.items()[*item.parent].is_call);
      parent->cpu_own_ns -= std::min(parent->cpu_own_ns, item.parent ? ns : 0);
      if (is_outermost) parent = framesOf(log_.calls[item.index], parent, ns);
      CallPath *path = child(parent, nameOfItem(item));
      of_item[i] = path;
      ++path->count;
      path->cpu_ns += ns;
      path->cpu_own_ns += ns;
      if (!item.parent) root_.cpu_ns += ns;
    }
    for (const LoggedOperation &operation : log_.operations)
      if (operation.call)
        of_item[nesting_.ofCall(*operation.call)]->gpu_own_ns += operation.duration();
      else
        root_.gpu_own_ns += operation.duration();
    finish(root_);
    return std::move(root_);
  }

private:
  std::string_view nameOfItem(const Nesting::Item &item) const {
    if (item.is_call) return log_.calls[item.index].function;
    return operatorIn(log_.ranges[item.index].text).name;
  }

  /// The places between what is around a call and the call.
  CallPath *framesOf(const LoggedCall &call, CallPath *parent, uint64_t ns) {
    for (const std::string_view frame : log_.stacks[call.stack]) {
      const std::string_view place = placeIn(frame);
      if (place.starts_with(call.function)) break;
      parent = child(parent, place);
      ++parent->count;
      parent->cpu_ns += ns;
    }
    return parent;
  }

  CallPath *child(CallPath *parent, std::string_view name) {
    CallPath *&found = children_[parent][name];
    if (!found) {
      parent->within.push_back(std::make_unique<CallPath>());
      found = parent->within.back().get();
      found->name = name;
    }
    return found;
  }

  void finish(CallPath &path) {
    std::vector<CallPath *> order = {&path};
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const auto &inner : order[i]->within) order.push_back(inner.get());
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      (*at)->gpu_ns += (*at)->gpu_own_ns;
      for (const auto &inner : (*at)->within) (*at)->gpu_ns += inner->gpu_ns;
      std::ranges::sort((*at)->within, std::greater(), [](const auto &inner) {
        return std::pair(std::max(inner->cpu_ns, inner->gpu_ns), inner->name);
      });
    }
  }

  const TraceLog &log_;
  const Nesting &nesting_;
  CallPath root_;
  std::unordered_map<CallPath *, std::map<std::string_view, CallPath *>> children_;
};

} // namespace

CallPath::~CallPath() {
  std::vector<std::unique_ptr<CallPath>> all = std::move(within);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto inner = std::move(all[i]->within);
    all.insert(all.end(), std::move_iterator(inner.begin()), std::move_iterator(inner.end()));
  }
}

CallPath callPathsOf(const TraceLog &log, const Nesting &nesting) {
  return PathTree(log, nesting).build();
}

std::string callPathText(const TraceLog &log, const CallPath &root, std::size_t rows) {
  if (root.within.empty()) return "no calls\n";
  std::string text = fmt::format("{:>8}  {:>9}  {:>9}  {:>9}  {:>9}  {}\n", "count", "CPU", "own",
                                 "GPU", "own", "path");
  const auto gpu = [&](uint64_t ns) { return log.has_operations ? durationText(ns) : "-"; };
  struct Open {
    const CallPath *path;
    std::size_t next = 0;
  };
  std::vector<Open> open = {{&root}};
  while (!open.empty()) {
    Open &top = open.back();
    const std::size_t indent = 2 * (open.size() - 1);
    if (top.next == std::min(rows, top.path->within.size())) {
      if (const std::size_t more = top.path->within.size() - top.next; more > 0)
        text += fmt::format("{:>{}}... and {} more\n", "", 54 + std::min<std::size_t>(indent, 40),
                            more);
      open.pop_back();
      continue;
    }
    const CallPath &path = *top.path->within[top.next++];
    text += fmt::format("{:>8}  {:>9}  {:>9}  {:>9}  {:>9}  {:>{}}{}\n", path.count,
                        durationText(path.cpu_ns), durationText(path.cpu_own_ns), gpu(path.gpu_ns),
                        gpu(path.gpu_own_ns), "", std::min<std::size_t>(indent, 40),
                        nameCell(path.name, 70));
    open.push_back({&path});
  }
  return text;
}

} // namespace fade::host_trace
