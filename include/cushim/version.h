/* SPDX-License-Identifier: Apache-2.0 */
/* The version of cushim that these headers belong to. CMake reads it from here. */
#ifndef CUSHIM_VERSION_H
#define CUSHIM_VERSION_H

/* A change breaks what docs/reference/compatibility.md promises. */
#define CUSHIM_VERSION_MAJOR 1
/* Additions only. */
#define CUSHIM_VERSION_MINOR 0
/* Fixes only. */
#define CUSHIM_VERSION_PATCH 0

#endif
