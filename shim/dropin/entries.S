/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions under their own names: each jumps to the current driver's entry. In assembly
 * because that is all that each does, with arguments of whatever type (also types that the headers in
 * use do not have), and because a compiler may copy the arguments that lie on the stack.
 *
 * Hidden: a program or library that links this file uses these functions itself and shows them to nobody,
 * so a driver that is loaded into the same process goes on calling its own. */
#define CUDA_VERSION 0 /* the list wants a number; rows are the same under all headers here */

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
/* Plain loads do where C says acquire: the address of the second comes from the first. */
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
        .hidden cushim_look_up, cushim_look_up_v2

/* The simulated driver's library is made of this file too, and shows what its release has. */
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
        .else; \
        JUMP_TO_ENTRY(slot); \
        .endif; .endif; \
        .size symbol, . - symbol;
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
        .cfi_endproc

/* That this file's calls of the driver go through cushim, for those who look at it from outside. */
#include <cushim/version.h>
        .section .note.cushim, "a", %note
        .balign 4
        .long   1f - 0f
        .long   3f - 2f
        .long   2
0:      .asciz  "cushim"
1:      .balign 4
2:      .long   CUSHIM_VERSION_MAJOR, CUSHIM_VERSION_MINOR, CUSHIM_VERSION_PATCH
3:      .balign 4

/* Indirect branch tracking and shadow stack, or branch target identification, are respected here. */
        .section .note.gnu.property, "a", %note
        .balign 8
        .long   4, 16, 5
        .asciz  "GNU"
#if defined(__x86_64__)
        .long   0xc0000002, 4, 3, 0
#else
        .long   0xc0000000, 4, 1, 0
#endif
        .section .note.GNU-stack, "", %progbits
