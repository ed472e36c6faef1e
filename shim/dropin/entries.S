/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions under their own names. Each jumps to the current driver's table slot. In assembly
 * because a jump works for arguments of any type (including types that the headers in use lack), and
 * because a compiler may copy arguments on the stack.
 *
 * Hidden: only the program or library that links this file uses these functions, so a driver loaded into
 * the same process keeps calling its own. */
#define CUDA_VERSION 0 /* entry_points.inc needs a number; its entries are the same under all headers here */

#if defined(__x86_64__)
#if defined(CUSHIM_SHARED)
#define LOAD_CURRENT movq cushim_current@GOTPCREL(%rip), %rax; movq (%rax), %rax
#else
#define LOAD_CURRENT movq cushim_current(%rip), %rax
#endif
#define LANDING_PAD endbr64
#define JUMP_TO_ENTRY(slot) LOAD_CURRENT; jmp *(16 + 8 * slot)(%rax)
#define JUMP(function) jmp function
#elif defined(__aarch64__)
/* Plain loads suffice where C requires acquire: the second load's address depends on the first. */
#if defined(CUSHIM_SHARED)
#define LOAD_CURRENT adrp x16, :got:cushim_current; ldr x16, [x16, :got_lo12:cushim_current]; ldr x16, [x16]
#else
#define LOAD_CURRENT adrp x16, cushim_current; ldr x16, [x16, :lo12:cushim_current]
#endif
#define LANDING_PAD hint 34 /* bti c */
#define JUMP_TO_ENTRY(slot) LOAD_CURRENT; ldr x16, [x16, 16 + 8 * slot]; br x16
#define JUMP(function) b function
#else
#error "cushim supports x86-64 and aarch64 only, for now"
#endif

#if !defined(CUSHIM_SHARED)
        .hidden cushim_current
#endif
        .hidden cushim_look_up, cushim_look_up_v2, cushim_error_name, cushim_error_string

/* The library of the simulated driver is also built from this file, and exports the functions of its
 * release. */
#if defined(CUSHIM_EXPORTED_RELEASE)
#define VISIBILITY(symbol, version) .if version > CUSHIM_EXPORTED_RELEASE; .hidden symbol; .endif
#else
#define VISIBILITY(symbol, version) .hidden symbol
#endif

        .text
        .cfi_startproc
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
        .balign 16; \
        .globl symbol; \
        VISIBILITY(symbol, version); \
        .type symbol, %function; \
symbol: \
        LANDING_PAD; \
        .ifc symbol, cuGetProcAddress; \
        JUMP(cushim_look_up); \
        .else; .ifc symbol, cuGetProcAddress_v2; \
        JUMP(cushim_look_up_v2); \
        .else; .ifc symbol, cuGetErrorName; \
        JUMP(cushim_error_name); \
        .else; .ifc symbol, cuGetErrorString; \
        JUMP(cushim_error_string); \
        .else; \
        JUMP_TO_ENTRY(slot); \
        .endif; .endif; .endif; .endif; \
        .size symbol, . - symbol;
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
        .cfi_endproc

/* Marks a file whose driver calls go through cushim. */
#define CUSHIM_NOTE_TYPE 2
#include "../notes.inc"
