// A JSON object in a file of a model folder. Every message about a fault names the file.
#pragma once

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>

namespace rollcall::text {

class FolderFile {
 public:
  /// Keys keep their order in the file, because templates print objects and new tokens get ids in
  /// that order.
  using Json = nlohmann::ordered_json;

  FolderFile() = default;  ///< an empty object
  /// An empty object if there is no such file. Throws InputError for a file that is not a JSON
  /// object, or is nested too deeply.
  FolderFile(const std::filesystem::path& folder, const char* name);

  bool exists() const { return exists_; }
  const Json& whole() const { return json_; }
  const Json& at(const char* key) const;  ///< null if it is missing
  bool contains(const char* key) const { return json_.contains(key); }
  std::string name() const { return path_.string(); }

  [[noreturn]] void refuse(const std::string& fault) const;
  bool check(bool ok, const std::string& fault) const {
    if (!ok) refuse(fault);
    return ok;
  }

  /// A number or a boolean; nothing if it is missing or null.
  template <class T>
  std::optional<T> number(const char* key) const {
    const Json& value = at(key);
    if (value.is_null()) return std::nullopt;
    if constexpr (std::is_same_v<T, bool>)
      check(value.is_boolean(), fmt::format("\"{}\" is neither true nor false", key));
    else if constexpr (std::is_integral_v<T>)
      check(value.is_number_integer() &&
                (!value.is_number_unsigned() || value.get<std::uint64_t>() >> 62 == 0),
            fmt::format("\"{}\" is not a whole number", key));
    else check(value.is_number(), fmt::format("\"{}\" is not a number", key));
    return value.get<T>();
  }

 private:
  std::filesystem::path path_;
  bool exists_ = false;
  Json json_ = Json::object();
};

}  // namespace rollcall::text
