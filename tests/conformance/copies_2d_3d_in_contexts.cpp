// SPDX-License-Identifier: Apache-2.0
// Copies of two and three dimensions without a context, in streams and between contexts.
#include "copies_2d_3d.hpp"

namespace conformance {
namespace {

const BoxUse box_uses[] = {
    {"without_a_context", in_pageable, in_device, without_a_context, by_stream(201, 0)},
    {"on_the_device_without_a_context", in_device, in_device, without_a_context, by_stream(201, 0)},
    {"of_an_array_without_a_context", in_array, in_pageable, without_a_context, by_stream(201, 0)},
    {"in_the_null_stream", in_pageable, in_device, [](Copies3D &t) { t.work = nullptr; }, every(0)},
    {"in_the_legacy_stream", in_pageable, in_device, [](Copies3D &t) { t.work = legacy(); }, every(0)},
    {"in_the_per_thread_stream", in_pageable, in_device, [](Copies3D &t) { t.work = per_thread(); },
     every(0)},
    {"in_a_stream_of_another_context", in_pageable, in_device,
     [](Copies3D &t) { t.work = t.in_other_context([&t] { return t.stream(); }); }, every(0)},
    {"of_an_array_in_a_stream_of_another_context", in_array, in_pageable,
     [](Copies3D &t) { t.work = t.in_other_context([&t] { return t.stream(); }); }, every(0)},
    {"of_an_array_in_another_context", in_array, in_pageable,
     [](Copies3D &t) { NEED(driver().cuCtxSetCurrent(t.other_context())); }, every(0)},
    {"between_arrays_in_another_context", in_array, in_array,
     [](Copies3D &t) { NEED(driver().cuCtxSetCurrent(t.other_context())); }, every(0)},
    {"on_the_device_in_another_context", in_device, in_device,
     [](Copies3D &t) { NEED(driver().cuCtxSetCurrent(t.other_context())); }, every(0)},
    {"from_no_context", in_device, in_device, [](Copies3D &t) { t.copy.srcContext = nullptr; }, three(0)},
    {"to_no_context", in_device, in_device, [](Copies3D &t) { t.copy.dstContext = nullptr; }, three(0)},
    {"between_no_contexts", in_device, in_device,
     [](Copies3D &t) { t.copy.srcContext = t.copy.dstContext = nullptr; }, three(0)},
    {"from_another_context", in_device, in_device, [](Copies3D &t) { t.copy.srcContext = t.other_context(); },
     three(0)},
    {"between_other_contexts", in_device, in_device,
     [](Copies3D &t) { t.copy.srcContext = t.copy.dstContext = t.other_context(); }, three(0)},
    {"of_an_array_from_no_context", in_array, in_array,
     [](Copies3D &t) { t.copy.srcContext = t.copy.dstContext = nullptr; }, three(0)},
    {"of_host_memory_from_no_context", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcContext = nullptr; }, three(0)},
};

const bool uses = [] {
  add_box_uses(box_uses);
  return true;
}();

}  // namespace
}  // namespace conformance
