// Typed configuration: a schema binds dotted keys to variables; TOML files and key=value settings fill them, and every value can be written out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rollcall {

/// Allowed values of a number; both ends included.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// A table of (key, variable, meaning). The variables' values at binding time are the defaults.
class ConfigSchema {
 public:
  using Target = std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<std::int64_t>*, std::vector<double>*, std::vector<std::string>*>;
  using KeyValues = std::vector<std::pair<std::string, std::string>>;

  /// `key` is dotted ("train.steps"). For strings, a non-empty `choices` lists the only valid values.
  /// A key bound several times is one setting: all its variables get the value.
  void bind(std::string key, Target target, std::string meaning, Range range = {}, std::vector<std::string> choices = {});
  enum class Entries { text, typed };
  /// A table whose keys belong to somebody else (`objective.knobs.*`): collected as text, checked by their owner. Typed entries are kept as they would be
  /// written in TOML, which for strings, numbers, booleans and lists of them is JSON too: "1.10" stays a string, 1.10 a number.
  void bind_table(std::string key, KeyValues* target, std::string meaning, Entries entries = Entries::text);

  /// Reads a TOML file over the current values. Throws ConfigError naming file, line, key and the nearest valid key.
  void load(const std::filesystem::path& path);
  void load_text(std::string_view toml, std::string_view origin);
  /// Applies "key=value"; the value is TOML, and bare words are taken as strings.
  void set(std::string_view assignment);

  bool was_set(std::string_view key) const;  ///< by a file or an assignment, to whatever value
  std::string to_toml() const;               ///< every key with its value, meaning as comment; load(to_toml()) is the identity
  std::string describe() const;              ///< one line a key for --help: key, default, meaning
  std::vector<std::string> keys() const;

 private:
  struct Field {
    std::string key;
    Target target;
    std::string meaning;
    Range range;
    std::vector<std::string> choices;
    bool set = false;
  };
  struct Table {
    std::string key;
    KeyValues* target;
    std::string meaning;
    Entries entries;
  };
  struct Reader;
  bool has_prefix(const std::string& prefix) const;
  std::vector<Field> fields_;
  std::vector<Table> tables_;
};

}  // namespace rollcall
