/* The interface between FADE and a handler: what an analyzer's shared library exports and receives.
 * Plain C, so that compilers need to agree on structs only. C++ handlers use handler.h, which
 * implements all of this.
 *
 * A handler is a shared library that exports one function:
 *
 *     const fade_handler_api *fade_handler(void);
 *
 *
 * LIFE OF A HANDLER
 *
 *   create                                       once, with the options given to it
 *     |
 *     |    shard --> records, records, ...       for each dispatch, on worker threads: a worker
 *     |    shard --> records, ...                that gets a part of the stream has its own shard
 *     |       \         |
 *     |      dispatch_end --> shard_free         once the dispatch has ended and all is read
 *     |
 *   report                                       once, at the end
 *   destroy
 *
 * fadeprobe tries `create` before it starts the application, in a separate process that makes no
 * other call; output through fade_host is discarded there.
 *
 * What may run at the same time: `shard` and `records` of different shards, on any number of
 * threads, also while dispatch_end runs for another dispatch. Never at the same time: two calls
 * with the same shard; two calls of dispatch_end or report of the same handler. So a shard needs no
 * lock, dispatch_end may fold shards into the handler without one, and `shard` may only read from
 * the handler what does not change after create.
 *
 * A handler works in the same way with a GPU, the software GPU, and a recording.
 *
 *
 * VERSIONS
 *
 * FADE_HANDLER_ABI changes when something here changes its meaning; a handler of another ABI, or of
 * another FADE_MESSAGE_VERSION, is refused. Structs only grow at the end, and each begins with its
 * size: a field is there if it lies within the size. That holds in both directions: a handler may
 * be older or newer than the FADE that loads it. Functions that are added
 * to fade_handler_api later are optional. */
#ifndef FADE_HANDLER_ABI_H
#define FADE_HANDLER_ABI_H

#include "message.h"

#define FADE_HANDLER_ABI 1u
#define FADE_HANDLER_ENTRY "fade_handler"

/* The field `version` of everything reported as JSON or CSV. */
#define FADE_REPORT_VERSION 1u

/* What a handler needs: fade_handler_api.needs */
#define FADE_NEEDS_ACCESSES 1u     /* ACCESS and RANGE records */
#define FADE_NEEDS_BLOCKS 2u       /* BLOCK records */
#define FADE_NEEDS_TIMES 4u        /* dispatch_end for dispatches without records, too */
#define FADE_NEEDS_WAVES 8u        /* fade_batch.find_wave */
#define FADE_NEEDS_COUNTS 16u      /* block counts: fade_dispatch.counters */
#define FADE_NEEDS_ALLOCATIONS 32u /* fade_dispatch.allocations */
#define FADE_NEEDS_ORDER 64u       /* the stream of a dispatch in order, hence in one shard */
/* Counts of instructions: fade_dispatch.counters, by SiteTable's instructions. Only the software
 * GPU has them; kernels then run as they are, not their twins. */
#define FADE_NEEDS_INSTRUCTIONS 128u

/* What a handler accepts instead of ACCESS records: fade_handler_api.takes. A kernel compiled for
 * it adds its accesses up only if all handlers of a run accept sums; otherwise, and for handlers
 * without this field, it writes records. */
#define FADE_TAKES_SUMMARIES 1u /* SUMMARY and WAVES records; see message.h */
/* The same, if all executions of each summary are in one page of 1 << FADE_TAKES_PAGE_SHIFT bytes
 * (6 to 31) that is not shared by several allocations, or all at the same address. */
#define FADE_TAKES_SUMMARIES_BY_PAGE 2u
#define FADE_TAKES_PAGES(shift) (FADE_TAKES_SUMMARIES_BY_PAGE | (shift) << 8)
/* With FADE_TAKES_SUMMARIES: also SUMS records, of executions whose addresses nobody keeps. */
#define FADE_TAKES_SUMS 4u
#define FADE_TAKES_PAGE_SHIFT(takes) ((takes) >> 8 & 0xff)

/* How results are wanted: fade_host.format */
#define FADE_FORMAT_TEXT 0u
#define FADE_FORMAT_JSON 1u
#define FADE_FORMAT_CSV 2u

/* fade_host.flags */
#define FADE_HOST_COLOR 1u /* the report goes to a terminal that shows colors */
/* All kernels of a module share the memory of fade_kernel.sites, which no other module uses while
 * there are dispatches: a table needs to be read once per module. */
#define FADE_HOST_SHARES_SITES 2u

/* fade_allocation.flags */
#define FADE_ALLOCATION_ON_HOST 1u

/* Memory of the application that the GPU can reach: what it has allocated, and the variables of its
 * code that have a symbol (__device__, __constant__). */
typedef struct fade_allocation {
  fade_u64 address;
  fade_u64 size;
  fade_u32 number; /* counts from 1, in the order of the application's requests */
  fade_u32 agent;  /* of the GPU or CPU it belongs to, as in fade_dispatch */
  fade_u32 flags;
  fade_u32 name; /* of a variable: offset in fade_dispatch.allocation_names; else 0 */
} fade_allocation;

/* fade_argument.flags */
#define FADE_ARGUMENT_POINTER 1u /* to global memory */
#define FADE_ARGUMENT_HIDDEN 2u  /* the runtime fills it in, not the application */

/* An argument that a kernel was given. */
typedef struct fade_argument {
  fade_u32 offset; /* in the block of arguments */
  fade_u32 size;   /* in bytes */
  fade_u32 flags;
  fade_u32 allocation; /* number of the allocation that it points into; 0: none */
  fade_u64 value;      /* its first 8 bytes */
  const char *name;    /* empty if the compiler has not kept it */
  const char *type;    /* the same */
} fade_argument;

typedef struct fade_kernel {
  fade_u32 size;
  fade_u32 id;        /* counts from 0; the same kernel has the same id in all dispatches */
  const char *name;   /* demangled, with its parameters */
  const char *symbol; /* as the compiler named it */
  const char *target; /* gfx90a; empty if it is not known */
  const void *sites;  /* site table (sites.h) of its instrumented twin, or null */
  fade_u64 sites_size;
  const char *sites_file; /* where the table comes from, for messages */
  /* What its code object contains, as 16 hexadecimal digits; empty if it is not known. Kernels of
   * one name in two modules are two kernels. */
  const char *module;
} fade_kernel;

/* fade_dispatch.flags */
#define FADE_DISPATCH_INSTRUMENTED 1u /* the instrumented kernel ran */
#define FADE_DISPATCH_HAS_TIMES 2u    /* start_ns and end_ns are known */
#define FADE_DISPATCH_INCOMPLETE 4u   /* the end of it was not seen: aborted, or FADE had to stop */
#define FADE_DISPATCH_HOST_BOUND 8u   /* waves waited most of the time for room in the ring */
#define FADE_DISPATCH_IN_SOFTWARE 16u /* on the software GPU: times are those of this machine */
#define FADE_DISPATCH_HAS_INSTRUCTIONS 32u /* wave_instructions and lane_instructions are known */

typedef struct fade_dispatch {
  fade_u32 size;
  fade_u32 flags;
  const fade_kernel *kernel;
  const char *variant;    /* what ran: "original", "instrumented", or the file of another version */
  fade_u64 id;            /* counts from 1 in the process, in the order of submission */
  fade_u64 queue;         /* number of the queue, from 0 */
  fade_u32 agent;         /* number of the agent among all agents, from 0 */
  fade_u32 group_segment; /* LDS of a workgroup, in bytes */
  fade_u32 grid[3];       /* in work-items */
  fade_u32 workgroup[3];
  const fade_allocation *allocations; /* when it was submitted; by address */
  fade_u64 allocation_count;
  /* from here on: known in dispatch_end */
  fade_u64 start_ns; /* of the system's clock, as the runtime reports it */
  fade_u64 end_ns;
  fade_u64 records;
  fade_u64 bytes;
  fade_u64 dropped;
  const fade_counter *counters; /* by site; null if nothing was counted */
  fade_u64 counter_count;
  /* Strings, each ended by zero, the first of them empty; demangled. Together with allocations. */
  const char *allocation_names;
  /* Of blocks, by site: shader clocks of all their executions, added up; null if they were not
   * measured (FADE_MODE_TIMES). Known in dispatch_end. */
  const fade_u64 *clocks;
  fade_u64 clock_count;
  /* Who made it, by allocation: offset in allocation_names of "main (app.cpp:12)"; 0 if it is not
   * known. Null if none is. */
  const fade_u32 *allocation_origins;
  /* By offset; known from the beginning. Each has argument_size bytes, which may be more than this
   * header knows of. */
  const fade_argument *arguments;
  fade_u32 argument_count;
  fade_u32 argument_size;
  /* Executed, one for each wave, and summed over active lanes. Of the kernel that ran: an
   * instrumented one executes more than the original. */
  fade_u64 wave_instructions;
  fade_u64 lane_instructions;
} fade_dispatch;

/* A piece of the stream of a dispatch. */
typedef struct fade_batch {
  fade_u32 size;
  fade_u32 shared_base; /* see fade_wave_begin; all waves of a dispatch have the same */
  fade_u32 private_base;
  fade_u32 wave_size;
  const fade_dispatch *dispatch;
  const void *bytes; /* whole records, checked; valid until `records` returns */
  fade_u64 byte_count;
  fade_u64 record_count;
  fade_u64 position; /* of the first byte in the stream */
  const void *waves;
  /* The announcement of a wave; 0 if it is not kept (FADE_NEEDS_WAVES, or very long ago). */
  int (*find_wave)(const void *waves, fade_u32 wave, fade_wave_begin *out);
} fade_batch;

/* What FADE does for a handler. All functions may be called from any thread. */
typedef struct fade_host {
  fade_u32 size;
  fade_u32 format;
  void *context;
  /* Appends whole lines to the report. */
  void (*write)(void *context, const char *text, fade_u64 size);
  /* Writes a file of its own; %p, %h and %r in the path as in --log-location. 0 if it failed. */
  int (*write_file)(void *context, const char *path, const char *data, fade_u64 size);
  /* One line on stderr, whatever the format. */
  void (*warn)(void *context, const char *text);
  fade_u32 flags;   /* FADE_HOST_* */
  fade_u32 columns; /* that a line of text should fit in; 0: not known, 100 are good */
} fade_host;

typedef struct fade_handler_api {
  fade_u32 size;
  fade_u32 abi;             /* FADE_HANDLER_ABI */
  fade_u32 message_version; /* FADE_MESSAGE_VERSION */
  fade_u32 needs;           /* FADE_NEEDS_* */
  const char *name;
  const char *summary; /* what it does, in one line */
  /* Options as key=value,key=value. Null, and a line in `error`, if there is something wrong with
   * them. */
  void *(*create)(const fade_host *host, const char *options, char *error, fade_u64 error_size);
  void *(*shard)(void *handler, const fade_dispatch *dispatch);
  void (*records)(void *shard, const fade_batch *batch);
  void (*dispatch_end)(void *handler, const fade_dispatch *dispatch, void *const *shards,
                       fade_u32 shard_count);
  void (*shard_free)(void *shard);
  void (*report)(void *handler);
  void (*destroy)(void *handler);
  /* FADE_TAKES_*, with the options it was created with; may be null. */
  fade_u32 (*takes)(const void *handler);
} fade_handler_api;

#endif
