// Everything as JSON, one object per line, so that a library with thousands of kernels needs the
// memory of one. docs/formats.md describes the fields.
#include "base/json_shapes.h"
#include "codeobj/demangle.h"
#include "codeobj/module_id.h"
#include "inspect/report.h"

#include <fmt/format.h>

namespace fade::cli {
namespace {

using namespace codeobj;

constexpr int kFormatVersion = 1; // of the lines; docs/formats.md

void putTarget(JsonWriter &json, const Target &target) {
  auto feature = [](Feature f) {
    constexpr const char *kNames[] = {"unsupported", "any", "off", "on"};
    return kNames[static_cast<std::size_t>(f)];
  };
  json.object("target", [&] {
    json.field("id", target.id());
    json.field("processor", target.processor);
    json.field("generic", target.generic);
    if (target.generic) json.field("generic_version", target.generic_version);
    json.field("sramecc", feature(target.sramecc));
    json.field("xnack", feature(target.xnack));
  });
}

void putDescriptor(JsonWriter &json, const Kernel &kernel) {
  const KernelDescriptor &d = kernel.descriptor;
  json.object("descriptor", [&] {
    json.field("address", kernel.descriptor_address);
    json.field("group_segment_fixed_size", d.group_segment_fixed_size);
    json.field("private_segment_fixed_size", d.private_segment_fixed_size);
    json.field("kernarg_size", d.kernarg_size);
    json.field("entry_offset", d.entry_offset);
    json.field("rsrc1", d.rsrc1);
    json.field("rsrc2", d.rsrc2);
    json.field("rsrc3", d.rsrc3);
    json.field("properties", d.properties);
    json.field("wavefront_size", d.wavefront_size);
    json.field("vgprs", d.vgprs);
    json.field("vgpr_granule", d.vgpr_granule);
    json.field("sgprs", d.sgprs);
    json.field("sgpr_granule", d.sgpr_granule);
    json.field("accum_offset", d.accum_offset);
    json.field("shared_vgprs", d.shared_vgprs);
    json.object("user_sgprs", [&] {
      json.field("count", d.user_sgprs.count);
      json.field("private_segment_buffer", d.user_sgprs.private_segment_buffer);
      json.field("dispatch_ptr", d.user_sgprs.dispatch_ptr);
      json.field("queue_ptr", d.user_sgprs.queue_ptr);
      json.field("kernarg_segment_ptr", d.user_sgprs.kernarg_segment_ptr);
      json.field("dispatch_id", d.user_sgprs.dispatch_id);
      json.field("flat_scratch_init", d.user_sgprs.flat_scratch_init);
      json.field("private_segment_size", d.user_sgprs.private_segment_size);
      json.field("kernarg_preload_length", d.user_sgprs.kernarg_preload_length);
      json.field("kernarg_preload_offset", d.user_sgprs.kernarg_preload_offset);
    });
    json.object("system_registers", [&] {
      json.field("workgroup_id_x", d.system.workgroup_id_x);
      json.field("workgroup_id_y", d.system.workgroup_id_y);
      json.field("workgroup_id_z", d.system.workgroup_id_z);
      json.field("workgroup_info", d.system.workgroup_info);
      json.field("workitem_id", d.system.workitem_id);
      json.field("private_segment", d.system.private_segment);
    });
    json.object("float_mode", [&] {
      json.field("round_32", d.float_mode.round_32);
      json.field("round_16_64", d.float_mode.round_16_64);
      json.field("denorm_32", d.float_mode.denorm_32);
      json.field("denorm_16_64", d.float_mode.denorm_16_64);
      json.field("dx10_clamp", d.float_mode.dx10_clamp);
      json.field("ieee", d.float_mode.ieee);
      json.field("fp16_overflow", d.float_mode.fp16_overflow);
    });
    json.field("dynamic_stack", d.dynamic_stack);
    json.field("tg_split", d.tg_split);
    json.field("wgp_mode", d.wgp_mode);
    json.field("mem_ordered", d.mem_ordered);
    json.field("forward_progress", d.forward_progress);
  });
}

void putTriple(JsonWriter &json, std::string_view key,
               const std::optional<std::array<uint32_t, 3>> &triple) {
  if (!triple) return;
  putNumbers(json, key, *triple);
}

void putArgument(JsonWriter &json, const KernelArg &arg) {
  json.object([&] {
    json.field("offset", arg.offset);
    json.field("size", arg.size);
    json.field("kind", arg.kind_text);
    json.field("hidden", isHidden(arg.kind));
    putUnlessNone(json, "name", arg.name);
    putUnlessNone(json, "type", arg.type_name);
    putUnlessNone(json, "address_space", arg.address_space);
    putUnlessNone(json, "access", arg.access);
    putUnlessNone(json, "actual_access", arg.actual_access);
    putUnlessNone(json, "pointee_align", arg.pointee_align);
    putUnlessNone(json, "const", arg.is_const);
    putUnlessNone(json, "restrict", arg.is_restrict);
    putUnlessNone(json, "volatile", arg.is_volatile);
    putUnlessNone(json, "pipe", arg.is_pipe);
  });
}

void putMetadata(JsonWriter &json, const KernelMetadata &m) {
  json.object("metadata", [&] {
    putUnlessNone(json, "language", m.language);
    if (!m.language_version.empty()) putNumbers(json, "language_version", m.language_version);
    putUnlessNone(json, "kind", m.kind);
    json.field("vgpr_count", m.vgpr_count);
    json.field("agpr_count", m.agpr_count);
    json.field("sgpr_count", m.sgpr_count);
    json.field("vgpr_spill_count", m.vgpr_spill_count);
    json.field("sgpr_spill_count", m.sgpr_spill_count);
    json.field("kernarg_segment_size", m.kernarg_segment_size);
    json.field("kernarg_segment_align", m.kernarg_segment_align);
    json.field("group_segment_fixed_size", m.group_segment_fixed_size);
    json.field("private_segment_fixed_size", m.private_segment_fixed_size);
    json.field("wavefront_size", m.wavefront_size);
    json.field("max_flat_workgroup_size", m.max_flat_workgroup_size);
    putTriple(json, "reqd_workgroup_size", m.reqd_workgroup_size);
    putTriple(json, "workgroup_size_hint", m.workgroup_size_hint);
    json.field("uses_dynamic_stack", m.uses_dynamic_stack);
    json.list("arguments", [&] {
      for (const KernelArg &arg : m.args) putArgument(json, arg);
    });
    json.object("other", [&] {
      for (const auto &[key, value] : m.other) json.field(key, value);
    });
  });
}

void putOccupancy(JsonWriter &json, const Occupancy &o) {
  json.object("occupancy", [&] {
    json.field("waves_per_simd", o.waves_per_simd);
    json.field("max_waves_per_simd", o.max_waves);
    json.field("limit", to_string(o.limit));
    json.field("by_vgprs", o.by_vgprs);
    json.field("by_sgprs", o.by_sgprs);
    json.field("by_lds", o.by_lds);
    json.field("by_workgroup", o.by_workgroup);
    json.field("workgroups", o.workgroups);
    json.field("waves_per_workgroup", o.waves_per_workgroup);
  });
}

void putFrames(JsonWriter &json, std::string_view key, const std::vector<SourceFrame> &frames) {
  json.list(key, [&] {
    for (const SourceFrame &frame : frames)
      json.object([&] {
        json.field("function", frame.function);
        json.field("file", frame.file);
        json.field("line", frame.line);
        json.field("column", frame.column);
      });
  });
}

void putMix(JsonWriter &json, const InstructionMix &mix) {
  json.object("mix", [&] {
    for (std::size_t i = 0; i < kUnitCount; ++i) {
      auto unit = static_cast<Unit>(i);
      if (mix.count(unit) != 0) json.field(to_string(unit), mix.count(unit));
    }
  });
  json.field("lane_flops", mix.lane_flops);
  json.field("wave_flops", mix.wave_flops);
  json.object("lane_bytes", [&] {
    json.field("vmem_loaded", mix.vmem_loaded);
    json.field("vmem_stored", mix.vmem_stored);
    json.field("vmem_atomic", mix.vmem_atomic);
    json.field("lds_loaded", mix.lds_loaded);
    json.field("lds_stored", mix.lds_stored);
    json.field("lds_atomic", mix.lds_atomic);
  });
  json.field("scalar_loaded", mix.scalar_loaded);
}

void putInstruction(JsonWriter &json, const ObjectView &view, const Instruction &instruction,
                    const InstructionInfo &info, const report::InstructionCount *count) {
  json.object([&] {
    json.field("address", instruction.address);
    json.field("size", instruction.size);
    json.field("text", instruction.text);
    json.field("unit", to_string(info.unit));
    if (info.memory != MemoryOperation::None) {
      json.field("operation", to_string(info.memory));
      json.field("space", to_string(info.space));
      json.field("width", info.width);
      if (info.also_lds) json.field("to_lds", true);
    }
    putUnlessNone(json, "lane_flops", info.lane_flops);
    putUnlessNone(json, "wave_flops", info.wave_flops);
    if (instruction.target) json.field("target", *instruction.target);
    if (count != nullptr) {
      json.field("executions", count->executions);
      json.field("lanes", count->lanes);
      if (count->taken) json.field("taken", *count->taken);
      if (count->splits) json.field("splits", *count->splits);
    }
    if (view.source != nullptr && !view.source->empty())
      putFrames(json, "source", view.source->stack(instruction.address));
  });
}

void putCode(JsonWriter &json, const ObjectView &view, const KernelView &shown) {
  const Kernel &kernel = shown.kernel;
  json.object("code", [&] {
    json.field("address", kernel.code_address);
    json.field("size", kernel.code_size);
    if (!shown.code) {
      json.field("problem", shown.code_problem);
      return;
    }
    const KernelCode &code = *shown.code;
    json.field("disassembled_by", code.disassembled_by);
    putMix(json, code.mix);
    json.list("blocks", [&] {
      for (const BasicBlock &block : code.blocks)
        json.object([&] {
          json.list("successors", [&] {
            for (std::size_t s : block.successors) json.value(s);
          });
          json.field("leaves", block.leaves);
          putMix(json, block.mix);
          json.list("instructions", [&] {
            for (std::size_t i = block.first; i < block.first + block.count; ++i)
              putInstruction(json, view, code.instructions[i], code.info[i],
                             shown.countOf(code.instructions[i]));
          });
        });
    });
    if (view.source == nullptr) return;
    json.list("line_accesses", [&] {
      for (const auto &[place, accesses] : accessesByLine(code, *view.source))
        json.object([&] {
          json.field("file", place.first);
          json.field("line", place.second);
          json.list("accesses", [&] {
            for (const LineAccess &access : accesses)
              json.object([&] {
                json.field("address", access.address);
                json.field("operation", to_string(access.operation));
                json.field("space", to_string(access.space));
                json.field("width", access.width);
              });
          });
        });
    });
  });
}

void putSites(JsonWriter &json, const ObjectView &view, const Sites::InstrumentedKernel &kernel) {
  const SiteTable &module = *kernel.module;
  json.object("instrumentation", [&] {
    json.field("original", view.object.kernelName(kernel.original).name);
    json.field("instrumented", view.object.kernelName(kernel.instrumented).name);
    json.field("module", fmt::format("{:016x}", module.moduleId())); // of the site table
    json.field("options", module.options());
    json.list("sites", [&] {
      for (uint32_t id : kernel.sites)
        json.object([&] {
          const fade_site &site = module.sites()[id];
          json.field("id", id);
          json.field("kind", siteKindName(site.kind));
          if (site.kind != FADE_SITE_BLOCK) {
            json.field("space", siteSpaceName(site.space));
            json.field("size", site.size);
          }
          putFrames(json, "source", Sites::stack(module, id));
        });
    });
  });
}

class JsonReport final : public Report {
public:
  explicit JsonReport(std::FILE *out) : out_(out) {}

  void object(const ObjectView &view) override {
    module_ = moduleIdOf(view.found.blob.bytes()); // its kernels follow
    json_.object([&] {
      putHead(json_, "code_object", kFormatVersion);
      putPlace(view);
      json_.field("compressed", view.found.compressed);
      json_.field("size", view.found.blob.bytes().size());
      json_.field("code_object_version", view.object.version());
      putTarget(json_, view.object.target());
      json_.field("kernel_count", view.object.kernelCount());
      json_.list("printf_formats", [&] {
        for (const std::string &format : view.object.printfFormats()) json_.value(format);
      });
    });
    flush();
  }

  void kernel(const ObjectView &view, const KernelView &shown) override {
    const Kernel &kernel = shown.kernel;
    json_.object([&] {
      putHead(json_, "kernel", kFormatVersion);
      putPlace(view);
      json_.field("name", kernel.name);
      json_.field("demangled", demangle(kernel.name));
      json_.field("symbol", kernel.symbol);
      putDescriptor(json_, kernel);
      if (kernel.has_metadata) putMetadata(json_, kernel.metadata);
      if (shown.layout)
        json_.object("kernargs", [&] {
          json_.field("size", shown.layout->size);
          json_.field("alignment", shown.layout->alignment);
          json_.field("explicit_end", shown.layout->explicit_end);
          json_.field("control_offset", shown.layout->control_offset);
        });
      if (shown.occupancy) putOccupancy(json_, *shown.occupancy);
      if (shown.instrumented != nullptr) putSites(json_, view, *shown.instrumented);
      putCode(json_, view, shown);
    });
    flush();
  }

  void error(const Error &error) override {
    json_.object([&] {
      putHead(json_, "error", kFormatVersion);
      json_.field("file", error.file);
      json_.field("section", error.section);
      json_.field("offset", error.offset);
      json_.field("what", error.what);
    });
    flush();
  }

private:
  void putPlace(const ObjectView &view) {
    json_.field("file", view.found.file);
    json_.field("bundle_entry", view.found.bundle_entry);
    json_.field("offset", view.found.offset);
    json_.field("module", module_);
  }
  void flush() {
    std::string text = json_.take();
    std::fwrite(text.data(), 1, text.size(), out_);
  }

  std::FILE *out_;
  JsonWriter json_;
  std::string module_;
};

} // namespace

std::unique_ptr<Report> makeJsonReport(std::FILE *out) { return std::make_unique<JsonReport>(out); }

} // namespace fade::cli
