// Assembles a row's question, reference, level, domain and prior.
#include "task/rows/row_reading.hpp"

#include "base/errors/faults.hpp"
#include "task/rows/fields.hpp"
#include "task/rows/messages.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

namespace rollcall::task {
namespace {

using Json = nlohmann::json;

/// Throws unless the row has a field that task.fields names.
void require_field(const FileRow& row, const std::string& name, const char* setting,
                   const char* why) {
  const std::string suggestion =
      fmt::format("name a field that all rows have, or leave {} out", setting);
  if (name.find('.') == std::string::npos) require_key(row.object, name, row.line, why, suggestion);
  else
    row.line.require_that(!field_of(row.object, name).is_null(),
                          fmt::format("has no field \"{}\"", name), why, suggestion);
}

std::string domain_of(const FileRow& row, const TaskSection& section) {
  const std::string& named = section.fields.domain;
  if (!named.empty()) {
    require_field(row, named, "task.fields.domain",
                  "policies choose among the domains of questions, which task.fields.domain names");
    return text_of_field(row.object, named, "task.fields.domain", row.line);
  }
  if (row.layout.domain.empty()) return {};
  const Json domain = field_of(row.object, row.layout.domain);
  return domain.is_string() ? domain.get<std::string>() : std::string();
}

float prior_of(const FileRow& row, const TaskSection& section) {
  const std::string& named = section.fields.prior;
  if (!named.empty())
    require_field(
        row, named, "task.fields.prior",
        "policies start from each question's expected success, which task.fields.prior names");
  const Json prior = row.layout.prior.empty() ? Json() : field_of(row.object, row.layout.prior);
  if (named.empty() && prior.is_null()) return std::numeric_limits<float>::quiet_NaN();
  const bool rate = prior.is_number() && prior >= 0.0 && prior <= 1.0;
  row.line.require_that(rate,
                        fmt::format("\"{}\" is not a success rate from 0 to 1", row.layout.prior),
                        "policies start from it", "correct the line or empty task.fields.prior");
  return float(prior.get<double>());
}

/// A number, rounded and not below 0, or the first integer in a string ("Level 5"); nothing if
/// there is none.
std::optional<std::int32_t> level_in(const Json& value) {
  constexpr double kMost = 1e9;
  if (value.is_number()) {
    const double number = value.get<double>();
    if (std::abs(number) < kMost) return std::int32_t(std::lround(std::max(number, 0.0)));
  }
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto begin = std::find_if(text.begin(), text.end(), is_digit);
  const auto end = std::find_if_not(begin, text.end(), is_digit);
  if (begin == end || end - begin > 9) return std::nullopt;
  return std::int32_t(std::stol(std::string(begin, end)));
}

std::int32_t level_of(const FileRow& row, const TaskSection& section, std::int32_t of_reference) {
  if (row.layout.level.empty()) return of_reference;
  const std::string& named = section.fields.level;
  const auto level = level_in(field_of(row.object, row.layout.level));
  row.line.require_that(named.empty() || level, fmt::format("\"{}\" is no level", named),
                        "a level is a number, or a text with one",
                        "correct the line or empty task.fields.level");
  return level.value_or(of_reference);
}

/// Tools in the form that chat templates show: {"type": "function", "function": {...}}.
nlohmann::ordered_json tools_in(const FileRow& row) {
  const Json given = field_of(row.object, row.layout.tools);
  auto tools = tools_of(nlohmann::ordered_json(given), row.line);
  for (auto& tool : tools)
    if (tool.is_object() && tool.contains("name") && !tool.contains("function"))
      tool = {{"type", "function"}, {"function", tool}};
  return tools;
}

text::Conversation asked(const FileRow& row) {
  text::Conversation asked = row.layout.asks(row);
  const Json system = row.layout.system.empty() ? Json() : field_of(row.object, row.layout.system);
  if (system.is_string() && !system.get_ref<const std::string&>().empty() &&
      !text::is_said_by(asked.messages.front(), "system"))
    asked.messages.insert(asked.messages.begin(),
                          text::message("system", system.get_ref<const std::string&>()));
  if (row.layout.tools.empty()) return asked;
  auto tools = tools_in(row);
  if (tools.is_array() && !tools.empty()) asked.variables["tools"] = std::move(tools);
  return asked;
}

}  // namespace

std::string prompt_text(const Json& object, const Line& line, const Layout& layout,
                        const TaskSection& section) {
  const text::Conversation conversation = asked({object, line, layout, section.answer_marker});
  return (text::is_one_question(conversation) ? text::said_in(conversation.messages.front())
                                              : text::in_words(conversation)) +
         "\n";
}

Prompt read_prompt(const Json& object, const Line& line, const Layout& layout,
                   const TaskSection& section) {
  const FileRow row{object, line, layout, section.answer_marker};
  Prompt prompt;
  std::vector<Fault> wrong;
  const auto note = [&](const auto& read) {
    try {
      read();
    } catch (const InputError& error) {
      wrong.push_back({.message = error.what()});
    }
  };
  note([&] {
    const text::Conversation conversation = asked(row);
    const bool one = text::is_one_question(conversation);
    prompt.text =
        (one ? text::said_in(conversation.messages.front()) : text::in_words(conversation)) + "\n";
    refuse_media_beside(prompt.text, object, line);
    if (!one) prompt.conversation = text::written_conversation(conversation);
  });
  std::int32_t level_of_reference = 0;
  note([&] {
    Reference reference = layout.refers(row);
    prompt.answer = std::move(reference.answer), prompt.solution = std::move(reference.solution);
    level_of_reference = reference.level;
  });
  note([&] { prompt.level = level_of(row, section, level_of_reference); });
  note([&] { prompt.domain = domain_of(row, section); });
  note([&] { prompt.prior = prior_of(row, section); });
  require_no_faults<InputError>(std::move(wrong));
  return prompt;
}

std::string extra_of(const Json& object, const Line& line, const Layout& layout) {
  Json extra = object;
  if (!extra.contains("id") && !layout.id.empty()) {
    Json id = field_of(object, layout.id);
    if (id.is_string() || id.is_number()) extra["id"] = std::move(id);
  }
  if (!extra.contains("id")) extra["line"] = line.number;
  return extra.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rollcall::task
