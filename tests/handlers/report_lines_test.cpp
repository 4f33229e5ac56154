// The form of reports: every line of every handler is what docs/formats/report.md says, whatever
// names the kernel and its files have.
#include "extent.h"
#include "handler_host.h"
#include "report_schema.h"

#include "base/settings.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

namespace fade::testing {
namespace {

using nlohmann::json;

// Names that break careless writers: quotes, control characters, commas, Unicode, bytes that are no
// UTF-8 (a lone continuation, a cut sequence, an overlong one, a surrogate, beyond Unicode).
const std::vector<std::string> kNames = {
    "plain(int)",
    "k<char, '\"'>(float const*, int)",
    "back\\slash, comma; \"quoted\"",
    "line\nbreak\r\ttab\x01\x1f\x7f",
    "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
    "bad \x80 \xc3 \xc0\xaf \xed\xa0\x80 \xf5\x80\x80\x80 end\xe2\x82",
    "",
    std::string(5000, 'x') + "(int)",
};

/// A dispatch with all kinds of records, in files with the same odd name.
void feed(HandlerHost &host, const std::string &name) {
  SiteTableBuilder table;
  const auto site = [&](uint32_t kind, uint32_t space, uint32_t size) {
    SiteTableBuilder::Site made;
    made.kind = kind;
    made.space = space;
    made.size = size;
    made.file = name + ".hip";
    made.line = 7;
    if (kind == FADE_SITE_BLOCK) made.lines = {7, 8};
    return table.add(made);
  };
  const auto load = site(FADE_SITE_LOAD, FADE_SPACE_GLOBAL, 4);
  const auto atomic = site(FADE_SITE_ATOMIC, FADE_SPACE_GLOBAL, 4);
  const auto lds = site(FADE_SITE_STORE, FADE_SPACE_LDS, 8);
  const auto block = site(FADE_SITE_BLOCK, FADE_SPACE_NONE, 0);
  const auto fill = site(FADE_SITE_FILL, FADE_SPACE_GLOBAL, 0);
  const auto user = site(FADE_SITE_USER, FADE_SPACE_NONE, 7);
  Stream stream;
  stream.wave(3);
  stream.block(block, ~uint64_t{0}, 100);
  stream.affine(load, 0x10000, 128);
  stream.affine(load, 0x7fff'ffff'0000, -4, 0x0f0f);
  stream.affine(atomic, 0x20000, 0);
  stream.affine(lds, 0, 256);
  std::vector<uint64_t> addresses(64, 0x30000);
  stream.access(fill, 5, addresses, 9000);
  stream.user(user, 0xff, addresses);
  stream.block(block, 0xff, 150);
  stream.waveEnd(200);
  auto allocations = std::make_shared<Allocations>();
  allocations->list.push_back({0x10000, 0x3000, 1, 1, 0, 0});
  allocations->list.push_back({0x20000, 0x1000, 2, 0, FADE_ALLOCATION_ON_HOST, 0});
  const auto plain = site(FADE_SITE_INSTRUCTION, FADE_SPACE_NONE, 0);
  const auto taken = site(FADE_SITE_TAKEN, FADE_SPACE_NONE, 0);
  const auto split = site(FADE_SITE_SPLIT, FADE_SPACE_NONE, 0);
  table.instruction({0x1000, 0, load, FADE_NO_INDEX, FADE_NO_INDEX, 0, FADE_UNIT_VMEM, 0, 0, 0},
                    "global_load_dword v0, v[0:1], off");
  table.instruction({0x1008, 0, plain, taken, split, 2, FADE_UNIT_VALU, FADE_TYPE_F32, 0, 0},
                    name + " v0");
  std::vector<fade_counter> counters(split + 1);
  counters[load] = {3, 3 * 63};
  counters[plain] = {3, 100};
  counters[taken] = counters[split] = {1, 0};
  host.dispatch(name, table.build("k"), stream, counters, allocations);
}

std::string reportOf(const std::vector<HandlerChoice> &handlers, Format format,
                     const std::vector<std::string> &names) {
  HostOptions options;
  options.format = format;
  HandlerHost host(handlers, options);
  EXPECT_EQ(host.complaints(), std::vector<std::string>{});
  for (const std::string &name : names) feed(host, name);
  return host.finish();
}

std::set<std::string> typesIn(const std::string &report) {
  std::set<std::string> types;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    const json object = json::parse(line, nullptr, false);
    EXPECT_EQ(object.is_object() ? schemaFault(object) : "it is no JSON object", "") << line;
    if (object.is_object()) types.insert(object.value("type", ""));
  }
  return types;
}

/// What each analyzer writes of feed(), besides the lines of every run.
const std::map<std::string_view, std::set<std::string>> kTypes = {
    {"AccessPatterns", {"pattern"}},
    {"BlockCounts", {"blocks", "block_times"}},
    {"BlockFlow", {"flow"}},
    {"CacheModel", {"cache"}},
    {"Heatmap", {"heatmap", "heatmap_total"}},
    {"Hotspots", {"hotspots"}},
    {"MemoryAnalysis", {"memory", "memory_total"}},
    {"MessageLogger", {"access", "block", "user", "wave_begin", "wave_end"}},
    {"Placement", {"placement"}},
    {"UserRecords", {"table", "user_records"}},
};

std::string textOf(const char *file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(ReportLines, EveryAnalyzerIsBuiltKnownTestedAndDescribed) {
  std::istringstream built(FADE_HANDLERS_BUILT);
  const std::set<std::string> libraries{std::istream_iterator<std::string>(built), {}};
  std::set<std::string> known;
  for (const std::string_view name : handlerNames()) known.emplace(name);
  EXPECT_EQ(libraries, known) << "handlers/CMakeLists.txt, kHandlers in host_rt/base/settings.cpp";
  const std::string formats = textOf(FADE_FORMATS_DOC), reading = textOf(FADE_READING_DOC);
  for (const std::string &name : known) {
    EXPECT_TRUE(kTypes.contains(name)) << "kTypes lacks " << name;
    EXPECT_NE(formats.find("| " + name + " |"), formats.npos) << FADE_FORMATS_DOC << ": " << name;
    EXPECT_NE(reading.find(name), reading.npos) << FADE_READING_DOC << ": " << name;
  }
}

TEST(ReportLines, EveryLineOfEveryAnalyzerFitsTheSchema) {
  for (const auto &[name, of_analyzer] : kTypes) {
    std::set<std::string> types = {"dispatch", "summary"};
    types.insert(of_analyzer.begin(), of_analyzer.end());
    const std::string options = name == "Heatmap" ? "steps=16" : "";
    EXPECT_EQ(typesIn(reportOf({{std::string(name), options}}, Format::json, kNames)), types)
        << name;
  }
}

TEST(Hotspots, WavesOfKernelsThatBeginBehindTheCodeForOldFirmwareAreCounted) {
  // Where the GPU has put arguments into registers, kernels begin 256 bytes later.
  SiteTableBuilder table;
  const SiteTableBuilder::Site counted{FADE_SITE_INSTRUCTION, FADE_SPACE_NONE, 0};
  for (int i = 0; i < 3; ++i) table.add(counted);
  const auto instruction = [&](uint64_t at, uint32_t site, const char *text) {
    table.instruction(
        {at, 0, site, FADE_NO_INDEX, FADE_NO_INDEX, 0, FADE_UNIT_SALU, FADE_TYPE_NONE, 0, 0}, text);
  };
  instruction(0x1000, 0, "s_load_dwordx2 s[8:9], s[4:5], 0x0");
  instruction(0x1100, 1, "s_add_u32 s0, s8, s9");
  instruction(0x1104, 2, "s_sub_u32 s0, s0, 1"); // of a loop
  Stream stream;
  stream.wave();
  stream.waveEnd(5);
  HostOptions options;
  options.format = Format::json;
  HandlerHost host({{"Hotspots", ""}}, options);
  host.dispatch("k", table.build("k"), stream, {{0, 0}, {7, 7 * 63}, {70, 70 * 63}}, {});
  const auto objects = objectsOf(host.finish(), "hotspots");
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0]["waves"], 7u);
}

TEST(ReportLines, NamesInUtf8SurviveJsonUnchanged) {
  const std::string report = reportOf({{"MemoryAnalysis", ""}}, Format::json, kNames);
  std::set<std::string> kernels;
  for (const json &memory : objectsOf(report, "memory")) kernels.insert(memory["kernel"]);
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (i != 5) EXPECT_TRUE(kernels.contains(kNames[i])) << kNames[i];
  EXPECT_EQ(kernels.size(), kNames.size());
}

TEST(ReportLines, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  const std::string report = reportOf({{"MemoryAnalysis", ""}}, Format::json, {kNames[5]});
  const auto objects = objectsOf(report, "memory");
  ASSERT_EQ(objects.size(), 1u);
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(objects[0]["kernel"], "bad " + r + " " + r + " " + r + r + " " + r + r + r + " " + r +
                                      r + r + r + " end" + r + r);
}

TEST(ReportLines, EveryTypeAndFieldOfTheSchemaIsDocumented) {
  const std::string doc = textOf(FADE_FORMATS_DOC);
  const auto isDocumented = [&](std::string name) {
    if (name.ends_with('?')) name.pop_back();
    EXPECT_NE(doc.find('`' + name + '`'), std::string::npos) << name;
  };
  const std::function<void(const json &)> visit = [&](const json &schema) {
    if (schema.is_array()) visit(schema[0]);
    if (!schema.is_object()) return;
    for (const auto &[name, kind] : schema.items()) {
      isDocumented(name);
      visit(kind);
    }
  };
  visit(reportSchema());
}

/// Fields of the rows of a CSV text (RFC 4180).
std::vector<std::vector<std::string>> rowsOf(const std::string &text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"')
        row.back() += text[++i];
      else if (c == '"')
        quoted = false;
      else
        row.back() += c;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      row.emplace_back();
    } else if (c == '\n') {
      rows.push_back(std::exchange(row, std::vector<std::string>(1)));
    } else {
      row.back() += c;
    }
  }
  EXPECT_FALSE(quoted);
  return rows;
}

TEST(ReportLines, EveryCsvRowHasTheFieldsOfItsHeader) {
  for (const std::string_view handler : handlerNames()) {
    const auto rows = rowsOf(reportOf({{std::string(handler), ""}}, Format::csv, kNames));
    std::map<std::size_t, std::vector<std::string>> headers; // by number of fields
    std::set<std::string> kernels;
    for (const auto &row : rows) {
      ASSERT_GT(row.size(), 1u);
      if (row[0] == "type") {
        headers[row.size()] = row;
        continue;
      }
      ASSERT_TRUE(headers.contains(row.size())) << handler << ": " << row[0];
      EXPECT_EQ(row[1], "1");
      if (headers[row.size()][2] == "kernel") kernels.insert(row[2]);
    }
    for (const std::string &name : kNames) EXPECT_TRUE(kernels.contains(name)) << name;
  }
}

TEST(ReportLines, TextFitsHundredColumnsAndHasNoControlCharacters) {
  for (const std::string_view handler : handlerNames()) {
    // As wide as lists of addresses, or a table of values.
    const bool is_wide = handler == "MessageLogger" || handler == "UserRecords";
    const std::string report = reportOf({{std::string(handler), ""}}, Format::text, kNames);
    std::istringstream lines(report);
    bool is_summary = false;
    for (std::string line; std::getline(lines, line);) {
      is_summary |= line.starts_with("  count ");
      if (is_summary) break; // not the handler's
      EXPECT_TRUE(is_wide || line.size() <= 100) << handler << ": " << line;
      for (const char c : line)
        EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f) << handler << ": " << line;
    }
  }
}

TEST(ReportLines, LargeNumbersFitHundredColumns) {
  SiteTableBuilder table;
  SiteTableBuilder::Site load;
  load.file = "/a/folder/a_file_with_quite_a_long_name_of_its_own.hip";
  load.line = 12345;
  load.column = 123;
  const auto at = table.add(load);
  SiteTableBuilder::Site lds = load;
  lds.space = FADE_SPACE_LDS;
  const auto in_lds = table.add(lds);
  SiteTableBuilder::Site block = load;
  block.kind = FADE_SITE_BLOCK;
  block.lines = {12340, 12345, 12346, 12350, 12360};
  const auto in_block = table.add(block);
  Stream stream;
  stream.wave();
  for (int i = 0; i < 20000; ++i) {
    stream.affine(at, 0x10000, 4096);
    stream.affine(in_lds, 0, 256);
    stream.block(in_block, 1, 1'000'000'000 * static_cast<uint64_t>(i));
  }
  for (const char *handler : {"Heatmap", "MemoryAnalysis", "BlockCounts"}) {
    HostOptions options;
    options.format = Format::text;
    HandlerHost host({{handler, ""}}, options);
    for (int i = 0; i < extent::steps(12, 3); ++i)
      host.dispatch("k(int)", table.build("k"), stream, {{0, 0}, {0, 0}, {0, 0}});
    std::istringstream lines(host.finish());
    for (std::string line; std::getline(lines, line) && !line.starts_with("  count ");)
      EXPECT_LE(line.size(), 100u) << line;
  }
}

} // namespace
} // namespace fade::testing
