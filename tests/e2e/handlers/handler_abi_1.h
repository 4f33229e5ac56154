/* handler_abi.h as it was when FADE_HANDLER_ABI became 1, without its comments: what a handler of
 * that time was built with. Not to be changed; tests hold today's header against it. */
#ifndef FADE_HANDLER_ABI_1_H
#define FADE_HANDLER_ABI_1_H

#include "fade/message.h"

typedef struct fade_allocation {
  fade_u64 address;
  fade_u64 size;
  fade_u32 number;
  fade_u32 agent;
  fade_u32 flags;
  fade_u32 reserved;
} fade_allocation;

typedef struct fade_kernel {
  fade_u32 size;
  fade_u32 id;
  const char *name;
  const char *symbol;
  const char *target;
  const void *sites;
  fade_u64 sites_size;
  const char *sites_file;
} fade_kernel;

typedef struct fade_dispatch {
  fade_u32 size;
  fade_u32 flags;
  const fade_kernel *kernel;
  const char *variant;
  fade_u64 id;
  fade_u64 queue;
  fade_u32 agent;
  fade_u32 group_segment;
  fade_u32 grid[3];
  fade_u32 workgroup[3];
  const fade_allocation *allocations;
  fade_u64 allocation_count;
  fade_u64 start_ns;
  fade_u64 end_ns;
  fade_u64 records;
  fade_u64 bytes;
  fade_u64 dropped;
  const fade_counter *counters;
  fade_u64 counter_count;
} fade_dispatch;

typedef struct fade_batch {
  fade_u32 size;
  fade_u32 shared_base;
  fade_u32 private_base;
  fade_u32 wave_size;
  const fade_dispatch *dispatch;
  const void *bytes;
  fade_u64 byte_count;
  fade_u64 record_count;
  fade_u64 position;
  const void *waves;
  int (*find_wave)(const void *waves, fade_u32 wave, fade_wave_begin *out);
} fade_batch;

typedef struct fade_host {
  fade_u32 size;
  fade_u32 format;
  void *context;
  void (*write)(void *context, const char *text, fade_u64 size);
  int (*write_file)(void *context, const char *path, const char *data, fade_u64 size);
  void (*warn)(void *context, const char *text);
} fade_host;

typedef struct fade_handler_api {
  fade_u32 size;
  fade_u32 abi;
  fade_u32 message_version;
  fade_u32 needs;
  const char *name;
  const char *summary;
  void *(*create)(const fade_host *host, const char *options, char *error, fade_u64 error_size);
  void *(*shard)(void *handler, const fade_dispatch *dispatch);
  void (*records)(void *shard, const fade_batch *batch);
  void (*dispatch_end)(void *handler, const fade_dispatch *dispatch, void *const *shards,
                       fade_u32 shard_count);
  void (*shard_free)(void *shard);
  void (*report)(void *handler);
  void (*destroy)(void *handler);
} fade_handler_api;

#endif
