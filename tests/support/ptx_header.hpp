// SPDX-License-Identifier: Apache-2.0
// The first lines of PTX code of tests, as a literal that the literal behind it continues:
//
//   constexpr const char *kCode = CUSHIM_PTX_HEADER R"(
//   .visible .entry empty() { ret; }
//   )";
#pragma once

#define CUSHIM_PTX_HEADER "\n.version 7.8\n.target sm_52\n.address_size 64"
