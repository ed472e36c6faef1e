// SPDX-License-Identifier: Apache-2.0
// Situations in which calls are made: what is current, captured, pending or broken then.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "objects.hpp"

namespace arguments {

enum class Situation {
  plain,                 // the context of the objects is current
  no_context,            // no context is current
  other_context,         // another context than that of the objects is current
  capture_relaxed,       // this thread captures another stream, in relaxed mode
  capture_thread_local,  // the same, in thread-local mode
  capture_global,        // the same, in global mode
  others_capture,        // another thread captures a stream, in global mode
  captured,              // the stream of the call is captured, in relaxed mode
  busy,                  // the stream of the call has pending work
  blocking_busy,         // another stream, which synchronizes with the legacy stream, has pending work
  other_busy,            // another stream, which does not, has pending work
  host_function,         // the call is made by a host function
  after_fault            // the context has an error that stays
};

struct NamedSituation {
  Situation situation;
  std::string_view name;  // in the names of cases: "no_context"
};
std::span<const NamedSituation> all_situations();

// Makes a call in a situation, which begins before the call and ends after it.
class CallMaker {
 public:
  CallMaker(const cushim::Driver &driver, Objects &objects, CUcontext context)
      : driver_(driver), objects_(objects), context_(context) {}

  // Throws NotMade if the situation cannot be made.
  CUresult make(Situation situation, const std::function<CUresult()> &call);
  // Returns what else the call did: " current=..." if it changed the current context; " capture=N" with the
  // status of a capture that is no longer active; " nodes=N,..." with the kinds of captured nodes; " waits"
  // if the call returned only after the pending work.
  const std::string &seen() const { return seen_; }

 private:
  using Call = std::function<CUresult()>;
  CUresult make_watching_context(const Call &call);
  CUresult make_in_context(CUcontext context, const Call &call);
  CUresult make_in_capture(CUstream stream, CUstreamCaptureMode mode, const Call &call);
  CUresult make_in_capture_of_others(const Call &call);
  CUresult make_while_captured(const Call &call);
  CUresult make_while_busy(CUstream stream, const Call &call);
  CUresult make_in_host_function(const Call &call);
  CUresult make_after_fault(const Call &call);
  // Ends the capture of a stream. Returns what seen() says of it.
  std::string end_capture(CUstream stream) const;

  const cushim::Driver &driver_;
  Objects &objects_;
  const CUcontext context_;
  std::string seen_;
};

}  // namespace arguments
