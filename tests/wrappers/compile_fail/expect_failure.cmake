# SPDX-License-Identifier: Apache-2.0
# Compiles SOURCE with -D${USE}: must fail with words that match EXPECTED; or, if that is empty, must
# compile.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${CXX} -std=c++20 -D${USE} -I${INCLUDE} -isystem ${CUDA} -fsyntax-only ${SOURCE}
  RESULT_VARIABLE result ERROR_VARIABLE output)
if(EXPECTED STREQUAL "")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "does not compile:\n${output}")
  endif()
elseif(result EQUAL 0)
  message(FATAL_ERROR "compiles, and should not")
elseif(NOT output MATCHES "${EXPECTED}")
  message(FATAL_ERROR "fails otherwise than with '${EXPECTED}':\n${output}")
endif()
