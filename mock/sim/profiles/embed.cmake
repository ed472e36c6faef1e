# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, the texts of the built-in profiles (PROFILES) and the names of the attributes as HEADER
# declares them, so that there is no list of either beside the files.
set(text "// SPDX-License-Identifier: Apache-2.0\n// Generated.\n#include \"built_in.hpp\"\n\nnamespace cushim::sim {\n")
string(APPEND text "\nconst std::vector<BuiltIn> &built_in_files() {\n  static const std::vector<BuiltIn> all = {\n")
foreach(file IN LISTS PROFILES)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" json)
  string(APPEND text "{\"${name}\", R\"json(${json})json\"},\n")
endforeach()
string(APPEND text "};\n  return all;\n}\n\nconst std::map<int, std::string> &built_in_attribute_names() {\n  static const std::map<int, std::string> all = {\n")
file(READ "${HEADER}" header)
string(REGEX MATCHALL "DeviceAttribute<[^>]+>[ \n]+[a-z0-9_]+{[ \n]*[0-9]+" found "${header}")
foreach(declaration IN LISTS found)
  string(REGEX REPLACE ".*>[ \n]+([a-z0-9_]+){[ \n]*([0-9]+)" "{\\2, \"\\1\"},\n" row "${declaration}")
  string(APPEND text "${row}")
endforeach()
string(APPEND text "};\n  return all;\n}\n\n}  // namespace cushim::sim\n")
file(WRITE "${OUTPUT}" "${text}")
