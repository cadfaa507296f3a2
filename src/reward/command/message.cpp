// Reads every field of a reply by name and type, so that the message about a mistake is precise.
#include "reward/command/message.hpp"

#include "base/errors/nearest.hpp"
#include "base/text/json.hpp"
#include "reward/command/json_line.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rollcall::reward {
namespace {

using nlohmann::json;

std::string read_numbers(const json& given, const std::vector<std::string>& names,
                         std::vector<double>& values) {
  if (!given.is_object()) return "its \"components\" are not an object";
  for (const auto& [name, value] : given.items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      return names.empty()
                 ? fmt::format(
                       "it reports the component \"{}\", which reward.components (of rescore: --components) does not name",
                       name)
                 : fmt::format(
                       "it reports the component \"{}\", which reward.components does not name; {}",
                       name, suggest_name(name, names));
  for (const auto& name : names) {
    const auto value = given.find(name);
    if (value == given.end())
      return fmt::format("it lacks the component \"{}\" that reward.components names", name);
    if (!value->is_number() || !std::isfinite(value->get<double>()))
      return fmt::format("its component \"{}\" is not a number", name);
    values.push_back(value->get<double>());
  }
  return {};
}

/// Reads a flag that may be missing.
std::string read_flag(const json& object, const char* name, bool& flag) {
  const auto given = object.find(name);
  if (given == object.end()) return {};
  if (!given->is_boolean()) return fmt::format("its \"{}\" is neither true nor false", name);
  flag = given->get<bool>();
  return {};
}

std::string read_verdict(const json& object, const std::vector<std::string>& components,
                         Reply& reply) {
  if (const auto reason = object.find("reason"); reason != object.end()) {
    if (!reason->is_string()) return "its \"reason\" is not a text";
    reply.reason = text::cut(reason->get<std::string>(), kLongestReason);
  }
  if (auto wrong = read_flag(object, "undecided", reply.undecided); !wrong.empty()) return wrong;
  if (reply.undecided) {
    reply.components.assign(components.size(), 0.0);
    auto wrong = read_flag(object, "ended", reply.ended);
    return wrong.empty() ? read_flag(object, "failed", reply.failed) : wrong;
  }
  if (const auto extracted = object.find("extracted"); extracted != object.end()) {
    if (!extracted->is_string() && !extracted->is_null())
      return "its \"extracted\" is neither a text nor null";
    if (extracted->is_string()) reply.extracted = extracted->get<std::string>();
  }
  const auto score = object.find("score"), correct = object.find("correct");
  if (score == object.end()) return "it has no \"score\"";
  if (!score->is_number() || !std::isfinite(score->get<double>()))
    return "its \"score\" is not a number";
  if (correct == object.end()) return "it has no \"correct\"";
  if (!correct->is_boolean()) return "its \"correct\" is neither true nor false";
  reply.score = score->get<double>(), reply.correct = correct->get<bool>();
  const auto given = object.find("components");
  return read_numbers(given == object.end() ? json::object() : *given, components,
                      reply.components);
}

/// An answer as in the question file: a list or a string.
json answer_value(const std::string& answer) {
  const auto accepted = text::accepted_answers(answer);
  return accepted.empty() ? json(text::only_answer(answer)) : json(accepted);
}

}  // namespace

std::string to_line(const Sample& sample) {
  json object{{"id", sample.id},
              {"prompt", sample.prompt},
              {"response", sample.response},
              {"answer", answer_value(sample.answer)}};
  if (json extra = json::parse(sample.extra, nullptr, false); extra.is_object())
    object["extra"] = std::move(extra);
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Answered parse_reply(std::string_view line, const std::vector<std::string>& components) {
  static const LineKeys keys{{"id", "score", "correct", "components", "reason", "undecided",
                              "ended", "failed", "extracted"},
                             {"prompt", "response", "answer", "extra"}};
  JsonLine read = read_json_line(line, "reply", keys);
  Answered answered{.id = std::move(read.id), .fault = std::move(read.fault)};
  if (!answered.fault.empty()) return answered;
  if (const std::string wrong = read_verdict(read.object, components, answered.reply);
      !wrong.empty()) {
    answered.reply = {};
    answered.fault = fmt::format("its reply cannot be used: {}", wrong);
  }
  return answered;
}

std::optional<std::string> Lines::next() {
  const auto end = rest_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = rest_.substr(0, end);
  rest_.erase(0, end + 1);
  return line;
}

}  // namespace rollcall::reward
