#include "Options.h"

#include "fade/expression.h"
#include "fade/sites.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>

using namespace llvm;

namespace fade {

namespace {

constexpr char known[] =
    "accesses, blocks, counts, kernel, summary, times, unmerged, off, mode=twin|replace, "
    "kernels=REGEX, "
    "scope=[FILE][:LINE[-LINE],...] or @LIST, spaces=global+flat+lds+constant, inline=N";

Error mistake(const Twine &what) {
  return createStringError(inconvertibleErrorCode(), "fade: " + what.str());
}

unsigned spaceBit(StringRef name) {
  return StringSwitch<unsigned>(name)
      .Case("flat", 1u << FADE_SPACE_FLAT)
      .Case("global", 1u << FADE_SPACE_GLOBAL)
      .Case("lds", 1u << FADE_SPACE_LDS)
      .Case("constant", 1u << FADE_SPACE_CONSTANT)
      .Default(0);
}

Error parseSpaces(StringRef value, unsigned &spaces) {
  SmallVector<StringRef, 4> names;
  value.split(names, '+');
  for (StringRef name : names) {
    const unsigned bit = spaceBit(name.trim());
    if (bit == 0)
      return mistake("unknown address space '" + name + "' in 'spaces=" + value +
                     "'; known: global, flat, lds, constant");
    spaces |= bit;
  }
  return Error::success();
}

// LINE or FIRST-LAST.
Error parseLines(StringRef value, StringRef lines, SourceScope &scope) {
  auto [first, last] = lines.split('-');
  if (first.getAsInteger(10, scope.first) ||
      (lines.contains('-') && last.getAsInteger(10, scope.last)))
    return mistake("'scope=" + value + "' is not FILE, FILE:LINE or FILE:FIRST-LAST");
  if (!lines.contains('-')) scope.last = scope.first;
  if (scope.first == 0) return mistake("'scope=" + value + "': lines are counted from 1");
  if (scope.first > scope.last) return mistake("'scope=" + value + "' ends before it begins");
  return Error::success();
}

// FILE or FILE:LINES, with LINE and FIRST-LAST separated by commas in LINES; without FILE, those
// lines of every file.
Error parseScope(StringRef value, Options &options) {
  auto [file, lines] = value.rsplit(':');
  // A colon that is not followed by numbers belongs to the file name.
  const StringRef number = lines.ltrim('-');
  if (!value.contains(':') || number.empty() || !isDigit(number.front())) {
    if (value.empty() || value.back() == ':') return mistake("no file in 'scope=" + value + "'");
    options.scopes.push_back({value.str()});
    return Error::success();
  }
  SmallVector<StringRef, 4> parts;
  lines.split(parts, ',');
  for (StringRef part : parts) {
    SourceScope scope{file.str()};
    if (Error error = parseLines(value, part.trim(), scope)) return error;
    options.scopes.push_back(scope);
  }
  return Error::success();
}

// A file with a scope in each line; what follows a # is a comment.
Error readScopes(StringRef path, Options &options) {
  auto contents = MemoryBuffer::getFile(path);
  if (!contents)
    return mistake("cannot read 'scope=@" + path + "': " + contents.getError().message());
  for (line_iterator line(**contents); !line.is_at_eof(); ++line) {
    const StringRef scope = line->split('#').first.trim();
    if (scope.empty()) continue;
    if (Error error = parseScope(scope, options))
      return mistake(path + ":" + Twine(line.line_number()) + ": " +
                     StringRef(toString(std::move(error))).drop_front(StringRef("fade: ").size()));
  }
  if (options.scopes.empty()) return mistake("there is no scope in '" + path + "'");
  return Error::success();
}

Error parseKernels(StringRef value, Options &options) {
  std::string why = "is empty";
  auto expression = value.empty() ? std::nullopt : Expression::parse(value, why);
  if (!expression) return mistake("bad regular expression in 'kernels=" + value + "': it " + why);
  options.kernels = std::make_shared<const Expression>(*std::move(expression));
  return Error::success();
}

Error parseItem(StringRef item, Options &options) {
  const unsigned mode = StringSwitch<unsigned>(item)
                            .Case("accesses", FADE_MODE_ACCESSES)
                            .Case("blocks", FADE_MODE_BLOCKS)
                            .Case("counts", FADE_MODE_COUNTS)
                            .Case("kernel", FADE_MODE_KERNEL)
                            .Case("summary", FADE_MODE_SUMMARY | FADE_MODE_ACCESSES)
                            .Case("times", FADE_MODE_TIMES | FADE_MODE_COUNTS)
                            .Default(0);
  options.modes |= mode;
  if (mode != 0) return Error::success();
  if (item == "off") {
    options.off = true;
    return Error::success();
  }
  if (item == "unmerged") {
    options.as_written = true;
    return Error::success();
  }
  auto [key, value] = item.split('=');
  key = key.trim(), value = value.trim();
  // Shells and build systems remove quotes; those that are left would become part of a name.
  if (!value.empty() && (value.front() == '"' || value.front() == '\''))
    return mistake("quotes in '" + item + "'; write it without");
  if (key == "kernels") return parseKernels(value, options);
  if (key == "scope")
    return value.consume_front("@") ? readScopes(value, options) : parseScope(value, options);
  if (key == "spaces") return parseSpaces(value, options.spaces);
  if (key == "mode") {
    if (value != "twin" && value != "replace")
      return mistake("unknown mode '" + value + "' in '" + item + "'; known: twin, replace");
    options.replace = value == "replace";
    return Error::success();
  }
  if (key == "inline") {
    unsigned most = 0;
    if (value.getAsInteger(10, most)) return mistake("'" + item + "' needs a number");
    options.inline_accesses = most;
    return Error::success();
  }
  return mistake("unknown option '" + item + "'; known: " + known);
}

} // namespace

bool SourceScope::contains(StringRef path, unsigned line) const {
  if (line < first || line > last || path.size() < file.size()) return false;
  if (file.empty()) return true;
  if (path.take_back(file.size()) != file) return false;
  return path.size() == file.size() || path[path.size() - file.size() - 1] == '/';
}

Expected<Options> Options::parse(StringRef text) {
  Options options;
  options.text = text.str();
  SmallVector<StringRef, 8> items;
  text.split(items, ';');
  StringSet<> seen;
  for (StringRef item : items) {
    item = item.trim();
    if (item.empty()) continue;
    const StringRef key = item.split('=').first.trim();
    if (item.contains('=') && key != "scope" && !seen.insert(key).second)
      return mistake("'" + item + "': there is a '" + key + "=' before it");
    if (Error error = parseItem(item, options)) return std::move(error);
  }
  if (options.modes == 0) options.modes = FADE_MODE_ACCESSES;
  if ((options.modes & FADE_MODE_TIMES) && !options.hasNoStream())
    return mistake("'times' cannot be combined with accesses, blocks or kernel: writing records "
                   "takes longer than what would be measured");
  constexpr unsigned summary = FADE_MODE_SUMMARY | FADE_MODE_ACCESSES | FADE_MODE_BLOCKS;
  if ((options.modes & FADE_MODE_SUMMARY) && (options.modes & ~summary))
    return mistake("'summary' cannot be combined with counts, kernel or times");
  if (options.spaces == 0)
    options.spaces = 1u << FADE_SPACE_FLAT | 1u << FADE_SPACE_GLOBAL | 1u << FADE_SPACE_LDS;
  return options;
}

Expected<Options> Options::fromEnvironment() {
  const char *text = std::getenv("FADE_INSTRUMENT");
  return parse(text ? text : "");
}

bool Options::hasNoStream() const { return (modes & ~(FADE_MODE_COUNTS | FADE_MODE_TIMES)) == 0; }

bool Options::sums() const { return (modes & FADE_MODE_SUMMARY) != 0; }

bool Options::wantsKernel(StringRef symbol) const {
  return !kernels || kernels->isIn(symbol) || kernels->isIn(demangle(symbol.str()));
}

bool Options::wantsPlace(StringRef path, unsigned line) const {
  if (scopes.empty()) return true;
  for (const SourceScope &scope : scopes)
    if (scope.contains(path, line)) return true;
  return false;
}

} // namespace fade
