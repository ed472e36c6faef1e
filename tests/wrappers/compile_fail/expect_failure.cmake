# SPDX-License-Identifier: Apache-2.0
# Compiles SOURCE with -D${USE}. The compilation must fail with text that matches EXPECTED; if EXPECTED is
# empty, it must succeed. If EXPECTED is cushim's own text ("cushim: ..."), it must be the only error.
set(compiler ${CMAKE_COMMAND} -E env LC_ALL=C ${CXX} -std=c++20 -I${INCLUDE} -isystem ${CUDA})
if(EXPECTED STREQUAL "")
  execute_process(COMMAND ${compiler} -x c++-header ${HEADER} -o ${HEADER}.gch COMMAND_ERROR_IS_FATAL ANY)
endif()
execute_process(COMMAND ${compiler} -D${USE} -include ${HEADER} -fsyntax-only ${SOURCE}
  RESULT_VARIABLE result ERROR_VARIABLE output)
if(EXPECTED STREQUAL "")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "does not compile:\n${output}")
  endif()
elseif(result EQUAL 0)
  message(FATAL_ERROR "compiles, and should not")
elseif(NOT output MATCHES "${EXPECTED}")
  message(FATAL_ERROR "fails otherwise than with '${EXPECTED}':\n${output}")
elseif(EXPECTED MATCHES "^cushim: ")
  string(REGEX MATCHALL " error: " errors "${output}")
  list(LENGTH errors count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "fails with ${count} errors instead of one:\n${output}")
  endif()
endif()
