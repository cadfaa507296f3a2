// Private to the model: typed access to a JSON file of a model folder. Errors name the file, the
// key and its value.
#pragma once

#include "base/text/json.hpp"

#include <cstdint>
#include <string>

namespace rollcall::model {

/// Every access throws InputError if the value has the wrong type or is out of range.
class ConfigReader {
 public:
  using Json = nlohmann::ordered_json;

  /// Throws InputError when the text is not a JSON object. `origin`: what messages call the file.
  ConfigReader(const std::string& text, std::string origin);

  const Json& root() const { return json_; }
  const std::string& origin() const { return origin_; }
  static bool has(const Json& table, const char* key) {
    return table.contains(key) && !table.at(key).is_null();
  }
  bool has(const char* key) const { return has(json_, key); }
  /// Whether the file lacks the key. A key whose value is null is not absent.
  bool is_absent(const char* key) const { return !json_.contains(key); }

  void check(bool ok, const std::string& problem, const std::string& why,
             const std::string& suggestion) const;
  /// Throws InputError for a value that the engine does not support. The message lists the
  /// architectures that it supports.
  [[noreturn]] void refuse(const std::string& key, const Json& value, const std::string& why) const;

  std::int64_t integer(const char* key) const;  ///< from 1 to 1e9; the key is required
  std::int64_t integer(const char* key, std::int64_t fallback) const {
    return has(key) ? integer(json_, key) : fallback;
  }
  std::int64_t integer(const Json& table, const char* key) const;
  double positive(const Json& table, const char* key, double fallback) const;
  double positive(const Json& table, const char* key) const;  ///< the key is required
  bool boolean(const Json& table, const char* key, bool fallback) const;
  std::string word(const Json& table, const char* key, const std::string& fallback) const;

 private:
  Json json_;
  std::string origin_;
};

}  // namespace rollcall::model
