# SPDX-License-Identifier: Apache-2.0
# A program with a static cushim loads a plugin with a static cushim of another version. Each copy is
# independent, and each lists both. DRIVER is a fake driver of CUDA 12.4.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
set(other ${WORK}/other)
file(COPY ${SOURCE}/include ${SOURCE}/shim DESTINATION ${other})
file(READ ${other}/include/cushim/version.h header)
string(REGEX REPLACE "(VERSION_MINOR) [0-9]+" "\\1 97" header "${header}")
file(WRITE ${other}/include/cushim/version.h "${header}")

function(build_copy from to)
  file(GLOB sources ${from}/shim/*.c ${from}/shim/*.S ${from}/shim/dropin/*.c ${from}/shim/dropin/*.S)
  run(${C} -std=gnu11 -fPIC -fvisibility=hidden -I${from}/include -isystem ${HEADERS} ${ARGN} ${sources} -ldl -o ${to})
endfunction()
build_copy(${other} ${WORK}/plugin.so -shared ${CMAKE_CURRENT_LIST_DIR}/two_versions/plugin.c)
build_copy(${SOURCE} ${WORK}/program -rdynamic ${CMAKE_CURRENT_LIST_DIR}/two_versions/program.c)

execute_process(COMMAND ${CMAKE_COMMAND} -E env CUSHIM_LIBRARY=none ${WORK}/program ${WORK}/plugin.so ${DRIVER}
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "^([0-9]+)\\.[0-9]+\\." "\\1.97." other_version "${VERSION}")
foreach(line
    "program [^\n]*/program ${VERSION} its own"
    "program [^\n]*/plugin.so ${other_version}"
    "plugin [^\n]*/program ${VERSION}"
    "plugin [^\n]*/plugin.so ${other_version} its own"
    "program calls 0 version 12040, plugin calls 303 version 0")
  if(NOT code EQUAL 0 OR NOT output MATCHES "(^|\n)${line}\n")
    message(FATAL_ERROR "no line '${line}' in (${code}):\n${output}")
  endif()
endforeach()
