/* The contract between an instrumented kernel and whoever reads its stream: records, ring and
 * control block.
 *
 * One header for three readers: the device runtime (OpenCL C), host C and host C++. It depends on
 * nothing. What a site id means is in the site table (sites.h); the host-side decoder is decode.h,
 * the reference encoder encode.h.
 *
 *
 * WHO OWNS WHAT
 *
 *   device memory                       host memory, fine-grained
 *   +--------------------------+        +------------+
 *   | fade_control             |   +--->| tail (u64) |  bytes the host has freed, only grows
 *   |   configuration  (const) |   |    +------------+
 *   |   tail ------------------+---+
 *   |   data ------------------+---+    +--------------------------------------------+-------+
 *   |   head, limit   (atomic) |   +--->| record | record | record |   zero bytes    | slack |
 *   |   waves         (atomic) |        +--------------------------------------------+-------+
 *   |   dropped       (atomic) |        0                                         capacity   +
 *   +--------------------------+                                                FADE_RING_SLACK
 *   | fade_counter[site_count] |   block counts and sampling, only where they are asked for
 *   +--------------------------+
 *
 * The only argument that a clone has beyond those of its kernel is the address of fade_control
 * (clone.h). One ring serves one dispatch at a time: which dispatch a record belongs to is known
 * from the ring and is not in the record.
 *
 *
 * LIFE OF A RECORD
 *
 * Positions are 64-bit byte counts that only grow; position p is at data[p & (capacity - 1)].
 *
 *   1. reserve   One lane adds the record's size to `head` and so owns [p, p + size). That is the
 *                one atomic operation of a record.
 *   2. wait      While p + size > limit, the wave reads the host's tail and raises `limit` to
 *                tail + capacity. `limit` is a copy of that sum in device memory; a copy that is
 *                out of date is only ever too low.
 *   3. write     Everything but the first 8 bytes.
 *   4. publish   The 8-byte header, never zero, as a release at system scope.
 *   5. drain     The host reads headers in order with acquire loads. A zero header means "not
 *                written yet": it stops there.
 *   6. free      The host sets every byte of the record to zero, then raises tail by its size with
 *                a release store.
 *
 * Free memory is therefore always zero, and bytes of an earlier lap can never be taken for a
 * record.
 *
 * A record may start near the end of the ring and run over it. It is then written on into the
 * slack, in one piece, and as many bytes at the start of the ring stay unused and zero in the next
 * lap. So a record is always contiguous, and nobody needs padding or a second reservation.
 *
 * A wave never holds a lock, and a wave that waits depends on the host alone. Every record is
 * smaller than the smallest ring, so it gets in once the host has drained what lies before it.
 *
 * Lossy mode (FADE_CONTROL_LOSSY): before it reserves, a wave looks at head and tail; if not even
 * the largest record would fit now, it adds one to `dropped` and goes on. Records that announce a
 * wave or its end are never dropped. An execution of a site is dropped as a whole, also where it
 * takes several records (RANGE with different lengths).
 *
 *
 * A SEGMENTED RING
 *
 * With FADE_CONTROL_SEGMENTED `data` is in device memory, where the host cannot look: a copy engine
 * brings it over in large pieces. A copy of what is being written would be torn, so waves count
 * what they have written, and the host copies only what is known to be whole.
 *
 *   device memory                                     host memory, fine-grained
 *   +--------------------------+                      +------------+
 *   | fade_control             |    +---------------->| tail (u64) |  as above
 *   |   tail ------------------+----+                 +------------+
 *   |   written ---------------+-+
 *   |   data ------------------+-|-+
 *   |   head, limit   (atomic) | | |                  the last answers
 *   +--------------------------+ | |                  +------------------+------+
 *   | u64 written[n]  (atomic) |<+ |    ==copies==>   | written[n]       | head |
 *   +--------------------------+   |                  +------------------+------+
 *                                  v                  mirror, which the host drains
 *   +-----------+- - -+---------------+-------+       +- - - - - - - - - - - - - - -+-------+
 *   | segment 0 |     | segment n - 1 | slack | ====> | whole segments, in order    | slack |
 *   +-----------+- - -+---------------+-------+       +- - - - - - - - - - - - - - -+-------+
 *   0                              capacity   +
 *                                       FADE_RING_SLACK
 *
 * written[i] counts the bytes written in segment i since the dispatch began. Steps 1 and 2 are as
 * above; then
 *
 *   3. write     The whole record, header included.
 *   4. publish   The record becomes visible to the system (release); then its bytes are added to
 *                `written`, in each segment it touches: one or two.
 *   5. drain     With segments of s bytes, lap l of segment i is whole when written[i] =
 *                (l + 1) * s. All that was reserved is whole when the sum of `written`, read first,
 *                equals `head`, read afterwards. Such bytes are copied to the mirror. A record that
 *                ends in the next segment is read with that one.
 *   6. free      The host raises tail as above, but by whole segments: bytes of the next lap in a
 *                segment whose own bytes are still missing would be counted for those. Nothing has
 *                to be zero.
 *
 * There are at least 4 segments, so that the next one can always be filled while the last record of
 * the one before it waits.
 *
 *
 * MEMORY ORDER OF EACH STEP
 *
 * "Device" and "system" are scopes; a "lane" is one lane of the wave, the "wave" all that write.
 *
 *   step      who    operation                 order             why
 *   reserve   lane   limit: load               relaxed, device   an old value is only too low
 *             lane   head: add                 relaxed, device   hands out ranges that do not
 *                                                                overlap; no data depends on it
 *   wait      lane   fence                     release, system   counts of other waves leave this
 *                                                                GPU's cache: segmented ring only,
 *                                                                and only by those in front
 *             lane   tail: load                relaxed, system   the record's stores wait for a
 *             lane   limit: max, load          relaxed, device   branch on what was read (1)
 *   write     wave   the record                plain (2)         nobody reads it before the next
 *                                                                step
 *   publish   wave   wait for stores           - (2)             all lanes' stores come before the
 *                                                                header
 *             wave   fence                     release, system   instead in a segmented ring: the
 *                                                                same before the count
 *             lane   header: store             relaxed, system   a release, with the wait (3)
 *             lane   written: add              relaxed, system   the same, with the fence (3)
 *   drain     host   header: load              acquire           pairs with publish: the record is
 *                                                                seen with its header
 *             host   copy of `written`, then   acquire of the    each copy is started when the one
 *                    of `head` or the data     copy's signal     before has completed, so what it
 *                                                                brings is no older
 *   free      host   the record: zeros         plain             a reader that clears hands back to
 *                                                                the one that frees (release,
 *                                                                acquire)
 *             host   tail: store               release           pairs with wait: who sees the new
 *                                                                tail finds zeros, or bytes that
 *                                                                were copied
 *   end       host   head, waves, dropped,     acquire of the    the kernel's end releases what it
 *                    counters                  dispatch's signal wrote
 *
 *   (1) A wave executes no store ahead of a branch, so relaxed loads are enough on a GPU. The
 *       writer on the host (ring_writer.h) is C++ and takes acquire for both.
 *   (2) Host memory is coherent, so the L2 of an AMD GPU does not keep it: a store that has
 *       completed has arrived. Where it might (gfx94x and gfx95x as part of an APU, gfx12), stores
 *       are relaxed ones of system scope, which go through. A fence would write back all of the L2.
 *   (3) nvptx64 has these as one instruction each, st.release.sys and red.release.sys, behind a
 *       barrier of the lanes; the writer on the host has release stores and additions.
 *
 *
 * BEFORE AND AFTER A DISPATCH
 *
 * Before a dispatch head = tail = 0, limit = capacity, waves = dropped = 0, and the ring is zero,
 * or if it is segmented, the counts of `written` are. When the dispatch has completed, `head` says
 * exactly how many bytes were reserved; all of them have been written, unless the kernel was
 * aborted.
 *
 *
 * RECORDS
 *
 * Sizes are multiples of 8. All records share their first 32 bytes:
 *
 *    0         4     6    7    8              16              24      28      32
 *    +---------+-----+----+----+--------------+---------------+-------+-------+--- - -
 *    | site    |words|kind|enc.| mask         | value         | wave  | extra | payload
 *    +---------+-----+----+----+--------------+---------------+-------+-------+--- - -
 *    '------ header, 8 B ------'
 *
 *   words     size of the whole record in units of 8 bytes
 *   encoding  of an access; flags of a wave's announcement; else 0
 *   mask      the lanes that took part, exact; bits 32 to 63 are zero in wave32
 *   wave      the number that the wave got when it announced itself
 *
 *   kind         size  site     value            extra      payload
 *   WAVE_BEGIN    72   kernel   clock            work-item  see fade_wave_begin
 *   WAVE_END      40   kernel   clock            0          time
 *   BLOCK         32   block    clock            0          -
 *   ACCESS        32+  access   base address     stride     by encoding
 *   RANGE         40+  access   base address     stride     u64 length, then by encoding
 *   USER          32+  user     value            stride     by encoding
 *
 *   SUMMARY       56+  access   base address     stride     see fade_summary_record
 *   WAVES         48   0        waves            0          see fade_waves_record
 *   SUMS          72   access   count            stride     see fade_sums_record
 *
 * A reader skips a kind it does not know by its size. ACCESS carries no size, it is in the site
 * table. RANGE is for accesses whose length is known only when they run (memcpy, memset): length is
 * the number of bytes that each lane of the mask touches from its address on. Lanes with different
 * lengths come in several records with disjoint masks. USER is what the kernel's author records
 * (user.h): the lanes' values are encoded as addresses are, in all 64 bits; the number that the
 * author gave the place is in the site table.
 *
 * Addresses. The base address is that of the first active lane. The device chooses the shortest
 * encoding that is exactly true; with r = lane - first active lane and w = width:
 *
 *   encoding  address of a lane                                   payload
 *   UNIFORM   base                                                -
 *   AFFINE    base + stride * r                                   -
 *   TILED     base + stride * (r % w) + row_stride * (r / w)      i32 row_stride, u32 width
 *   DELTA32   base + delta                                        i32 per active lane but the first
 *   RAW       address                                             u64 per active lane but the first
 *
 * Strides are signed and count bytes; sums wrap at 64 bits; stride is 0 where it is not used; width
 * is a power of two from 2 to 32. An odd number of deltas is followed by 4 zero bytes.
 *
 * An LDS address is the byte offset in the workgroup's LDS; global and flat addresses are 64-bit
 * virtual addresses. A flat address lies in LDS when its upper half equals shared_base of the
 * wave's announcement, in scratch when it equals private_base.
 *
 * SUMMARY, WAVES and SUMS are written by the host, from what a kernel has added up (see below): a
 * SUMMARY stands for as many executions as it says, all of the same class; base address and wave
 * are those of the first of them. Encodings up to TILED. SUMS are of executions without a class:
 * AFFINE, all with the same stride, or RAW, without any.
 *
 * So a coalesced access costs 32 bytes for any number of lanes, and an irregular one at most 32 + 4
 * bytes per active lane as long as all addresses lie within 2 GiB of the first.
 *
 *
 * SUMMARIES
 *
 * A twin compiled for summaries (FADE_KERNEL_SUMS) adds accesses up where it runs. An access whose
 * lanes are on a line or in a tile is described by its class: site, lanes, strides, and some bits
 * of its first address, which say where in a cache line it begins. Waves find the class in a table
 * in device memory and add one. Of what has no class, or finds no room for it, the wave works out
 * what it costs, and adds that up by site, or by site and stride (fade_sums). What cannot be added
 * up becomes an ordinary record.
 *
 *   fade_control.copies
 *   +--------------+------------------------+-----------------------+
 *   | fade_summary | fade_class[site_count] | fade_class[slot_mask  | table 0, copy_size bytes
 *   |              | by site                |              + 1]     |
 *   +--------------+-----------+------------+-----------------------+
 *   | fade_sums[site_count]    | fade_sums[slot_mask + 1] by stride | if such are added up
 *   +--------------------------+------------------------------------+
 *   | ...                                                           | one per part of the GPU
 *   +---------------------------------------------------------------+
 *   | zeros: for waves that are not wanted                          | table copy_mask + 1
 *   +---------------------------------------------------------------+
 *   | u32[waves]: accesses to global memory of each wave, and FADE_WAVE_IS_ANNOUNCED
 *   +------------------------------------------ - -
 *   | u32[FADE_PARTED_BITS / 32]                                    | if pages are told apart
 *   +---------------------------------------------------------------+
 *
 * The first class of a site is in its own slot, which takes no search; all others are where their
 * hash says. The words that describe a class are set once, from 0, by a compare-and-swap each, the
 * mask last. So nobody waits for anybody: who finds a word that is not his looks at the next slot,
 * and who finds all of them has found his class, whoever put it there. A class may be in several
 * tables; the host adds them up (summary.h). Nothing is read before the kernel has ended.
 *
 * Where pages are told apart, an access whose lanes are all in one page has its class in that page,
 * which only a search finds (FADE_CLASS_IN_PAGE). One that reaches over several pages, or into a
 * page that holds an end of an allocation, has one with its whole address.
 *
 * Waves have numbers that follow from workgroup and work-item. One announces itself in the ring
 * before its first record, if it ever writes one. */
#ifndef FADE_MESSAGE_H
#define FADE_MESSAGE_H

#ifdef __OPENCL_C_VERSION__
typedef unsigned char fade_u8;
typedef unsigned short fade_u16;
typedef unsigned int fade_u32;
typedef int fade_i32;
typedef unsigned long fade_u64;
#else
#include <stdint.h>
typedef uint8_t fade_u8;
typedef uint16_t fade_u16;
typedef uint32_t fade_u32;
typedef int32_t fade_i32;
typedef uint64_t fade_u64;
#endif

#ifdef __cplusplus
#define FADE_STATIC_ASSERT(what) static_assert(what, #what)
#else
#define FADE_STATIC_ASSERT(what) _Static_assert(what, #what)
#endif

/* Raised by every change that an older reader would misread. */
#define FADE_MESSAGE_VERSION 2u

/* Kinds of record. Zero is not a kind: a zero header is an unpublished one. */
#define FADE_RECORD_WAVE_BEGIN 1u
#define FADE_RECORD_WAVE_END 2u
#define FADE_RECORD_BLOCK 3u
#define FADE_RECORD_ACCESS 4u
#define FADE_RECORD_RANGE 5u
#define FADE_RECORD_USER 6u
#define FADE_RECORD_SUMMARY 7u
#define FADE_RECORD_WAVES 8u
#define FADE_RECORD_SUMS 9u
#define FADE_RECORD_NEWEST FADE_RECORD_SUMS /* higher ones are of a newer FADE */

/* Encodings of ACCESS, RANGE and USER. */
#define FADE_ENCODING_UNIFORM 0u
#define FADE_ENCODING_AFFINE 1u
#define FADE_ENCODING_TILED 2u
#define FADE_ENCODING_DELTA32 3u
#define FADE_ENCODING_RAW 4u

/* Flags of WAVE_BEGIN. */
#define FADE_WAVE_IS_WAVE32 0x01u
#define FADE_WAVE_XCC_SHIFT 4u /* bits 4 to 7: number of the XCC, on devices with several */

/* The wave id that stands for "this wave is filtered out". It never occurs in a record. */
#define FADE_WAVE_NONE 0xffffffffu

#define FADE_RECORD_ALIGN 8u
#define FADE_RECORD_MAX 544u         /* RANGE, RAW, 64 lanes */
#define FADE_RING_SLACK 1024u        /* bytes behind the capacity, so that no record is split */
#define FADE_RING_MIN_CAPACITY 4096u /* the capacity is a power of two */
#define FADE_RING_MAX_CAPACITY 0x40000000u
#define FADE_RING_SEGMENTS 16u /* at most, and at least 4 */
#define FADE_SEGMENT_MIN 1024u /* so that a record touches two at most */

typedef struct fade_header {
  fade_u32 site;
  fade_u16 words;
  fade_u8 kind;
  fade_u8 encoding;
} fade_header;

/* The same header as the integer that is stored; little-endian on both sides. */
#define FADE_HEADER(site, words, kind, encoding)                                                   \
  ((fade_u64)(site) | (fade_u64)(words) << 32 | (fade_u64)(kind) << 48 | (fade_u64)(encoding) << 56)

typedef struct fade_record {
  fade_header header;
  fade_u64 mask;
  fade_u64 value;
  fade_u32 wave;
  fade_i32 extra;
} fade_record;

typedef struct fade_wave_begin {
  fade_header header; /* site: index in the site table's kernels; encoding: FADE_WAVE_* flags */
  fade_u64 mask;      /* lanes that exist */
  fade_u64 clock;     /* shader clock: differences within a wave are meaningful */
  fade_u32 wave;      /* counts from 0 in each dispatch, in order of announcement */
  fade_u32 work_item; /* id of the first lane in its workgroup: x | y << 10 | z << 20 */
  fade_u64 time;      /* real-time counter, comparable between waves and with the host */
  fade_u64 module;    /* id of the site table (sites.h) that this wave's site ids belong to */
  fade_u32 workgroup_x;
  fade_u32 workgroup_y;
  fade_u32 workgroup_z;
  fade_u32 hardware_id;  /* HW_ID (gfx9) or HW_ID1 (gfx10 and later), as the hardware has it */
  fade_u32 shared_base;  /* bits 63:32 of flat addresses that lie in LDS */
  fade_u32 private_base; /* bits 63:32 of flat addresses that lie in scratch */
} fade_wave_begin;

typedef struct fade_wave_end {
  fade_header header; /* site: index in the site table's kernels */
  fade_u64 mask;      /* lanes that got here */
  fade_u64 clock;
  fade_u32 wave;
  fade_u32 reserved;
  fade_u64 time;
} fade_wave_end;

/* Payload of FADE_ENCODING_TILED. */
typedef struct fade_tile {
  fade_i32 row_stride;
  fade_u32 width;
} fade_tile;

/* Executions of a class of accesses that a device has added up. A tile has its fade_tile behind. */
typedef struct fade_summary_record {
  fade_record common;
  fade_u64 count;
  fade_u64 first;  /* position of the stream when the class was met first */
  fade_u32 spread; /* all executions begin in the same 1 << spread bytes, aligned; 64: anywhere */
  fade_u32 reserved;
} fade_summary_record;

/* Executions of a site that a device has added up, without their addresses: see fade_sums. */
typedef struct fade_sums_record {
  fade_header header; /* encoding: AFFINE if all have the same stride, RAW if they have none */
  fade_u64 mask;      /* 1 */
  fade_u64 count;
  fade_u32 wave;
  fade_i32 stride;
  fade_u64 lanes;
  fade_u64 needed, used, wasted;
  fade_u64 same_address;
} fade_sums_record;

/* How a kernel's waves share its accesses to global memory, records and summaries together. */
typedef struct fade_waves_record {
  fade_header header;
  fade_u64 mask;  /* 1 */
  fade_u64 waves; /* that have made any */
  fade_u32 wave, extra;
  fade_u64 executions;
  fade_u64 most; /* of one wave */
} fade_waves_record;

/* Counts of one site. Block counts use both, sampling of executions uses `entries`. The sum of the
 * active lanes is entries + more_lanes. */
typedef struct fade_counter {
  fade_u64 entries;    /* times a wave came by */
  fade_u64 more_lanes; /* active lanes beyond the first of each entry */
} fade_counter;

/* fade_control.flags */
#define FADE_CONTROL_LOSSY 1u             /* drop and count instead of waiting */
#define FADE_CONTROL_SAMPLE_EXECUTIONS 2u /* record one in sample_executions; needs counters */
#define FADE_CONTROL_SEGMENTED 4u         /* the ring is in device memory; needs `written` */

/* fade_control.copy_mask: not all workgroups are wanted, see sample_workgroups */
#define FADE_COPY_FILTERED 0x80000000u

/* The control block, aligned to 128. The host writes all of it before the dispatch; the
 * configuration does not change while the kernel runs. What waves write lives in cache lines of its
 * own. */
typedef struct fade_control {
  /* configuration */
  fade_u32 version; /* FADE_MESSAGE_VERSION */
  fade_u32 flags;
  fade_u64 data;              /* address of the ring's first byte, aligned to 64 */
  fade_u64 capacity_mask;     /* capacity - 1 */
  fade_u64 tail;              /* address of the host's tail */
  fade_u64 counters;          /* address of fade_counter[site_count]; 0: nothing is counted */
  fade_u32 sample_executions; /* N > 0: executions 0, N, 2N ... of each site are recorded */
  fade_u32 sample_workgroups; /* 0: all workgroups; N: only those with (x + y + z) % N == 0 and */
  /* first <= id <= last in each dimension */
  fade_u32 first_workgroup[3];
  fade_u32 last_workgroup[3];
  fade_u64 written;       /* address of u64[segments], in device memory; 0: not segmented */
  fade_u32 segment_shift; /* a segment has 1 << segment_shift bytes */
  fade_u32 reserved_0[3];
  /* twins without a stream (FADE_KERNEL_NO_STREAM): fade_counter[copies + 1][counters], see
   * block_counts.h; the last copy takes what is filtered out */
  fade_u64 copies;
  fade_u32 copy_size; /* in bytes */
  fade_u32 copy_mask; /* copies, a power of two, less 1, and FADE_COPY_FILTERED */
  fade_u32 reserved_4[4];
  /* offset 128 */
  fade_u64 head; /* bytes reserved since the dispatch began */
  fade_u64 reserved_1[15];
  /* offset 256 */
  fade_u64 limit; /* tail + capacity as last seen by a wave */
  fade_u64 reserved_2[15];
  /* offset 384 */
  fade_u64 dropped; /* executions of sites that were not recorded in lossy mode */
  fade_u32 waves;   /* waves announced */
  fade_u32 classes; /* that waves have met, see fade_class.sequence */
  fade_u32 reserved_3[28];
} fade_control;

/* A class of accesses. */
typedef struct fade_class {
  fade_u64 mask; /* set last; 0: free */
  fade_u64 key;  /* complement of those bits of the first address that matter; of tiles without
                    FADE_CLASS_LINE_KEY, so that no line is taken for one */
  fade_u64 line; /* (FADE_CLASS_* | 1 + site) << 32 | (stride ^ FADE_CLASS_STRIDE) */
  fade_u64 tile; /* width << 32 | row_stride; 0 without */
  fade_u64 count;
  /* of the first execution, by the wave that met it */
  fade_u64 base;
  fade_u32 wave;
  fade_u32 sequence; /* from 1, in order of their first executions */
  fade_u64 first;    /* fade_control.head then */
} fade_class;
#define FADE_CLASS_TILED 0x80000000u
#define FADE_CLASS_LINE_KEY 0x8000000000000000u /* no address has this bit */
#define FADE_CLASS_IN_PAGE 0x40000000u          /* all executions are in one page, anywhere in it */
#define FADE_CLASS_STRIDE 0x80000000u           /* no class has a stride of -2^31 */
#define FADE_CLASS_PROBES 8u                    /* slots that are looked at */

/* The beginning of a table. */
typedef struct fade_summary {
  fade_u64 control; /* 0: nothing is wanted */
  fade_u64 waves;   /* address of u32[] */
  fade_u64 module;  /* for announcements */
  fade_u32 kernel_index;
  fade_u32 flags; /* FADE_SUMMARY_* */
  fade_u32 site_count;
  fade_u32 slot_mask;
  fade_u32 grid[3]; /* in work-items */
  fade_u32 workgroup[3];
  fade_u32 groups[2]; /* workgroups in x and y */
  fade_u32 waves_per_group;
  fade_u32 key; /* bits of the first address in global memory that matter; extended by its sign */
  fade_u32 page_mask; /* bytes of a page, a power of two, less 1; 0: pages are not told apart */
  fade_u32 irregular; /* FADE_IRREGULAR(), or 0: such accesses are recorded */
  fade_u64 parted;    /* address of u32[FADE_PARTED_BITS / 32]: see FADE_PARTED_BIT */
  /* offset 96: written by waves that meet a new class, all with the same */
  fade_u32 shared_base;
  fade_u32 private_base;
  fade_u32 wave_size;
  fade_u32 reserved_1[5];
} fade_summary;
#define FADE_SUMMARY_STREAM 1u /* nothing is added up: records only */
/* Bytes of a cache line and banks of LDS, at most 64: both as the power of two. */
#define FADE_IRREGULAR(line_shift, bank_shift) ((line_shift) | (bank_shift) << 8)

/* What has no class, by site: sums over executions in which less than three quarters of the
 * neighbouring lanes are equally far apart, all within 1 GiB, and no lane reaches over the end of a
 * line, in LDS of a dword. By site and stride, found by their hash: the same of executions in which
 * all neighbours are equally far apart, as analyzers see it: single lanes, two of them, and lines
 * that found no room. An execution that is worse than all of its site before it, in this table, is
 * recorded instead, so that there is an example. */
typedef struct fade_sums {
  fade_u64 count;
  fade_u64 lanes;
  fade_u64 needed;       /* lines, if lanes lay side by side; LDS: turns as atomics meet */
  fade_u64 used;         /* lines */
  fade_u64 wasted;       /* lines used without need; LDS: turns beyond the first */
  fade_u64 same_address; /* atomics in LDS: lanes that found another at their address */
  fade_u64 line;         /* by stride: as that of a class, set once; 0: free */
  fade_u32 worst;        /* of a site: 1 + the most that an execution has wasted */
  fade_u32 reserved;
} fade_sums;
/* Twins name a site by the place of its slot; the lower bits say what is to be known to add up
 * irregular accesses: bytes of a lane, 0 if they are not, and whether it is an atomic. */
#define FADE_SLOT_SIZE 31u
#define FADE_SLOT_ATOMIC 32u
#define FADE_SLOT_MASK (~63u)

/* Pages that hold an end of an allocation: where in them an access goes to matters. A set of their
 * addresses, by hash: some others are taken for such pages, too. */
#define FADE_PARTED_BITS 65536u
#define FADE_PARTED_BIT(page) ((fade_u32)((page)*0x9e3779b97f4a7c15ul >> 48))

#define FADE_WAVE_IS_ANNOUNCED 0x80000000u

FADE_STATIC_ASSERT(sizeof(fade_summary_record) == 56);
FADE_STATIC_ASSERT(sizeof(fade_waves_record) == 48);
FADE_STATIC_ASSERT(sizeof(fade_sums_record) == 72);
FADE_STATIC_ASSERT(sizeof(fade_class) == 64);
FADE_STATIC_ASSERT(sizeof(fade_sums) == sizeof(fade_class)); /* they lie behind them */
FADE_STATIC_ASSERT(sizeof(fade_summary) == 128);
FADE_STATIC_ASSERT(sizeof(fade_header) == 8);
FADE_STATIC_ASSERT(sizeof(fade_record) == 32);
FADE_STATIC_ASSERT(sizeof(fade_wave_begin) == 72);
FADE_STATIC_ASSERT(sizeof(fade_wave_end) == 40);
FADE_STATIC_ASSERT(sizeof(fade_tile) == 8);
FADE_STATIC_ASSERT(sizeof(fade_counter) == 16);
FADE_STATIC_ASSERT(sizeof(fade_control) == 512);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_record, mask) == 8);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_record, value) == 16);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_record, wave) == 24);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_wave_begin, wave) == 24);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_wave_begin, module) == 40);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_wave_end, wave) == 24);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_wave_end, time) == 32);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_control, first_workgroup) == 48);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_control, written) == 72);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_control, copies) == 96);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_control, head) == 128);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_control, limit) == 256);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_control, waves) == 392);
FADE_STATIC_ASSERT(__builtin_offsetof(fade_control, dropped) == 384);
FADE_STATIC_ASSERT(FADE_RECORD_MAX <= FADE_SEGMENT_MIN &&
                   4 * FADE_SEGMENT_MIN <= FADE_RING_MIN_CAPACITY);
FADE_STATIC_ASSERT(FADE_RECORD_MAX <= FADE_RING_SLACK && FADE_RECORD_MAX < FADE_RING_MIN_CAPACITY);

#endif
