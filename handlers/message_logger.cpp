// MessageLogger: every record, for people or as JSON lines.
//
// Options: addresses=false   leaves out the lanes' addresses
#include "access_kind.h"
#include "site_place.h"
#include "text_layout.h"

#include <fade/handler.h>

#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>

namespace {

using namespace fade::handlers;

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

/// A value that the kernel's author has recorded.
std::string numberText(uint64_t bits, bool is_double) {
  if (!is_double) return std::to_string(static_cast<int64_t>(bits));
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", std::bit_cast<double>(bits));
  return text;
}

const char *nameOfEncoding(uint32_t encoding) {
  constexpr std::array names = {"uniform", "affine", "tiled", "delta32", "raw"};
  return encoding < names.size() ? names[encoding] : "unknown";
}

struct MessageLogger : fade::Handler {
  static constexpr const char *name = "MessageLogger";
  static constexpr const char *summary = "every record, one line each";
  static constexpr uint32_t needs =
      FADE_NEEDS_ACCESSES | FADE_NEEDS_BLOCKS | FADE_NEEDS_WAVES | FADE_NEEDS_ORDER;

  MessageLogger(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({"addresses"});
    with_addresses = options.flag("addresses", true);
    if (to.isCsv()) {
      fade::CsvWriter csv;
      csv.row("type", "version", "kernel", "dispatch_id", "wave", "workgroup_x", "workgroup_y",
              "workgroup_z", "file", "line", "column", "op", "space", "bytes", "mask", "lane",
              "address", "function");
      to.write(csv.take());
    }
  }

  class Shard {
  public:
    Shard(const MessageLogger &own_logger, const fade::Dispatch &dispatch)
        : logger_(own_logger), table_(*dispatch.kernel().sites()),
          kernel_(dispatch.kernel().identity()), id_(dispatch->id) {}
    void records(const fade::Batch &batch) {
      batch.forEach([&](const fade::Record &record) {
        if (logger_.sink().isJson())
          json(record, batch);
        else if (logger_.sink().isCsv())
          csv(record, batch);
        else
          text(record, batch);
        if (out_.size() > kFlushAt) flush();
      });
      flush();
    }

  private:
    static constexpr std::size_t kFlushAt = 64 << 10;

    void flush() {
      logger_.sink().write(out_);
      out_.clear();
    }
    Space spaceOfRecord(const fade::Record &record, const fade::Batch &batch) const {
      return spaceOf(table_.sites()[record.site()].space, record.base(), *batch.operator->());
    }
    static bool hasPlace(const fade::Record &record) {
      return record.isAccess() || record.isUser() || record.kind() == FADE_RECORD_BLOCK;
    }
    SitePlace placeOfRecord(const fade::Record &record) const {
      const fade_site &site = table_.sites()[record.site()];
      return record.isUser() ? placeOfUser(table_, site) : placeOf(table_, site);
    }
    static const char *nameOfSpace(Space space) {
      return space == Space::lds ? "lds" : space == Space::scratch ? "scratch" : "global";
    }
    void json(const fade::Record &record, const fade::Batch &batch);
    void jsonAccess(fade::JsonWriter &json, const fade::Record &record, const fade::Batch &batch);
    void jsonUser(fade::JsonWriter &json, const fade::Record &record) const;
    void csv(const fade::Record &record, const fade::Batch &batch);
    void text(const fade::Record &record, const fade::Batch &batch);
    static const char *typeOf(uint32_t kind);

    const MessageLogger &logger_;
    const fade::SiteTable &table_;
    const fade::KernelId &kernel_;
    const uint64_t id_;
    std::string out_;
  };

  bool with_addresses = true;
};

const char *MessageLogger::Shard::typeOf(uint32_t kind) {
  switch (kind) {
  case FADE_RECORD_WAVE_BEGIN: return "wave_begin";
  case FADE_RECORD_WAVE_END: return "wave_end";
  case FADE_RECORD_BLOCK: return "block";
  case FADE_RECORD_ACCESS:
  case FADE_RECORD_RANGE: return "access";
  case FADE_RECORD_USER: return "user";
  default: return "unknown";
  }
}

void MessageLogger::Shard::jsonAccess(fade::JsonWriter &json, const fade::Record &record,
                                      const fade::Batch &batch) {
  const fade_site &site = table_.sites()[record.site()];
  json.field("op", nameOf(kindOf(site)));
  json.field("space", nameOfSpace(spaceOfRecord(record, batch)));
  json.field("bytes", record.hasLength() ? record.length() : site.size);
  json.field("encoding", nameOfEncoding(record.encoding()));
  if (!logger_.with_addresses) return;
  json.list("lanes",
            [&] { record.forEachLane([&](uint32_t lane, uint64_t) { json.value(lane); }); });
  json.list("addresses",
            [&] { record.forEachLane([&](uint32_t, uint64_t address) { json.value(address); }); });
}

void MessageLogger::Shard::jsonUser(fade::JsonWriter &json, const fade::Record &record) const {
  const fade_site &site = table_.sites()[record.site()];
  json.field("number", site.size);
  json.list("lanes",
            [&] { record.forEachLane([&](uint32_t lane, uint64_t) { json.value(lane); }); });
  json.list("values", [&] {
    record.forEachLane([&](uint32_t, uint64_t bits) {
      if ((site.flags & FADE_SITE_IS_DOUBLE) != 0)
        json.value(std::bit_cast<double>(bits));
      else
        json.value(static_cast<int64_t>(bits));
    });
  });
}

void MessageLogger::Shard::json(const fade::Record &record, const fade::Batch &batch) {
  const uint32_t kind = record.kind();
  const auto wave = batch.wave(record.wave());
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", typeOf(kind));
    json.field("version", FADE_REPORT_VERSION);
    kernel_.writeTo(json);
    json.field("dispatch_id", id_);
    json.field("wave", record.wave());
    if (wave)
      json.list("workgroup", [&] {
        for (const uint32_t n : {wave->workgroup_x, wave->workgroup_y, wave->workgroup_z})
          json.value(n);
      });
    json.field("mask", hex(record.mask()));
    if (hasPlace(record)) {
      const SitePlace place = placeOfRecord(record);
      json.field("file", place.file);
      json.field("line", place.line);
      json.field("column", place.column);
      if (const auto code = codeOf(table_, place); !code.empty()) json.field("function", code);
    }
    if (record.isAccess())
      jsonAccess(json, record, batch);
    else if (record.isUser())
      jsonUser(json, record);
    else if (kind <= FADE_RECORD_RANGE)
      json.field("clock", record.clock());
    if (kind == FADE_RECORD_WAVE_BEGIN) json.field("hardware_id", record.waveBegin().hardware_id);
  });
  out_ += json.text();
}

void MessageLogger::Shard::csv(const fade::Record &record, const fade::Batch &batch) {
  fade::CsvWriter csv;
  const auto wave = batch.wave(record.wave()).value_or(fade_wave_begin{});
  const SitePlace place = hasPlace(record) ? placeOfRecord(record) : SitePlace{};
  const auto row = [&](const char *op, const char *space, uint64_t bytes, const std::string &lane,
                       const std::string &address) {
    csv.row(typeOf(record.kind()), FADE_REPORT_VERSION, kernel_.name, id_, record.wave(),
            wave.workgroup_x, wave.workgroup_y, wave.workgroup_z, place.file, place.line,
            place.column, op, space, bytes, hex(record.mask()), lane, address,
            codeOf(table_, place));
  };
  if (record.isUser()) {
    const bool is_double = (table_.sites()[record.site()].flags & FADE_SITE_IS_DOUBLE) != 0;
    record.forEachLane([&](uint32_t lane, uint64_t bits) {
      row("", "", 0, std::to_string(lane), numberText(bits, is_double));
    });
  } else if (!record.isAccess()) {
    row("", "", 0, "", "");
  } else {
    const fade_site &site = table_.sites()[record.site()];
    const char *space = nameOfSpace(spaceOfRecord(record, batch));
    const uint64_t bytes = record.hasLength() ? record.length() : site.size;
    record.forEachLane([&](uint32_t lane, uint64_t address) {
      row(nameOf(kindOf(site)), space, bytes, std::to_string(lane), hex(address));
    });
  }
  out_ += csv.take();
}

void MessageLogger::Shard::text(const fade::Record &record, const fade::Batch &batch) {
  const uint32_t kind = record.kind();
  out_ += "dispatch " + std::to_string(id_) + " wave " + std::to_string(record.wave());
  if (const auto wave = batch.wave(record.wave()))
    out_ += " group (" + std::to_string(wave->workgroup_x) + ", " +
            std::to_string(wave->workgroup_y) + ", " + std::to_string(wave->workgroup_z) + ")";
  out_ += " mask " + hex(record.mask());
  if (hasPlace(record)) {
    const fade_site &site = table_.sites()[record.site()];
    const SitePlace place = placeOfRecord(record);
    out_ += " ";
    if (const auto code = codeOf(table_, place); !code.empty())
      out_ += printable(code);
    else
      out_ += printable(place.file) + ":" + std::to_string(place.line) + ":" +
              std::to_string(place.column);
    if (record.isAccess()) {
      out_ += std::string(" ") + nameOf(kindOf(site)) + " " +
              std::to_string(record.hasLength() ? record.length() : site.size) + " B " +
              nameOfSpace(spaceOfRecord(record, batch));
      if (logger_.with_addresses)
        record.forEachLane([&](uint32_t, uint64_t address) { out_ += " " + hex(address); });
    } else if (record.isUser()) {
      const bool is_double = (site.flags & FADE_SITE_IS_DOUBLE) != 0;
      out_ += " user " + std::to_string(site.size) + ":";
      record.forEachLane(
          [&](uint32_t, uint64_t bits) { out_ += " " + numberText(bits, is_double); });
    }
  }
  if (!record.isAccess() && !record.isUser())
    out_ += std::string(" ") + typeOf(kind) + " clock " + std::to_string(record.clock());
  out_ += '\n';
}

} // namespace

FADE_HANDLER(MessageLogger)
