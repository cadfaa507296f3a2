// Reads the list, which the run file's reader has converted to JSON.
#include "task/rows/file_list.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/text/joined.hpp"
#include "task/rows/fields.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::task {
namespace {

using Json = nlohmann::json;
constexpr const char* kForm =
    "write task.file = [{path = \"a.jsonl\", weight = 2, where = {source = \"gsm8k\"}}, ...]";

void need(bool ok, const std::string& problem, const char* why) {
  require<ConfigError>(ok, "task.file " + problem, why, kForm);
}

std::vector<Condition> conditions_of(const Json& where) {
  need(where.is_object() && !where.empty(), "has a where that is no table of fields",
       "rows are chosen by the values of their fields");
  std::vector<Condition> conditions;
  for (const auto& [field, value] : where.items()) {
    Condition condition{field, {}};
    if (value.is_array()) condition.values.assign(value.begin(), value.end());
    else condition.values.push_back(value);
    const bool plain = std::all_of(condition.values.begin(), condition.values.end(),
                                   [](const Json& v) { return v.is_primitive(); });
    need(plain && !condition.values.empty(),
         fmt::format("has no plain value for the field {} in where", field),
         "a field is compared with a text, a number or a boolean, or a list of them");
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

RowFile file_of(const Json& entry) {
  if (entry.is_string()) return {entry.get<std::string>()};
  need(entry.is_object(), "lists something that is neither a path nor a table",
       "each entry is a file of questions");
  RowFile file;
  for (const auto& [key, value] : entry.items()) {
    if (key == "path" && value.is_string()) {
      file.path = value.get<std::string>();
    } else if (key == "weight") {
      need(value.is_number() && value.get<double>() > 0.0,
           fmt::format("has the weight {}", value.dump()), "a weight is a number above 0");
      file.weight = value.get<double>();
    } else if (key == "where") {
      file.where = conditions_of(value);
    } else {
      require<ConfigError>(key == "path", fmt::format("task.file has the key {}", key),
                           "nothing would read it", suggest_name(key, {"path", "weight", "where"}));
      need(false, "has a path that is no text", "each entry is a file of questions");
    }
  }
  need(!file.path.empty(), "has an entry without a path", "each entry is a file of questions");
  return file;
}

Json list_of(const TaskSection& section) {
  if (!section.file.starts_with('[')) return {};
  Json list = Json::parse(section.file, nullptr, false);
  return list.is_array() ? list : Json();  // a path may begin with [ as well
}

}  // namespace

bool matches(const RowFile& file, const Json& row) {
  const auto equal = [](const Json& own, const Json& wanted) {
    const auto spelt = [](const Json& v) {
      return v.is_string() ? v.get<std::string>() : v.dump();
    };
    return own == wanted || (own.is_primitive() && !own.is_null() && spelt(own) == spelt(wanted));
  };
  return std::all_of(file.where.begin(), file.where.end(), [&](const Condition& condition) {
    const Json own = field_of(row, condition.field);
    return std::any_of(condition.values.begin(), condition.values.end(),
                       [&](const Json& wanted) { return equal(own, wanted); });
  });
}

bool is_file_list(const TaskSection& section) { return !list_of(section).is_null(); }

std::vector<RowFile> row_files(const TaskSection& section) {
  const Json list = list_of(section);
  if (list.is_null()) return {{section.file}};
  std::vector<RowFile> files;
  for (const Json& entry : list) files.push_back(file_of(entry));
  need(!files.empty(), "is an empty list", "there is nothing to read prompts from");
  const auto weighted = std::count_if(files.begin(), files.end(),
                                      [](const RowFile& file) { return file.weight > 0.0; });
  need(weighted == 0 || std::size_t(weighted) == files.size(),
       "gives some files a weight and others none",
       "weights say in which proportion the files are read");
  return files;
}

std::string shown_files(const TaskSection& section) {
  if (!is_file_list(section)) return section.file;
  std::vector<std::string> paths;
  for (const RowFile& file : row_files(section)) paths.push_back(file.path);
  return fmt::format("{}", joined(paths, ", "));
}

}  // namespace rollcall::task
