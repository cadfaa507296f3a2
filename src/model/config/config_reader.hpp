// Private to the model: a JSON file of a model folder with typed access; what is wrong with it is
// said with file, key and value.
#pragma once

#include "base/json.hpp"

#include <cstdint>
#include <string>

namespace rollcall::model {

class ConfigReader {
 public:
  using Json = nlohmann::ordered_json;

  /// Throws InputError when the text is no JSON object.
  ConfigReader(const std::string& text, std::string origin);

  const Json& root() const { return json_; }
  const std::string& origin() const { return origin_; }
  static bool has(const Json& table, const char* key) {
    return table.contains(key) && !table.at(key).is_null();
  }
  bool has(const char* key) const { return has(json_, key); }
  /// null is not absent: it is none
  bool is_absent(const char* key) const { return !json_.contains(key); }

  void check(bool ok, const std::string& problem, const std::string& why,
             const std::string& suggestion) const;
  /// A key that the engine does not run, with the list of what it does.
  [[noreturn]] void refuse(const std::string& key, const Json& value, const std::string& why) const;

  std::int64_t integer(const char* key) const;  ///< from 1 to 1e9, required
  std::int64_t integer(const char* key, std::int64_t fallback) const {
    return has(key) ? integer(json_, key) : fallback;
  }
  std::int64_t integer(const Json& table, const char* key) const;
  double positive(const Json& table, const char* key, double fallback) const;
  double positive(const Json& table, const char* key) const;  ///< required
  bool boolean(const Json& table, const char* key, bool fallback) const;
  std::string word(const Json& table, const char* key, const std::string& fallback) const;

 private:
  Json json_;
  std::string origin_;
};

}  // namespace rollcall::model
