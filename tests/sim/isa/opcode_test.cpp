// What the tables say about instructions, against what their names say.
#include "isa/arch.h"
#include "isa/opcode.h"
#include "semantics/opcodes.h"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <string_view>

using namespace fade::sim;

namespace {

template <class F> void for_all(F &&f) {
  size_t count = 0;
  for (auto family : opcode_families())
    for (const Opcode &o : family) {
      SCOPED_TRACE(o.name);
      f(o, std::string_view(o.name));
      count++;
    }
  EXPECT_GT(count, 1000u);
}

bool contains(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

} // namespace

TEST(Opcodes, BranchesSayWhereTheyLead) {
  for_all([](const Opcode &o, std::string_view name) {
    Flow expected = Flow::next;
    if (name == "s_branch") expected = Flow::branch;
    if (name.starts_with("s_cbranch")) expected = Flow::conditional;
    if (name.starts_with("s_call")) expected = Flow::call;
    if (name.starts_with("s_setpc")) expected = Flow::indirect;
    if (name.starts_with("s_swappc")) expected = Flow::indirect_call;
    if (name.starts_with("s_endpgm")) expected = Flow::end;
    EXPECT_EQ(o.flow, expected);
    EXPECT_EQ(o.flow != Flow::next, o.cls == ExecClass::branch);
  });
}

// s_waitcnt*, and gfx12's s_wait_loadcnt and its like.
bool is_wait(std::string_view name) {
  return name.starts_with("s_wait") && name != "s_wait_idle" && name != "s_wait_event";
}

TEST(Opcodes, OnlyBarriersAndWaitsWait) {
  for_all([](const Opcode &o, std::string_view name) {
    EXPECT_EQ(o.has(Effect::barrier), name == "s_barrier" || name.starts_with("s_barrier_signal"));
    EXPECT_EQ(o.has(Effect::wait), is_wait(name));
  });
}

TEST(Opcodes, WhatObserversAreToldOfCachesAndCountersIsKnown) {
  for_all([](const Opcode &o, std::string_view name) {
    const bool invalidates = contains(name, "inv") && name != "s_icache_inv";
    EXPECT_EQ(o.has(Effect::invalidates), invalidates);
    EXPECT_EQ(o.has(Effect::writes_back),
              contains(name, "_wb") && (!invalidates || name == "global_wbinv"));
    EXPECT_EQ(o.waits != Waits::nothing, is_wait(name) && name != "s_waitcnt_depctr");
  });
}

TEST(Opcodes, WhatChangesExecSaysSo) {
  for_all([](const Opcode &o, std::string_view name) {
    EXPECT_EQ(o.has(Effect::writes_exec),
              name.starts_with("v_cmpx") || contains(name, "saveexec") || contains(name, "wrexec"));
  });
}

TEST(Opcodes, WhatChangesTheModeSaysSo) {
  for_all([](const Opcode &o, std::string_view name) {
    EXPECT_EQ(o.has(Effect::writes_mode), name.starts_with("s_set_gpr_idx") ||
                                              name.starts_with("s_setreg") ||
                                              name == "s_round_mode" || name == "s_denorm_mode");
  });
}

TEST(Opcodes, WhatIsHeardOutsideSaysSo) {
  const std::set<std::string_view> heard = {"s_sleep",     "s_trap",        "s_sendmsg",
                                            "s_sethalt",   "s_sendmsghalt", "s_wakeup",
                                            "s_sleep_var", "s_barrier_wait"};
  for_all([&](const Opcode &o, std::string_view name) {
    EXPECT_EQ(o.has(Effect::outside), heard.contains(name) || name.starts_with("ds_gws"));
  });
}

TEST(Opcodes, UseOfLdsIsKnown) {
  for_all([](const Opcode &o, std::string_view name) {
    LdsUse expected = o.cls == ExecClass::lds ? LdsUse::writes : LdsUse::none;
    if (name.starts_with("ds_read") || name == "buffer_store_lds_dword") expected = LdsUse::reads;
    if (contains(name, "_load_lds_")) expected = LdsUse::writes;
    for (const char *none : {"ds_nop", "ds_permute", "ds_bpermute", "ds_swizzle", "ds_gws"})
      if (name.starts_with(none)) expected = LdsUse::none;
    EXPECT_EQ(o.lds_use, expected);
  });
}

TEST(Opcodes, OperandsThatTheEncodingDoesNotSayAreKnown) {
  for_all([](const Opcode &o, std::string_view name) {
    Form expected = Form::usual;
    if (contains(name, "fmamk") || contains(name, "madmk")) expected = Form::literal_in_middle;
    if (contains(name, "fmaak") || contains(name, "madak")) expected = Form::literal_at_end;
    if (name.starts_with("s_cmpk_") && name.ends_with("_u32")) expected = Form::unsigned_immediate;
    if (name == "v_readlane_b32" || name == "v_readfirstlane_b32" || name.starts_with("v_s_"))
      expected = Form::scalar_result;
    if (name.starts_with("ds_") && (contains(name, "2_b") || contains(name, "2st64_")))
      expected = Form::two_addresses;
    if (name.starts_with("ds_wrxchg2")) expected = Form::two_addresses;
    if (name.starts_with("v_accvgpr_read")) expected = Form::accumulator_read;
    if (name.starts_with("v_accvgpr_write")) expected = Form::accumulator_write;
    if (name.starts_with("v_accvgpr_mov")) expected = Form::accumulator_move;
    if (name.starts_with("v_mfma")) expected = Form::matrix;
    if (name.starts_with("v_smfmac")) expected = Form::sparse_matrix;
    EXPECT_EQ(o.form, expected);
  });
}

TEST(Opcodes, OtherSpellingsAreTheSameInstruction) {
  EXPECT_EQ(opcodes().find("s_and_not1_b32"), opcodes().find("s_andn2_b32"));
  EXPECT_EQ(opcodes().find("v_add_f32_e64_dpp"), opcodes().find("v_add_f32"));
  EXPECT_EQ(opcodes().find("v_no_such_f32"), nullptr);
}
