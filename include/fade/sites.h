/* The site table: what a site id in a record stands for. Layout only; the reader is site_table.h.
 *
 * Each instrumented module (a translation unit, or the whole program when instrumented at link
 * time) leaves one table in the ELF section FADE_SITES_SECTION of its code object. The section is
 * not loaded. After linking several modules it holds several tables, one behind the other, each at
 * a multiple of 8; zero bytes may stand between them. A site id is an index into the sites of one
 * table: the one whose module_id the wave announced.
 *
 * PTX has no such sections. There the table is the contents of a variable in global memory with the
 * name FADE_SITES_VARIABLE, which a host asks for by name (cuModuleGetGlobal).
 *
 *   +------------+---------+-------+--------+-------+---------+
 *   | fade_sites | kernels | sites | frames | lines | strings |
 *   +------------+---------+-------+--------+-------+---------+
 *
 * Little-endian. Each array is given by a byte offset from the start of the table, a multiple of 4,
 * and a count; the strings by an offset and a size in bytes. A string is an offset into the strings
 * and ends with a zero byte; 0 is the empty string. FADE_NO_INDEX means "none".
 *
 * A source place is file, line and column; 0 means unknown, as everywhere without debug info. A
 * site in an inlined function names that function, and its inlined_at is the frame with the place
 * of the call; the parent of a frame is the place where the frame's function was inlined in turn,
 * and so on up to a function that exists in the code. */
#ifndef FADE_SITES_H
#define FADE_SITES_H

#include "message.h"

#define FADE_SITES_SECTION ".fade.sites"
#define FADE_SITES_VARIABLE "__fade_sites"
#define FADE_SITES_MAGIC 0x4554495345444146ull /* "FADESITE" */
#define FADE_SITES_VERSION 1u
#define FADE_NO_INDEX 0xffffffffu

/* Modes a module was compiled with: fade_sites.modes. */
#define FADE_MODE_ACCESSES 1u
#define FADE_MODE_BLOCKS 2u /* BLOCK records with the clock */
#define FADE_MODE_KERNEL 4u /* WAVE_END records; waves announce themselves in every mode */
#define FADE_MODE_COUNTS 8u /* block counts in fade_control.counters */

/* fade_site.kind */
#define FADE_SITE_BLOCK 1u
#define FADE_SITE_LOAD 2u
#define FADE_SITE_STORE 3u
#define FADE_SITE_ATOMIC 4u     /* read-modify-write and compare-and-swap */
#define FADE_SITE_COPY_READ 5u  /* source of memcpy, memmove or a load to LDS */
#define FADE_SITE_COPY_WRITE 6u /* destination of the same */
#define FADE_SITE_FILL 7u       /* memset */

/* fade_site.space: numbers of AMDGPU's address spaces, which are those of NVPTX, too */
#define FADE_SPACE_FLAT 0u
#define FADE_SPACE_GLOBAL 1u
#define FADE_SPACE_LDS 3u
#define FADE_SPACE_CONSTANT 4u
#define FADE_SPACE_NONE 0xffffffffu /* not an access */

/* fade_site.flags */
#define FADE_SITE_READS 1u
#define FADE_SITE_WRITES 2u
#define FADE_SITE_IS_VOLATILE 4u
#define FADE_SITE_IS_ATOMIC 8u      /* atomic load and store, too */
#define FADE_SITE_IS_BUFFER 16u     /* through a buffer descriptor */
#define FADE_SITE_HAS_LENGTH 32u    /* its records are RANGE records */
#define FADE_SITE_IS_PREDICATED 64u /* one element of a masked vector access */

/* fade_site_kernel.flags */
#define FADE_KERNEL_REPLACES 1u /* mode=replace: name and clone are the same */

typedef struct fade_sites {
  fade_u64 magic;
  fade_u32 version;         /* FADE_SITES_VERSION */
  fade_u32 message_version; /* FADE_MESSAGE_VERSION of the records this module writes */
  fade_u64 module_id;       /* hash of source name, target and contents of the table */
  fade_u64 size;            /* of the whole table, a multiple of 8 */
  fade_u32 modes;
  fade_u32 source;  /* string: source file of the module */
  fade_u32 target;  /* string: gfx90a, sm_80 */
  fade_u32 options; /* string: the options given to the pass */
  fade_u32 kernels_offset, kernel_count;
  fade_u32 sites_offset, site_count;
  fade_u32 frames_offset, frame_count;
  fade_u32 lines_offset, line_count;
  fade_u32 strings_offset, strings_size;
  fade_u32 reserved[2];
} fade_sites;

typedef struct fade_site_kernel {
  fade_u32 name;  /* string: symbol of the original */
  fade_u32 clone; /* string: symbol of the instrumented kernel */
  fade_u32 file, line;
  fade_u32 modes; /* FADE_MODE_* of this kernel */
  fade_u32 flags;
} fade_site_kernel;

typedef struct fade_site {
  fade_u32 kind;
  fade_u32 flags;
  fade_u32 space;
  fade_u32 size; /* bytes of each lane's access; 0 if FADE_SITE_HAS_LENGTH, and for blocks */
  fade_u32 file, line, column;
  fade_u32 function;               /* string: linkage name of the source function */
  fade_u32 inlined_at;             /* frame, or FADE_NO_INDEX */
  fade_u32 kernel;                 /* index; FADE_NO_INDEX in functions that kernels may share */
  fade_u32 block;                  /* accesses: site of their block, if blocks are instrumented */
  fade_u32 first_line, line_count; /* blocks: the source lines the block holds */
  fade_u32 reserved;
} fade_site;

typedef struct fade_site_frame {
  fade_u32 function; /* string: the function that contains the call */
  fade_u32 file, line, column;
  fade_u32 parent; /* frame, or FADE_NO_INDEX */
} fade_site_frame;

typedef struct fade_site_line {
  fade_u32 file;
  fade_u32 line;
} fade_site_line;

FADE_STATIC_ASSERT(sizeof(fade_sites) == 96);
FADE_STATIC_ASSERT(sizeof(fade_site_kernel) == 24);
FADE_STATIC_ASSERT(sizeof(fade_site) == 56);
FADE_STATIC_ASSERT(sizeof(fade_site_frame) == 20);
FADE_STATIC_ASSERT(sizeof(fade_site_line) == 8);

#endif
