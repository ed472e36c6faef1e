// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cushim::test {

// GCC defines a macro for each sanitizer, Clang has features.
#ifdef __has_feature
#define CUSHIM_TEST_HAS_FEATURE(feature) __has_feature(feature)
#else
#define CUSHIM_TEST_HAS_FEATURE(feature) false
#endif

// True if the thread sanitizer is on.
inline constexpr bool kHasThreadSanitizer =
#ifdef __SANITIZE_THREAD__
    true;
#else
    CUSHIM_TEST_HAS_FEATURE(thread_sanitizer);
#endif

// True if the address sanitizer is on.
inline constexpr bool kHasAddressSanitizer =
#ifdef __SANITIZE_ADDRESS__
    true;
#else
    CUSHIM_TEST_HAS_FEATURE(address_sanitizer);
#endif

}  // namespace cushim::test
