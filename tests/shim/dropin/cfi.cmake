# SPDX-License-Identifier: Apache-2.0
# Builds the shim, the drop-in and a program with Clang's control-flow integrity. Calls through the table and
# through looked-up pointers must be allowed, a call with a wrong type must not.
#   CLANG, SOURCE, HEADERS, WORK, DRIVER (a library to load)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
file(GLOB shim ${SOURCE}/shim/*.c ${SOURCE}/shim/lazy.S ${SOURCE}/shim/dropin/entries.S ${SOURCE}/shim/dropin/lookup.c)
set(flags -O1 -flto -fsanitize=cfi -fvisibility=hidden -fno-sanitize-trap=cfi -fno-sanitize-recover=cfi
  -fuse-ld=lld -I${SOURCE}/include -isystem ${HEADERS})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(code ${code} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(objects "")
foreach(source IN LISTS shim)
  get_filename_component(name ${source} NAME)
  run(${CLANG} ${flags} -c ${source} -o ${WORK}/${name}.o)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${name} does not compile:\n${output}")
  endif()
  list(APPEND objects ${WORK}/${name}.o)
endforeach()
run(${CLANG}++ -std=c++20 ${flags} ${CMAKE_CURRENT_LIST_DIR}/cfi.cpp ${objects} -ldl -o ${WORK}/program)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "The program does not link:\n${output}")
endif()

set(ENV{CUSHIM_LIBRARY} ${DRIVER})
run(${WORK}/program)
if(NOT code EQUAL 0 OR NOT output MATCHES "drop-in 0 pointer 0 looked up 0 wrapper 0 driver 12040")
  message(FATAL_ERROR "The program ended with ${code}:\n${output}")
endif()
run(${WORK}/program wrong)
if(code EQUAL 0 OR NOT output MATCHES "control flow integrity check|cfi-icall")
  message(FATAL_ERROR "A call by a wrong type was not stopped (${code}):\n${output}")
endif()
