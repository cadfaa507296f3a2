// Typed configuration: a schema binds dotted keys to variables; TOML files and key=value settings
// fill them, and every value can be written out.
#pragma once

#include "base/faults.hpp"

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
  using Target =
      std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<std::int64_t>*,
                   std::vector<double>*, std::vector<std::string>*>;
  using KeyValues = std::vector<std::pair<std::string, std::string>>;

  /// `key` is dotted ("train.steps"). For strings, a non-empty `choices` lists the only valid
  /// values.
  /// A key bound several times is one setting: all its variables get the value.
  void bind(std::string key, Target target, std::string meaning, Range range = {},
            std::vector<std::string> choices = {});
  enum class Entries { text, typed };
  /// A table whose keys belong to somebody else (`objective.knobs.*`): collected as text, checked
  /// by their owner. Typed entries are kept as they would be written in TOML, which for strings,
  /// numbers, booleans and lists of them is JSON too: "1.10" stays a string, 1.10 a number.
  void bind_table(std::string key, KeyValues* target, std::string meaning,
                  Entries entries = Entries::text);

  /// Another name of a bound key, of an earlier release: read as that key, and noted in
  /// old_names().
  void rename(std::string old_name, std::string key);

  /// Reads a TOML file over the current values. Throws one ConfigError for all that is wrong (a
  /// FaultList), naming file, line, key and the nearest valid key. What is right is read, also
  /// below a line that is no TOML, as far as the rest cannot mean something else without that line.
  void load(const std::filesystem::path& path);
  void load_text(std::string_view toml, std::string_view origin);
  /// Applies "key=value"; the value is TOML, and a bare word is taken as a string. Throws
  /// ConfigError
  /// for a value that begins like a list, a table or a string in quotes and is none.
  void set(std::string_view assignment);

  bool was_set(std::string_view key) const;  ///< by a file or an assignment, to whatever value
  /// A message for each old name that was given: where it stands, and what it is called now.
  const std::vector<std::string>& old_names() const { return old_names_; }
  const Places& places() const {
    return places_;
  }                              ///< of what was set, entries of open tables
                                 ///< included
  std::string to_toml() const;   ///< every key with its value, meaning as comment; load(to_toml())
                                 ///< is the identity
  std::string describe() const;  ///< one line a key for --help: key, default, meaning
  std::vector<std::string> keys() const;

 private:
  struct Field {
    std::string key;
    Target target;
    std::string meaning;
    Range range;
    std::vector<std::string> choices;
  };
  struct Table {
    std::string key;
    KeyValues* target;
    std::string meaning;
    Entries entries;
  };
  struct Reader;
  bool has_prefix(const std::string& prefix) const;
  /// The key of an old name; any other text as it is.
  const std::string& key_of(const std::string& name) const;
  std::vector<Field> fields_;
  std::vector<Table> tables_;
  std::vector<std::pair<std::string, std::string>> renamed_;  ///< old name, key
  std::vector<std::string> old_names_;
  Places places_;
  std::uint32_t read_ = 0;  ///< texts and assignments so far
};

}  // namespace rollcall
