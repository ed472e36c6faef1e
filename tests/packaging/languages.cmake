# SPDX-License-Identifier: Apache-2.0
# The C API compiles without warnings in every C and C++ standard. The C++ API reports a standard older than
# C++20 in a single error. C libraries other than glibc are rejected. The compiler only parses.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
set(flags -Wall -Wextra -pedantic -fsyntax-only -I${SOURCE}/include -isystem ${HEADERS})
file(WRITE ${WORK}/face.c "#include <cushim/load.h>\n\
int main(void) { return cushim_driver()->cuInit(0) == CUDA_SUCCESS && cushim_load(0, 0) != 0; }\n")
file(WRITE ${WORK}/face.cpp "#include <cushim/load.h>\n\
int main() { return cushim_driver()->cuInit(0) == CUDA_SUCCESS && cushim_load(0, 0) != 0; }\n")
foreach(standard c99 c11 c17)  # as with pkg-config, whose flags set no standard
  run(${C} -std=${standard} -Werror ${flags} ${WORK}/face.c)
endforeach()
foreach(standard c++11 c++14 c++17 c++20)
  run(${CXX} -std=${standard} -Werror ${flags} ${WORK}/face.cpp)
endforeach()

# expect_error(<text> <command>...): expects a single #error with this text, and no other error
function(expect_error text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX MATCHALL "error:" errors "${output}")
  list(LENGTH errors count)
  if(code EQUAL 0 OR NOT output MATCHES "${text}" OR count GREATER 2)
    list(JOIN ARGN " " words)
    string(SUBSTRING "${output}" 0 2000 output)
    message(FATAL_ERROR "${words}\nended with ${code} and ${count} errors:\n${output}")
  endif()
endfunction()

file(GLOB headers RELATIVE ${SOURCE}/include ${SOURCE}/include/cushim/*.hpp)
foreach(header IN LISTS headers)
  file(WRITE ${WORK}/header.cpp "#include <${header}>\n")
  expect_error("needs? C\\+\\+20" ${CXX} -std=c++17 ${flags} ${WORK}/header.cpp)
endforeach()

file(WRITE ${WORK}/other_libc/features.h "/* of a C library that is not glibc */\n")
expect_error("with glibc" ${C} -fsyntax-only -nostdinc -I${WORK}/other_libc -I${SOURCE}/include ${WORK}/face.c)
