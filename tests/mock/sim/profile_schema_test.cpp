// SPDX-License-Identifier: Apache-2.0
// Checks that the JSON schema of profiles accepts the same keys and values as the reader.
#include <gtest/gtest.h>
#include <cushim/sim/profile.hpp>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "profile/profile_file.hpp"

namespace cushim::sim {
namespace {

using Json = nlohmann::json;

Json file(const std::string &name) {
  std::ifstream stream(CUSHIM_PROFILES "/" + name + ".json");
  if (!stream) throw std::runtime_error("there is no " + name + ".json");
  return Json::parse(stream);
}

const Json &schema() {
  static const Json all = file("schema");
  return all;
}

// Returns the schema of a kind of object.
const Json &part(const std::string &kind) {
  const Json &defs = schema().at("$defs");
  if (kind == "values") return defs.at("device").at("properties").at("values").at("items");
  if (kind == "links") return defs.at("machine").at("properties").at("links").at("items");
  return defs.at(kind);
}

bool is_of_type(const Json &value, const std::string &type) {
  if (type == "integer") return value.is_number_integer();
  return type == (value.is_number() ? "number" : std::string(value.type_name()));
}

bool fits(const Json &value, const Json &as);

// Returns whether a value satisfies one keyword of a schema. Supports the keywords that our schema uses;
// throws at any other.
bool obeys(const Json &value, const Json &as, const std::string &word, const Json &what) {
  if (word == "$ref") return fits(value, schema().at(Json::json_pointer(what.get<std::string>().substr(1))));
  if (word == "oneOf")
    return std::ranges::count_if(what, [&](const Json &one) { return fits(value, one); }) == 1;
  if (word == "enum") return std::ranges::find(what, value) != what.end();
  if (word == "type") return is_of_type(value, what);
  if (word == "minimum") return !value.is_number() || value >= what;
  if (word == "exclusiveMinimum") return !value.is_number() || value > what;
  if (word == "maximum") return !value.is_number() || value <= what;
  if (word == "minLength") return !value.is_string() || value.get<std::string>().size() >= what;
  if (word == "pattern")
    return !value.is_string() ||
           std::regex_search(value.get<std::string>(), std::regex(what.get<std::string>()));
  if (word == "items")
    return !value.is_array() || std::ranges::all_of(value, [&](const Json &one) { return fits(one, what); });
  if (word == "minItems") return !value.is_array() || value.size() >= what;
  if (word == "uniqueItems") return !value.is_array() || value.size() < 2 || value[0] != value[1];
  if (word == "maxItems") return !value.is_array() || value.size() <= what;
  if (word == "required")
    return !value.is_object() ||
           std::ranges::all_of(what, [&](const Json &key) { return value.contains(key); });
  if (word == "propertyNames") {
    if (!value.is_object()) return true;
    for (const auto &[key, member] : value.items())
      if (!fits(key, what)) return false;
    return true;
  }
  if (word == "properties" || word == "additionalProperties") {
    if (!value.is_object()) return true;
    for (const auto &[key, member] : value.items()) {
      const bool is_named = as.contains("properties") && as.at("properties").contains(key);
      if (word == "properties" && is_named && !fits(member, what.at(key))) return false;
      if (word == "additionalProperties" && !is_named && (what == false || !fits(member, what))) return false;
    }
    return true;
  }
  if (word == "$schema" || word == "$comment" || word == "$defs" || word == "title" || word == "description")
    return true;
  throw std::runtime_error("the test does not know the schema's word " + word);
}

bool fits(const Json &value, const Json &as) {
  for (const auto &[word, what] : as.items())
    if (!obeys(value, as, word, what)) return false;
  return true;
}

bool is_read(const Json &text) try {
  read_machine(text.dump(), "mine.json");
  return true;
} catch (const std::invalid_argument &) {
  return false;
}

TEST(ProfileSchema, Has_the_keys_that_the_reader_knows) {
  for (auto [kind, keys] : known_keys()) {
    std::vector<std::string> in_schema;
    for (const auto &[key, value] : part(kind).at("properties").items()) in_schema.push_back(key);
    std::ranges::sort(keys);
    std::ranges::sort(in_schema);
    EXPECT_EQ(in_schema, keys) << kind;
    EXPECT_EQ(part(kind).at("additionalProperties"), false) << kind;
  }
}

TEST(ProfileSchema, Fits_the_files_of_the_built_in_devices) {
  for (const Profile &profile : profiles()) EXPECT_TRUE(fits(file(profile.id), schema())) << profile.id;
  Json wrong = file("h200");
  wrong["costs"]["set"] = 0;
  EXPECT_FALSE(fits(wrong, schema()));
}

// Returns values of all types, some out of range.
const std::vector<Json> &examples() {
  static const std::vector<Json> all = [] {
    std::vector<Json> made = {nullptr, true,     -1,  0,          4096,          -1.5,
                              0.5,     "",       "x", "measured", Json::array(), Json::object(),
                              1e300,   INT64_MAX};
    for (const Profile &profile : profiles()) made.emplace_back(profile.id);
    return made;
  }();
  return all;
}

TEST(ProfileSchema, Takes_the_values_that_the_reader_takes) {
  int taken = 0;
  const auto compare = [&](const Json::json_pointer &place) {
    for (const Json &example : examples()) {
      // "least" is INT32_MAX, so that any "greatest" is a higher priority.
      Json device = {{"id", "mine"}, {"like", "h200"}, {"stream_priorities", {{"least", INT32_MAX}}}};
      device[place] = example;
      EXPECT_EQ(fits(device, schema()), is_read(device)) << device.dump();
      taken += is_read(device) ? 1 : 0;
    }
  };
  for (const std::string &key : known_keys().at("device"))
    if (key != "like") compare(Json::json_pointer("/" + key));
  for (const char *kind : {"peer", "limits", "costs", "stream_priorities"})
    for (const std::string &key : known_keys().at(kind))
      compare(Json::json_pointer("/" + std::string(kind) + "/" + key));
  compare(Json::json_pointer("/like"));
  compare(Json::json_pointer("/attributes/multiprocessor_count"));
  EXPECT_GT(taken, 50);
}

TEST(ProfileSchema, Takes_the_machines_that_the_reader_takes) {
  const Json device = {{"id", "mine"}, {"like", "h200"}};
  const auto machine = [&](const Json &with) {
    Json made = {{"devices", {"h200x2", device}}};
    made.update(with);
    return made;
  };
  const auto link = [&](const Json &with) {
    Json made = {{"between", {0, 1}}};
    made.update(with);
    return machine({{"links", Json::array({made})}});
  };
  std::vector<Json> machines = {machine({{"devices", Json::array()}}), machine({{"links", {Json::object()}}}),
                                link({{"between", {0}}})};
  for (const Json &example : examples()) {
    machines.push_back(machine({{"driver", example}}));
    for (const std::string &key : known_keys().at("links")) machines.push_back(link({{key, example}}));
  }
  for (const int version : {10999, 11000, 13990, 13991}) machines.push_back(machine({{"driver", version}}));
  for (const Json &one : machines) EXPECT_EQ(fits(one, schema()), is_read(one)) << one.dump();
}

}  // namespace
}  // namespace cushim::sim
