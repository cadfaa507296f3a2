// Typed configuration: a schema binds dotted keys to variables; TOML files and key=value settings
// fill them, and every value can be written out.
#pragma once

#include "base/errors/faults.hpp"

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

  /// `key` is dotted ("train.steps"). For strings, `choices` lists the only valid values, unless it
  /// is empty. A key that is bound several times is one setting, and all its variables get the
  /// value.
  void bind(std::string key, Target target, std::string meaning, Range range = {},
            std::vector<std::string> choices = {});
  /// Binds a path for which a list of tables may also be given, as in file = [{path = "a.jsonl",
  /// weight = 2}, "b.jsonl"]. A list is kept in `target` as JSON with sorted keys, and written as
  /// TOML. Its owner checks its content.
  void bind_list(std::string key, std::string* target, std::string meaning);
  enum class Entries { text, typed };
  /// Binds a table whose keys another part of the program knows (`objective.knobs.*`). They are
  /// collected as text, and the other part checks them. Typed entries are kept as TOML writes them,
  /// which for strings, numbers, booleans and lists of them is JSON too: "1.10" stays a string,
  /// 1.10 a number.
  void bind_table(std::string key, KeyValues* target, std::string meaning,
                  Entries entries = Entries::text);

  /// Accepts the name that a bound key had in an earlier release. It is read as that key and noted
  /// in old_names().
  void rename(std::string old_name, std::string key);

  /// Reads a TOML file over the current values. Throws one ConfigError for all mistakes together (a
  /// FaultList), which names file, line, key and the nearest valid key. Correct settings are read
  /// even after a line that is not TOML, as long as that line cannot change their meaning.
  void load(const std::filesystem::path& path);
  void load_text(std::string_view toml, std::string_view origin);
  /// Applies "key=value". The value is TOML. A bare word is taken as a string, and so is anything
  /// without a leading quote if the key holds a string. Throws ConfigError as load() does, and for
  /// a value that begins like a list, a table or a quoted string but is not one.
  void set(std::string_view assignment);

  bool was_set(std::string_view key) const;  ///< whether a file or an assignment gave the key
  /// One message for each old name that was given: where it was given, and its new name.
  const std::vector<std::string>& old_names() const { return old_names_; }
  const Places& places() const {
    return places_;
  }  ///< Where each setting was given, including the entries of open tables.
  /// Every key with its value, and its meaning as a comment. load(to_toml()) changes nothing.
  std::string to_toml() const;
  std::string describe() const;  ///< one line per key for --help: key, default, meaning
  std::vector<std::string> keys() const;

 private:
  struct Field {
    std::string key;
    Target target;
    std::string meaning;
    Range range;
    std::vector<std::string> choices;
    bool takes_list = false;  ///< a list of tables may take the place of a string
  };
  static std::string value_of(const Field& field);  ///< as TOML writes it
  struct Table {
    std::string key;
    KeyValues* target;
    std::string meaning;
    Entries entries;
  };
  struct Reader;
  bool has_prefix(const std::string& prefix) const;
  /// The key that an old name stands for; any other name unchanged.
  const std::string& key_of(const std::string& name) const;
  std::vector<Field> fields_;
  std::vector<Table> tables_;
  std::vector<std::pair<std::string, std::string>> renamed_;  ///< pairs of old name and key
  std::vector<std::string> old_names_;
  Places places_;
  std::uint32_t read_ = 0;  ///< number of texts and assignments so far
};

}  // namespace rollcall
