/* SPDX-License-Identifier: Apache-2.0 */
/* The code that the program and the plugin run, each with its own copy of cushim. */
#include <cushim/load.h>
#include <stdio.h>

static void print_copy(void *who, const CushimCopy *copy) {
  printf("%s %s %d.%d.%d%s\n", (const char *)who, copy->path, copy->version_major, copy->version_minor,
         copy->version_patch, copy->is_this_one ? " its own" : "");
}

static inline void print_copies(char *who) { cushim_copies(print_copy, who); }
