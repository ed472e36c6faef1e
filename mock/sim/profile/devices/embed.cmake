# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT: the texts of the built-in profiles (PROFILES), and the names of the attributes that HEADER
# declares, so that C++ code repeats neither.
set(text "// SPDX-License-Identifier: Apache-2.0\n// Generated.\n#include \"profile/built_in.hpp\"\n\nnamespace cushim::sim {\n")
string(APPEND text "\nconst std::vector<BuiltIn> &built_in_files() {\n  static const auto &all = *new std::vector<BuiltIn>{\n")
foreach(file IN LISTS PROFILES)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" json)
  string(APPEND text "{\"${name}\", R\"json(${json})json\"},\n")
endforeach()
string(APPEND text "};\n  return all;\n}\n\nconst std::map<int, std::string> &built_in_attribute_names() {\n  static const auto &all = *new std::map<int, std::string>{\n")
file(READ "${HEADER}" header)
string(REGEX MATCHALL "DeviceAttribute<[^>]+>[ \n]+[a-z0-9_]+{[ \n]*[0-9]+" found "${header}")
foreach(declaration IN LISTS found)
  string(REGEX REPLACE ".*>[ \n]+([a-z0-9_]+){[ \n]*([0-9]+)" "{\\2, \"\\1\"},\n" row "${declaration}")
  string(APPEND text "${row}")
endforeach()
string(APPEND text "};\n  return all;\n}\n\n}  // namespace cushim::sim\n")
file(WRITE "${OUTPUT}" "${text}")
