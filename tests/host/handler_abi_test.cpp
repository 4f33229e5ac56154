// The ABI of handlers against its first version: structs may only have grown.
#include "fade/handler_abi.h"
#include "stream/handler_set.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

namespace first {
#include "../e2e/handlers/handler_abi_1.h"
}

namespace fade {
namespace {

#define SAME_PLACE(type, member)                                                                   \
  static_assert(offsetof(type, member) == offsetof(first::type, member) &&                         \
                sizeof(type::member) == sizeof(first::type::member))
SAME_PLACE(fade_kernel, size);
SAME_PLACE(fade_kernel, sites_file);
SAME_PLACE(fade_dispatch, kernel);
SAME_PLACE(fade_dispatch, workgroup);
SAME_PLACE(fade_dispatch, allocation_count);
SAME_PLACE(fade_dispatch, counter_count);
SAME_PLACE(fade_batch, dispatch);
SAME_PLACE(fade_batch, find_wave);
SAME_PLACE(fade_host, context);
SAME_PLACE(fade_host, warn);
SAME_PLACE(fade_handler_api, needs);
SAME_PLACE(fade_handler_api, create);
SAME_PLACE(fade_handler_api, records);
SAME_PLACE(fade_handler_api, destroy);
static_assert(sizeof(fade_allocation) == sizeof(first::fade_allocation)); // they are in arrays

/// A handler as it was built with the first headers. What lies behind it is not its own.
struct OldHandler {
  first::fade_handler_api api{};
  std::byte behind[64];

  OldHandler() {
    std::memset(behind, 0x5a, sizeof behind);
    api.size = sizeof api;
    api.abi = FADE_HANDLER_ABI;
    api.message_version = FADE_MESSAGE_VERSION;
    api.name = "Old";
    api.create = [](const first::fade_host *, const char *, char *, fade_u64) -> void * {
      return nullptr;
    };
    api.shard = [](void *, const first::fade_dispatch *) -> void * { return nullptr; };
    api.records = [](void *, const first::fade_batch *) {};
    api.dispatch_end = [](void *, const first::fade_dispatch *, void *const *, fade_u32) {};
    api.shard_free = api.report = api.destroy = [](void *) {};
  }
  const fade_handler_api &asToday() const {
    return reinterpret_cast<const fade_handler_api &>(api);
  }
};

TEST(HandlerAbi, AnInterfaceOfTheFirstSizeIsGoodHoweverLargeItIsToday) {
  const OldHandler old;
  EXPECT_EQ(apiFault(&old.asToday()), "");
  OldHandler shorter;
  shorter.api.size -= 8;
  EXPECT_NE(apiFault(&shorter.asToday()), "");
}

TEST(HandlerAbi, WhatAnOldHandlerDoesNotHaveIsNull) {
  struct Grown : first::fade_handler_api {
    void (*later)(void *);
  };
  const OldHandler old;
  const Grown known = knownPartOf(reinterpret_cast<const Grown &>(old.api));
  EXPECT_EQ(std::memcmp(&known, &old.api, sizeof old.api), 0);
  EXPECT_EQ(known.later, nullptr);
}

} // namespace
} // namespace fade
