// Reads values from the JSON files of a model folder. Errors name the file, the key and its value.
#include "model/config/config_reader.hpp"

#include "base/errors/error.hpp"
#include "base/text/foreign_json.hpp"
#include "model/config/architectures.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rollcall::model {
namespace {

constexpr std::size_t kLongest = 1 << 18;  // Bytes. Real files have a few kB. The limit is low
                                           // because looking up a key is a linear search.
constexpr const char* kCopy = "copy the file that came with the weights";

/// A value as text. Invalid UTF-8 is replaced, because the file may come from anywhere.
std::string shown(const ConfigReader::Json& value) {
  const std::string text = value.dump(-1, ' ', false, ConfigReader::Json::error_handler_t::replace);
  return text.size() <= 200 ? text : text.substr(0, 200) + "...";
}

}  // namespace

ConfigReader::ConfigReader(const std::string& text, std::string origin)
    : origin_(std::move(origin)) {
  check(text.size() <= kLongest, fmt::format("has {} bytes", text.size()),
        fmt::format("a model is described in {} at most", kLongest), kCopy);
  std::string fault;
  json_ = parse_foreign<Json>(text, fault);
  check(fault.empty(), "cannot be read: " + fault, "it describes the model", kCopy);
}

void ConfigReader::check(bool ok, const std::string& problem, const std::string& why,
                         const std::string& suggestion) const {
  require<InputError>(ok, fmt::format("{} {}", origin_, problem), why, suggestion);
}

void ConfigReader::refuse(const std::string& key, const Json& value, const std::string& why) const {
  check(false, fmt::format("has \"{}\": {}, which cannot be run", key, shown(value)), why,
        fmt::format("use a model of one of the architectures {} without it", architecture_names()));
  throw std::logic_error("check() threw");
}

std::int64_t ConfigReader::integer(const char* key) const {
  check(has(key), fmt::format("has no \"{}\"", key), "the model's shape needs it", kCopy);
  return integer(json_, key);
}

std::int64_t ConfigReader::integer(const Json& table, const char* key) const {
  check(has(table, key), fmt::format("has no \"{}\"", key), "it cannot be guessed", kCopy);
  const Json& value = table.at(key);
  check(value.is_number_integer() && value.get<double>() >= 1 && value.get<double>() <= 1e9,
        fmt::format("has \"{}\": {}", key, shown(value)), "a whole number from 1 to 1e9 is needed",
        kCopy);
  return value.get<std::int64_t>();
}

double ConfigReader::positive(const Json& table, const char* key, double fallback) const {
  return has(table, key) ? positive(table, key) : fallback;
}

double ConfigReader::positive(const Json& table, const char* key) const {
  check(has(table, key), fmt::format("has no \"{}\"", key), "it cannot be guessed", kCopy);
  const Json& value = table.at(key);
  check(value.is_number() && value.get<double>() > 0 && std::isfinite(value.get<double>()),
        fmt::format("has \"{}\": {}", key, shown(value)), "a positive number is needed", kCopy);
  return value.get<double>();
}

bool ConfigReader::boolean(const Json& table, const char* key, bool fallback) const {
  if (!has(table, key)) return fallback;
  check(table.at(key).is_boolean(), fmt::format("has \"{}\": {}", key, shown(table.at(key))),
        "true or false is needed", "correct the value");
  return table.at(key).get<bool>();
}

std::string ConfigReader::word(const Json& table, const char* key,
                               const std::string& fallback) const {
  if (!has(table, key)) return fallback;
  return table.at(key).is_string() ? table.at(key).get<std::string>() : shown(table.at(key));
}

}  // namespace rollcall::model
