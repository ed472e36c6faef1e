// SPDX-License-Identifier: Apache-2.0
// How stream captures restrict each entry point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cushim::sim {

// The effect of a capture on a call that has the capturing stream as its argument.
enum class InCapture : std::uint8_t {
  ignored,      // none
  needs_valid,  // STREAM_CAPTURE_INVALIDATED if the capture is invalid, before other arguments are looked at
  unsupported,  // STREAM_CAPTURE_UNSUPPORTED, before other arguments are looked at; invalidates the capture
};

// When captures of other modes than CU_STREAM_CAPTURE_MODE_RELAXED, also invalid ones, forbid the call in the
// calling thread: STREAM_CAPTURE_UNSUPPORTED, and invalidates the captures.
enum class Unsafe : std::uint8_t {
  never,             // or the call checks it itself, after some of its arguments
  always,            // before arguments are looked at
  in_other_streams,  // if the stream that is its argument does not capture
};

struct CaptureRule {
  std::string_view name;  // the base name of the entry point, or the name of one version
  InCapture stream = InCapture::ignored;
  Unsafe when = Unsafe::never;
};

// Returns the rule of an entry point.
const CaptureRule &capture_rule_of(std::size_t slot);

}  // namespace cushim::sim
