// The schema's reader and writer, on toml++.
#include "base/text/config.hpp"

#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "base/errors/nearest.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/text/joined.hpp"
#include "base/text/json.hpp"
#include "base/text/toml_text.hpp"
#include "base/text/toml_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <map>
#include <sstream>
#include <type_traits>

namespace rollcall {
namespace {

bool is_assignment(std::string_view origin) { return origin.starts_with("--set "); }

std::string place(std::string_view origin, const toml::node& node) {
  const bool in_file = node.source().begin && !is_assignment(origin);
  return in_file ? fmt::format("{}:{}", origin, node.source().begin.line) : brief(origin);
}

[[noreturn]] void reject(std::string_view origin, const toml::node& node, std::string_view key,
                         std::string_view problem, std::string_view why,
                         std::string_view suggestion) {
  throw ConfigError(error_message(
      fmt::format("{}: {} {}", place(origin, node), brief(key), problem), why, suggestion));
}

/// Whether text that is not an integer in TOML would be one if it were smaller.
bool is_large_number(std::string_view text) {
  constexpr std::size_t kDigits = 19;  // of the largest
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.size() >= kDigits && text.find_first_not_of("0123456789_") == std::string_view::npos;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The error for a value of --set that begins like a list, a table or a quoted string but does not
/// end like one. A shell removes double quotes that have nothing around them.
std::string broken_value(std::string_view origin, const std::string& value,
                         std::string_view description) {
  const char first = value.front();
  const char* const kind = first == '[' ? "list" : first == '{' ? "table" : "text in quotes";
  const std::string remedy =
      first == '['
          ? "write its texts in double quotes and close it, as in --set 'sampling.stop=[\"a\", \"b\"]', with single quotes for the shell"
      : first == '{'
          ? "write each entry as key = value and close it, with single quotes around all of it for the shell"
          : "close the quotes, and put single quotes around all of it for the shell";
  return error_message(fmt::format("{}: {}", brief(origin), brief(description)),
                       fmt::format("a value that begins like a {} is read as one", kind), remedy);
}

std::atomic<KeyHint> key_hint = nullptr;  // atomic, because ranks may be threads

/// "train." of train.lr; empty for a key without a section.
std::string parent_of(const std::string& key) { return key.substr(0, key.rfind('.') + 1); }
std::string leaf_of(const std::string& key) { return key.substr(key.rfind('.') + 1); }

/// The keys of other sections with the same name within their section. A short name that several
/// sections have, such as `name` or `file`, does not show what is meant.
std::vector<std::string> namesakes(const std::string& key, const std::vector<std::string>& keys) {
  constexpr std::size_t kTelling = 5;  // letters
  std::vector<std::string> alike;
  bool is_section = false;
  for (const auto& name : keys) {
    is_section |= name.starts_with(parent_of(key));
    if (leaf_of(name) == leaf_of(key)) alike.push_back(name);
  }
  const bool telling = alike.size() == 1 || leaf_of(key).size() >= kTelling;
  return telling || parent_of(key).empty() || !is_section ? alike : std::vector<std::string>();
}

/// Suggests a key: by its name in another program, by its name in another section, or by similar
/// letters. Two keys of one section are as near as their names within it.
std::string suggest_key(const std::string& key, const std::vector<std::string>& keys) {
  if (const KeyHint hint = key_hint; hint != nullptr)
    if (std::string said = hint(key); !said.empty()) return said;
  if (const auto alike = namesakes(key, keys); !alike.empty())
    return fmt::format("did you mean {}?", joined(alike, " or "));
  const std::string nearest = nearest_name(key, keys);
  const bool beside = parent_of(nearest) == parent_of(key);
  return beside && !is_near(leaf_of(key), leaf_of(nearest)) ? valid_names(keys)
                                                            : suggest_name(key, keys);
}

/// The strings that a setting may have, as a message names them, with the empty one in quotes.
std::vector<std::string> shown(std::vector<std::string> choices) {
  std::replace(choices.begin(), choices.end(), std::string(), std::string("\"\""));
  return choices;
}

/// The keys that a message names. If one of them was misspelt, the user has not set it.
std::vector<std::string> named_in(const std::string& sentence,
                                  const std::vector<std::string>& keys) {
  std::vector<std::string> named;
  for (const auto& key : keys)
    if (find_name(sentence, key) != std::string::npos) named.push_back(key);
  return named;
}

struct Print {
  std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
  std::string operator()(const std::int64_t* v) const { return fmt::format("{}", *v); }
  std::string operator()(const double* v) const { return toml_number(*v); }
  std::string operator()(const std::string* v) const { return toml_string(*v); }
  std::string operator()(const std::vector<std::int64_t>* v) const {
    return fmt::format("[{}]", fmt::join(*v, ", "));
  }
  std::string operator()(const std::vector<double>* v) const {
    std::vector<std::string> parts;
    for (const double x : *v) parts.push_back(toml_number(x));
    return fmt::format("[{}]", joined(parts, ", "));
  }
  std::string operator()(const std::vector<std::string>* v) const {
    std::vector<std::string> parts;
    for (const auto& s : *v) parts.push_back(toml_string(s));
    return fmt::format("[{}]", joined(parts, ", "));
  }
};

}  // namespace

/// Assigns TOML nodes to fields, with the origin for messages.
struct ConfigSchema::Reader {
  ConfigSchema& schema;
  std::string_view origin;

  std::vector<Fault> faults{};

  void read(const toml::table& node) { table(node, ""); }

  /// Throws one ConfigError for all mistakes.
  void finish() {
    for (Fault& fault : faults) fault.order.first = schema.read_;
    ++schema.read_;
    require_no_faults<ConfigError>(std::move(faults));
  }

  void table(const toml::table& node, const std::string& prefix) {
    for (const auto& [name, value] : node) {
      const std::string key =
          prefix.empty() ? std::string(name.str()) : fmt::format("{}.{}", prefix, name.str());
      try {
        entry(key, value);
      } catch (const ConfigError& error) {
        note({.message = error.what(), .keys = {key}}, value);
      }
    }
  }

  void note(Fault fault, const toml::node& value) {
    fault.is_placed = true, fault.order.second = value.source().begin.line;
    faults.push_back(std::move(fault));
  }

  void note_place(const std::string& key, const toml::node& value) {
    const bool assigned = is_assignment(origin);
    schema.places_[key] = {
        place(origin, value), {schema.read_, assigned ? 0 : value.source().begin.line}, assigned};
  }

  void entry(const std::string& name, const toml::node& value) {
    const std::string& key = schema.key_of(name);
    // TOML itself refuses a repeated key, so this is a key given along with its old name.
    if (const auto given = schema.places_.find(key);
        given != schema.places_.end() && given->second.order.first == schema.read_)
      reject(origin, value, name, fmt::format("is given too, as {}", given->second.text),
             fmt::format("both are {}, and one of them would be ignored", key), "leave it out");
    if (key != name) {
      const std::string said =
          fmt::format("{}: {} is called {} now", place(origin, value), name, key);
      schema.old_names_.push_back(error_message(said, "the old name goes with the next release",
                                                fmt::format("write {}", key)));
    }
    const auto open = std::find_if(schema.tables_.begin(), schema.tables_.end(),
                                   [&](const Table& t) { return t.key == key; });
    if (open != schema.tables_.end() && value.is_table()) {
      for (const auto& [knob, text] : *value.as_table())
        open_entry(*open, std::string(knob.str()), text);
    } else if (assign_all(key, value)) {
      return;
    } else if (value.is_table() && (schema.has_prefix(key) || !value.as_table()->empty())) {
      // every key of an unknown section is wrong, and the section is the better one to report
      table(*value.as_table(), key);
    } else {
      const std::string suggestion = suggest_key(key, schema.keys());
      const std::string problem =
          fmt::format("{}: {} is not a key of the run file", place(origin, value), brief(key));
      note({.message =
                error_message(problem, "a misspelt key would silently change nothing", suggestion),
            .keys = named_in(suggestion, schema.keys())},
           value);
    }
  }

  void open_entry(Table& open, const std::string& knob, const toml::node& value) {
    // surrogate.clip_high = 0.28 is a table within the table for TOML
    if (open.entries == Entries::text && value.is_table() && !value.as_table()->empty()) {
      for (const auto& [name, inner] : *value.as_table())
        open_entry(open, fmt::format("{}.{}", knob, name.str()), inner);
      return;
    }
    const std::string key = open.key + "." + knob;
    note_place(key, value);
    const std::string text =
        open.entries == Entries::typed ? typed_text(key, value) : plain_text(key, value);
    // Keeps the entries sorted by name, so that the written run file does not depend on the order
    // of the settings.
    const auto at =
        std::lower_bound(open.target->begin(), open.target->end(), knob,
                         [](const auto& kv, const std::string& name) { return kv.first < name; });
    if (at != open.target->end() && at->first == knob) at->second = text;
    else open.target->emplace(at, knob, text);
  }

  std::string plain_text(const std::string& key, const toml::node& value) const {
    std::ostringstream list;
    if (value.is_string()) return *value.value<std::string>();
    if (!value.is_array()) return scalar_text(key, value);
    list << toml::toml_formatter(*value.as_array());
    return list.str();
  }

  std::string typed_text(const std::string& key, const toml::node& value) const {
    if (value.is_string()) return toml_string(*value.value<std::string>());
    if (value.is_floating_point() && !std::isfinite(*value.value<double>()))
      reject(origin, value, key, "is not a finite number",
             "JSON, by which it is passed on, has no other",
             "write it in quotes if it is meant as text");
    if (!value.is_array()) return scalar_text(key, value);
    std::vector<std::string> items;
    for (const auto& item : *value.as_array()) items.push_back(typed_text(key, item));
    return fmt::format("[{}]", joined(items, ", "));
  }

  std::string scalar_text(const std::string& key, const toml::node& value) const {
    if (value.is_integer()) return fmt::format("{}", *value.value<std::int64_t>());
    if (value.is_number()) return toml_number(*value.value<double>());
    if (value.is_boolean()) return *value.value<bool>() ? "true" : "false";
    reject(origin, value, key, "is not a number, a boolean, a word or a list of them",
           "its owner takes plain values", "write a plain value; a date or a time goes in quotes");
  }

  bool assign_all(const std::string& key, const toml::node& node) {
    bool found = false;
    for (const Field& field : schema.fields_) {
      if (field.key != key) continue;
      note_place(key, node);
      assign(field, node);
      found = true;
    }
    return found;
  }

  void assign(const Field& field, const toml::node& node) const {
    std::visit([&](auto* target) { assign_to(field, *target, node); }, field.target);
  }

  void check_range(const Field& f, const toml::node& node, double v) const {
    if (!(v >= f.range.low && v <= f.range.high)) {
      reject(origin, node, f.key, fmt::format("is {}", v), f.meaning,
             fmt::format("use a value from {} to {}", f.range.low, f.range.high));
    }
  }
  [[noreturn]] void wrong_type(const Field& f, const toml::node& node,
                               std::string_view wanted) const {
    reject(origin, node, f.key, fmt::format("must be {}", wanted), f.meaning,
           fmt::format("write for example {} = {}", f.key, value_of(f)));
  }

  void assign_to(const Field& f, bool& target, const toml::node& node) const {
    if (!node.is_boolean()) wrong_type(f, node, "true or false");
    target = *node.value<bool>();
  }
  void assign_to(const Field& f, std::int64_t& target, const toml::node& node) const {
    if (node.is_string() && is_large_number(*node.value<std::string>()))  // too large for TOML
      reject(origin, node, f.key, fmt::format("is {}", brief(*node.value<std::string>())),
             fmt::format("the largest whole number is {}", INT64_MAX), "write a smaller number");
    if (!node.is_integer()) wrong_type(f, node, "an integer");
    check_range(f, node, double(*node.value<std::int64_t>()));
    target = *node.value<std::int64_t>();
  }
  void assign_to(const Field& f, double& target, const toml::node& node) const {
    if (!node.is_number()) wrong_type(f, node, "a number");
    check_range(f, node, *node.value<double>());
    target = *node.value<double>();
  }
  /// A value within a list of tables, as JSON.
  nlohmann::json json_of(const Field& f, const toml::node& node) const {
    if (node.is_string()) return *node.value<std::string>();
    if (node.is_integer()) return *node.value<std::int64_t>();
    if (node.is_boolean()) return *node.value<bool>();
    if (node.is_number() && std::isfinite(*node.value<double>())) return *node.value<double>();
    if (const auto* const list = node.as_array()) {
      auto items = nlohmann::json::array();
      for (const auto& item : *list) items.push_back(json_of(f, item));
      return items;
    }
    if (!node.is_table())
      reject(origin, node, f.key, "holds a value that is no text, number, boolean, list or table",
             f.meaning, "put a date or a time in quotes");
    auto members = nlohmann::json::object();
    for (const auto& [key, value] : *node.as_table())
      members[std::string(key.str())] = json_of(f, value);
    return members;
  }

  void assign_to(const Field& f, std::string& target, const toml::node& node) const {
    if (f.takes_list && node.is_array()) {
      target = json_of(f, node).dump();
      return;
    }
    if (!node.is_string()) wrong_type(f, node, "text in quotes");
    const std::string value = *node.value<std::string>();
    if (!f.choices.empty() &&
        std::find(f.choices.begin(), f.choices.end(), value) == f.choices.end()) {
      reject(origin, node, f.key, fmt::format("is \"{}\"", brief(value)), f.meaning,
             suggest_name(value, shown(f.choices)));
    }
    target = value;
  }
  template <class T>
  void assign_to(const Field& f, std::vector<T>& target, const toml::node& node) const {
    if constexpr (std::is_same_v<T, std::string>) {
      if (node.is_string()) {  // a single word is a list of one
        target.assign(1, *node.value<std::string>());
        return;
      }
    }
    if (!node.is_array()) wrong_type(f, node, "a list");
    std::vector<T> values;
    for (const auto& item : *node.as_array()) {
      T value{};
      assign_to(f, value, item);
      values.push_back(std::move(value));
    }
    target = std::move(values);
  }
};

void ConfigSchema::bind(std::string key, Target target, std::string meaning, Range range,
                        std::vector<std::string> choices) {
  fields_.push_back({std::move(key), target, std::move(meaning), range, std::move(choices)});
}

void ConfigSchema::bind_list(std::string key, std::string* target, std::string meaning) {
  fields_.push_back({std::move(key), target, std::move(meaning), {}, {}, true});
}

std::string ConfigSchema::value_of(const Field& field) {
  const auto* const* const text = std::get_if<std::string*>(&field.target);
  if (field.takes_list && text != nullptr && (*text)->starts_with('[')) {
    const auto list = nlohmann::json::parse(**text, nullptr, false);
    if (list.is_array()) return toml_value(list);  // otherwise it is a path that begins like a list
  }
  return std::visit(Print{}, field.target);
}

void ConfigSchema::bind_table(std::string key, KeyValues* target, std::string meaning,
                              Entries entries) {
  tables_.push_back({std::move(key), target, std::move(meaning), entries});
}

void hint_at_keys(KeyHint hint) { key_hint = hint; }

bool ConfigSchema::has_prefix(const std::string& prefix) const {
  const std::string dotted = prefix + ".";
  return std::any_of(fields_.begin(), fields_.end(),
                     [&](const Field& f) { return f.key.starts_with(dotted); }) ||
         std::any_of(tables_.begin(), tables_.end(),
                     [&](const Table& t) { return t.key.starts_with(dotted); });
}

void ConfigSchema::rename(std::string old_name, std::string key) {
  renamed_.emplace_back(std::move(old_name), std::move(key));
}

const std::string& ConfigSchema::key_of(const std::string& name) const {
  const auto old = std::find_if(renamed_.begin(), renamed_.end(),
                                [&](const auto& pair) { return pair.first == name; });
  return old == renamed_.end() ? name : old->second;
}

bool ConfigSchema::was_set(std::string_view key) const { return places_.contains(key); }

void ConfigSchema::load(const std::filesystem::path& path) {
  load_text(read_file(path), path.string());
}

void ConfigSchema::load_text(std::string_view text, std::string_view origin) {
  // UTF-16 is known by its mark, or because every other byte of English text is zero.
  const bool is_utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
                        text.substr(0, 2).find('\0') != std::string_view::npos;
  require<ConfigError>(!is_utf16, fmt::format("{} is UTF-16 text", origin),
                       "a run file is UTF-8 text", "iconv -f UTF-16 -t UTF-8 IN > OUT");
  TomlText toml = read_toml(text, origin);
  Reader reader{*this, origin, std::move(toml.faults)};
  for (const auto& part : toml.parts) reader.read(part);
  reader.finish();
}

void ConfigSchema::set(std::string_view assignment) {
  const auto equals = assignment.find('=');
  require<ConfigError>(equals != std::string_view::npos && equals > 0,
                       fmt::format("--set {} has no '='", brief(assignment)),
                       "a setting is key=value", "write for example --set train.steps=100");
  const std::string key(trim(assignment.substr(0, equals))),
      value(trim(assignment.substr(equals + 1)));
  const std::string origin = fmt::format("--set {}", assignment);
  const auto field = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const Field& f) { return f.key == key_of(key); });
  const bool text_field =
      field != fields_.end() && std::holds_alternative<std::string*>(field->target);
  const auto as_text = [&] { load_text(fmt::format("{} = {}", key, toml_string(value)), origin); };
  const bool list = text_field && field->takes_list && value.starts_with('[');
  if (text_field && !list && !value.starts_with('"') && !value.starts_with('\'')) return as_text();
  toml::table parsed;
  try {
    parsed = parse_toml(fmt::format("{} = {}", key, value), origin);
  } catch (const toml::parse_error& error) {
    if (value.find_first_of("[{\"'") != 0) return as_text();  // a bare word
    require_no_faults<ConfigError>(
        {{broken_value(origin, value, error.description()), {key}, true, {read_++, 0}}});
  }
  const toml::node_view node = parsed.at_path(key);
  // No setting is a date or a time, so the value is meant as a string.
  if (node.is_date() || node.is_time() || node.is_date_time()) return as_text();
  Reader reader{*this, origin};
  reader.read(parsed);
  reader.finish();
}

std::string ConfigSchema::to_toml() const {
  std::map<std::string, std::string> sections;
  std::vector<std::string> order;
  const auto section_of = [&](const std::string& key) -> std::string& {
    const auto dot = key.rfind('.');
    const std::string name = dot == std::string::npos ? "" : key.substr(0, dot);
    if (!sections.contains(name)) order.push_back(name);
    return sections[name];
  };
  for (const auto& f : fields_)
    section_of(f.key) +=
        fmt::format("{} = {}  # {}\n", f.key.substr(f.key.rfind('.') + 1), value_of(f), f.meaning);
  for (const auto& t : tables_) {
    std::string& body = section_of(t.key + ".x");
    body += fmt::format("# {}\n", t.meaning);
    for (const auto& [k, v] : *t.target)
      body +=
          fmt::format("{} = {}\n", toml_key(k), t.entries == Entries::typed ? v : toml_string(v));
  }
  // keys without a section must come first
  std::string text = sections.contains("") ? sections[""] + "\n" : "";
  for (const auto& name : order) {
    if (!name.empty()) text += fmt::format("[{}]\n{}\n", name, sections[name]);
  }
  return text;
}

std::string ConfigSchema::describe() const {
  std::string text;
  for (const auto& f : fields_)
    text += fmt::format("  {:<34} {:<22} {}\n", f.key, value_of(f), f.meaning);
  for (const auto& t : tables_)
    text += fmt::format("  {:<34} {:<22} {}\n", t.key + ".*", "", t.meaning);
  return text;
}

std::vector<std::string> ConfigSchema::keys() const {
  std::vector<std::string> names;
  for (const auto& f : fields_) names.push_back(f.key);
  for (const auto& t : tables_) names.push_back(t.key);
  return names;
}

}  // namespace rollcall
