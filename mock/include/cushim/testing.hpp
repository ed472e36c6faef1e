// SPDX-License-Identifier: Apache-2.0
// Tests that run on any driver: the real driver of a GPU machine, or a library given by path. Link
// cushim::testing, which provides a main() for GoogleTest, and write ordinary tests:
//
//   TEST(Frames, Arrive_in_order) {
//     CUSHIM_NEEDS(gpus(1), mem_ops);
//     ...
//     Hold held = hold(stream);          // work stays unfinished without a kernel
//     ...
//     EXPECT_EQ(answer("cuStreamQuery", cushim::driver().cuStreamQuery(stream)), CUDA_ERROR_NOT_READY);
//   }
//
// --help lists the options of a test program; docs/guide/testing.md describes how to run it.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/testing/answer.hpp>
#include <cushim/testing/child.hpp>
#include <cushim/testing/fresh_process.hpp>
#include <cushim/testing/hold.hpp>
#include <cushim/testing/needs.hpp>
#include <cushim/testing/no_findings.hpp>
#include <cushim/testing/seeds.hpp>
