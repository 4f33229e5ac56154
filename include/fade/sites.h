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
 *   +------------+---------+-------+--------+-------+--------------+---------+
 *   | fade_sites | kernels | sites | frames | lines | instructions | strings |
 *   +------------+---------+-------+--------+-------+--------------+---------+
 *
 * Little-endian. Each array is given by a byte offset from the start of the table, a multiple of 4
 * (instructions: of 8), and a count; the strings by an offset and a size in bytes. A string is an
 * offset into the strings and ends with a zero byte; 0 is the empty string. FADE_NO_INDEX means
 * "none".
 *
 * A source place is file, line and column; 0 means unknown, as everywhere without debug info. A
 * site in an inlined function names that function, and its inlined_at is the frame with the place
 * of the call; the parent of a frame is the place where the frame's function was inlined in turn,
 * and so on up to a function that exists in the code.
 *
 * With FADE_MODE_MACHINE, accesses are those that the machine makes for the original kernel: the
 * pass has merged, removed and combined them as the code generator will do with those of the
 * original, or the table was made from machine code. Accesses of the source that are part of others
 * now have a site, too, which no record names (FADE_SITE_IS_GONE). Without it, accesses are as they
 * were before that.
 *
 * Instructions are there only where the table was made from machine code, because the software GPU
 * counts them (FADE_MODE_INSTRUCTIONS): one for each instruction, by address. Its executions and
 * active lanes are the counter of its site (fade_dispatch.counters). */
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
#define FADE_MODE_BLOCKS 2u        /* BLOCK records with the clock */
#define FADE_MODE_KERNEL 4u        /* WAVE_END records; waves announce themselves in every mode */
#define FADE_MODE_COUNTS 8u        /* block counts in fade_control.counters */
#define FADE_MODE_INSTRUCTIONS 16u /* counts of all instructions there, by the software GPU */
#define FADE_MODE_TIMES 32u        /* clocks of blocks there, without a stream; with COUNTS */
#define FADE_MODE_MACHINE 64u      /* accesses are those of the machine code, see above */
#define FADE_MODE_SUMMARY 128u     /* accesses may be added up on the device; with ACCESSES */

/* fade_site.kind */
#define FADE_SITE_BLOCK 1u
#define FADE_SITE_LOAD 2u
#define FADE_SITE_STORE 3u
#define FADE_SITE_ATOMIC 4u      /* read-modify-write and compare-and-swap */
#define FADE_SITE_COPY_READ 5u   /* source of memcpy, memmove or a load to LDS */
#define FADE_SITE_COPY_WRITE 6u  /* destination of the same */
#define FADE_SITE_FILL 7u        /* memset */
#define FADE_SITE_INSTRUCTION 8u /* an instruction that is no access: only counted */
#define FADE_SITE_TAKEN 9u       /* times a branch was taken: only counted */
#define FADE_SITE_SPLIT 10u      /* times lanes parted, see below: only counted */
#define FADE_SITE_USER 11u       /* what the author records (user.h); `size` is his number */

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
#define FADE_SITE_IS_GONE 128u     /* the code generator does it otherwise, see fade_site.done_by */
#define FADE_SITE_IS_SCALAR 256u   /* a load by the scalar unit: once for all lanes */
#define FADE_SITE_IS_COMBINED 512u /* an atomic by one lane, for all lanes of its wave */
#define FADE_SITE_IS_DOUBLE 1024u  /* user records: the values are doubles, else signed integers */
#define FADE_SITE_ALL_LANES 2048u  /* blocks: in `more_lanes` of their counter are all lanes */
#define FADE_SITE_MISSING 4096u    /* ... and both are what is missing of the dispatch's waves */
#define FADE_SITE_IS_LOOP 8192u    /* of a loop of compare and swap, for an atomic the GPU lacks */
#define FADE_SITE_IS_OTHERWISE 16384u /* machine code was found to do it otherwise: `instead` */
#define FADE_SITE_SHARES_LINE 32768u  /* observed: its line is that of another of its clause */

/* Accesses, bits 16 to 23: bytes of the widest access that instructions make for this one. A site
 * of 8 bytes with a piece of 4 is made as two accesses of 4 bytes side by side, by ds_read2_b32;
 * with a piece of 0 it is as wide as instructions are. */
#define FADE_SITE_PIECE(flags) ((flags) >> 16 & 255u)
#define FADE_SITE_OF_PIECES(bytes) ((fade_u32)(bytes) << 16)

/* fade_site_instruction.unit: what executes it */
#define FADE_UNIT_VALU 0u
#define FADE_UNIT_SALU 1u
#define FADE_UNIT_SMEM 2u
#define FADE_UNIT_VMEM 3u
#define FADE_UNIT_LDS 4u
#define FADE_UNIT_MATRIX 5u
#define FADE_UNIT_BRANCH 6u
#define FADE_UNIT_BARRIER 7u
#define FADE_UNIT_WAIT 8u
#define FADE_UNIT_OTHER 9u /* messages, hints, cache control */
#define FADE_UNIT_INVALID 10u
#define FADE_UNIT_COUNT 11u

/* fade_site_instruction.type: of its arithmetic; of products that are summed up, that of the
 * factors */
#define FADE_TYPE_NONE 0u
#define FADE_TYPE_F64 1u
#define FADE_TYPE_F32 2u
#define FADE_TYPE_F16 3u
#define FADE_TYPE_BF16 4u
#define FADE_TYPE_F8 5u      /* all formats of 8 bits and less */
#define FADE_TYPE_INTEGER 6u /* matrix instructions on integers: not floating-point operations */
#define FADE_TYPE_COUNT 7u

/* fade_site_instruction.flags */
#define FADE_INSTRUCTION_PACKED 1u   /* works on several values in a register */
#define FADE_INSTRUCTION_PER_WAVE 2u /* operations are the wave's, whichever lanes are active */

/* fade_site_kernel.flags */
#define FADE_KERNEL_REPLACES 1u  /* mode=replace: name and clone are the same */
#define FADE_KERNEL_NO_STREAM 2u /* it writes no records, only counters: fade_control.copy_mask */
#define FADE_KERNEL_SUMS 16u     /* its fade_control has tables for summaries: message.h */
#define FADE_KERNEL_WAVE32 4u    /* the size of its waves, where the compiler knew it */
#define FADE_KERNEL_WAVE64 8u
#define FADE_KERNEL_KEEPS_ARGUMENTS 32u /* made from machine code: see clone.h */
#define FADE_KERNEL_HAS_VARIABLES                                                                  \
  64u /* ... and uses what its code object has besides constants                                   \
       */
/* ... bits 8 to 23: it counts in scalar registers from FIRST to before END, which nothing else in
 * its machine code may write; 0 if it does not. Who runs it checks that (codeobj/counter_check.h):
 * not every compiler keeps away from registers that it is told not to have. */
#define FADE_KERNEL_FIRST_COUNTER(flags) ((flags) >> 8 & 255u)
#define FADE_KERNEL_END_OF_COUNTERS(flags) ((flags) >> 16 & 255u)
#define FADE_KERNEL_COUNTS_IN(first, end) ((fade_u32)(first) << 8 | (fade_u32)(end) << 16)

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
  fade_u32 instructions_offset, instruction_count;
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
  fade_u32 size; /* bytes of each lane's access; 0 if FADE_SITE_HAS_LENGTH. Blocks: 1 + index of
                    the counter whose `entries` are their clocks; 0: their time is not known */
  fade_u32 file, line, column;
  fade_u32 function;   /* string: linkage name of the source function */
  fade_u32 inlined_at; /* frame, or FADE_NO_INDEX */
  fade_u32 kernel;     /* index; FADE_NO_INDEX in functions that kernels may share */
  fade_u32 block;      /* accesses: site of their block, if blocks are instrumented */
  union {
    fade_u32 first_line; /* blocks: the source lines the block holds, and how many */
    fade_u32 instead;    /* FADE_SITE_IS_OTHERWISE: string, the instructions that are there */
  };
  fade_u32 line_count;
  union {
    fade_u32 counter; /* blocks: 1 + index of their counter; 0: it has the index of the site */
    fade_u32 done_by; /* FADE_SITE_IS_GONE: 1 + the site that makes this access, too; 0: none */
  };
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

typedef struct fade_site_instruction {
  fade_u64 address; /* in the code object */
  fade_u32 text;    /* string: as disassembled */
  fade_u32 site;    /* its place and size, and the counter of its executions and lanes */
  fade_u32 taken;   /* conditional branches: site of kind FADE_SITE_TAKEN, else FADE_NO_INDEX */
  fade_u32 split;   /* site of kind FADE_SITE_SPLIT, which counts how often only a part of the lanes
                       that were active went on behind it, neither all nor none; FADE_NO_INDEX where
                       that cannot be */
  fade_u32 operations; /* of the type, by each active lane or by the wave, see flags */
  fade_u8 unit, type, flags, reserved;
} fade_site_instruction;

FADE_STATIC_ASSERT(sizeof(fade_site_instruction) == 32);
FADE_STATIC_ASSERT(sizeof(fade_sites) == 96);
FADE_STATIC_ASSERT(sizeof(fade_site_kernel) == 24);
FADE_STATIC_ASSERT(sizeof(fade_site) == 56);
FADE_STATIC_ASSERT(sizeof(fade_site_frame) == 20);
FADE_STATIC_ASSERT(sizeof(fade_site_line) == 8);

#endif
