// SPDX-License-Identifier: Apache-2.0
// Files of recorded answers, one line for each case: "SITUATION CALL CHANGE: ANSWER"; and of known
// differences: "SITUATION CALL CHANGE CAUSE", where the cause stands in a line "# CAUSE: explanation".
#pragma once

#include <map>
#include <string>

namespace arguments {

struct RecordedAnswers {
  std::string about;                         // the driver and the device
  std::map<std::string, std::string> texts;  // by case
};

// Returns false for "crash", "hang" and kVaries.
bool is_compared(const std::string &answer);
inline constexpr const char *kVaries = "varies";  // the answers of several runs differed

// Throw std::runtime_error with the file and the line.
void write(const std::string &file, const RecordedAnswers &recorded);
RecordedAnswers read_answers(const std::string &file);
std::map<std::string, std::string> read_known_differences(const std::string &file);  // causes by case

}  // namespace arguments
