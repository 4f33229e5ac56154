// Prints the site tables in a file that holds a .fade.sites section: dump-sites FILE
#include <fade/site_table.h>

#include <cstdio>
#include <fstream>
#include <iterator>

namespace {

const char *kindName(uint32_t kind) {
  switch (kind) {
  case FADE_SITE_BLOCK: return "block";
  case FADE_SITE_LOAD: return "load";
  case FADE_SITE_STORE: return "store";
  case FADE_SITE_ATOMIC: return "atomic";
  case FADE_SITE_COPY_READ: return "copy-read";
  case FADE_SITE_COPY_WRITE: return "copy-write";
  case FADE_SITE_FILL: return "fill";
  default: return "?";
  }
}

const char *spaceName(uint32_t space) {
  switch (space) {
  case FADE_SPACE_FLAT: return "flat";
  case FADE_SPACE_GLOBAL: return "global";
  case FADE_SPACE_LDS: return "lds";
  case FADE_SPACE_CONSTANT: return "constant";
  default: return "-";
  }
}

std::string flagNames(uint32_t flags) {
  std::string out;
  const std::pair<uint32_t, const char *> names[] = {{FADE_SITE_READS, "reads"},
                                                     {FADE_SITE_WRITES, "writes"},
                                                     {FADE_SITE_IS_VOLATILE, "volatile"},
                                                     {FADE_SITE_IS_ATOMIC, "atomic"},
                                                     {FADE_SITE_IS_BUFFER, "buffer"},
                                                     {FADE_SITE_HAS_LENGTH, "length"},
                                                     {FADE_SITE_IS_PREDICATED, "predicated"},
                                                     {FADE_SITE_IS_GONE, "gone"},
                                                     {FADE_SITE_IS_SCALAR, "scalar"},
                                                     {FADE_SITE_IS_COMBINED, "combined"},
                                                     {FADE_SITE_IS_LOOP, "loop"},
                                                     {FADE_SITE_MISSING, "missing"}};
  for (const auto &[bit, name] : names)
    if (flags & bit) out += out.empty() ? name : std::string(",") + name;
  if (FADE_SITE_PIECE(flags) != 0) out += ",by " + std::to_string(FADE_SITE_PIECE(flags));
  return out.empty() ? "-" : out;
}

std::string index(uint32_t i) { return i == FADE_NO_INDEX ? "-" : std::to_string(i); }

void print(const fade::SiteTable &t) {
  auto text = [&](uint32_t s) { return std::string(t.string(s)); };
  std::printf("table source=%s target=%s modes=%u options=%s\n", std::string(t.source()).c_str(),
              std::string(t.target()).c_str(), t.modes(), std::string(t.options()).c_str());
  for (std::size_t i = 0; i < t.kernels().size(); ++i) {
    const auto &k = t.kernels()[i];
    std::printf("kernel %zu %s twin=%s at %s:%u modes=%u flags=%u", i, text(k.name).c_str(),
                text(k.clone).c_str(), text(k.file).c_str(), k.line, k.modes, k.flags & 255);
    if (FADE_KERNEL_FIRST_COUNTER(k.flags) != 0)
      std::printf(" counters=s%u to s%u", FADE_KERNEL_FIRST_COUNTER(k.flags),
                  FADE_KERNEL_END_OF_COUNTERS(k.flags) - 1);
    std::puts("");
  }
  for (std::size_t i = 0; i < t.sites().size(); ++i) {
    const auto &s = t.sites()[i];
    std::printf("site %zu %s %s %u %s at %s:%u:%u in %s kernel=%s block=%s", i, kindName(s.kind),
                spaceName(s.space), s.size, flagNames(s.flags).c_str(), text(s.file).c_str(),
                s.line, s.column, text(s.function).c_str(), index(s.kernel).c_str(),
                index(s.block).c_str());
    if (s.kind == FADE_SITE_BLOCK && s.counter != 0) std::printf(" counter=%u", s.counter - 1);
    if (s.kind != FADE_SITE_BLOCK && s.done_by != 0) std::printf(" done by %u", s.done_by - 1);
    for (uint32_t f = s.inlined_at; f != FADE_NO_INDEX; f = t.frames()[f].parent)
      std::printf(" < %s:%u:%u in %s", text(t.frames()[f].file).c_str(), t.frames()[f].line,
                  t.frames()[f].column, text(t.frames()[f].function).c_str());
    if (s.line_count) {
      std::printf(" lines");
      for (const auto &l : t.lines(s)) std::printf(" %s:%u", text(l.file).c_str(), l.line);
    }
    std::printf("\n");
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: dump-sites FILE\n"), 2;
  std::ifstream in(argv[1], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  std::string error;
  const auto tables = fade::parseSiteTables(std::as_bytes(std::span(bytes)), error);
  for (const auto &table : tables) print(table);
  if (!error.empty()) return std::fprintf(stderr, "dump-sites: %s\n", error.c_str()), 1;
  return 0;
}
