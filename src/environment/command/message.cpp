// Reads every field of an answer by name and type, so that the message about a mistake is precise.
#include "environment/command/message.hpp"

#include "base/errors/nearest.hpp"
#include "base/text/json.hpp"
#include "core/rollout.hpp"
#include "reward/command/json_line.hpp"
#include "reward/command/message.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace rollcall::environment {
namespace {

using nlohmann::json;
constexpr std::size_t kShown = 80;  // bytes of a name that a message shows

std::string to_line(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string read_components(const json& given, const std::vector<std::string>& names,
                            std::vector<double>& values) {
  if (!given.is_object()) return "its \"components\" are not an object";
  for (const auto& [name, value] : given.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return fmt::format(
          "it reports the component \"{}\", which environment.components does not name{}",
          text::cut(name, kShown),
          names.empty() ? std::string() : "; " + suggest_name(text::cut(name, kShown), names));
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      return fmt::format("its component \"{}\" is not a number", name);
  }
  if (given.empty()) return {};
  for (const auto& name : names) values.push_back(given.value(name, 0.0));
  return {};
}

/// What an answer may say of the action that it answers.
constexpr std::pair<const char*, std::int64_t> kFlags[] = {{"invalid", turn_flag::invalid},
                                                           {"void", turn_flag::void_turn},
                                                           {"error", turn_flag::error},
                                                           {"patched", turn_flag::patched},
                                                           {"repeated", turn_flag::repeated}};

std::string read_kind(const json& given, const std::vector<std::string>& kinds,
                      std::int64_t& kind) {
  if (!given.is_string()) return "its \"kind\" is not a text";
  const auto& name = given.get_ref<const std::string&>();
  const auto found = std::find(kinds.begin(), kinds.end(), name);
  if (found == kinds.end())
    return fmt::format(
        "its kind is \"{}\", which environment.kinds does not name{}", text::cut(name, kShown),
        kinds.empty() ? std::string() : "; " + suggest_name(text::cut(name, kShown), kinds));
  kind = found - kinds.begin() + 1;
  return {};
}

std::string read_flags(const json& given, std::int64_t& flags) {
  if (!given.is_array()) return "its \"flags\" are not a list";
  for (const json& flag : given) {
    if (!flag.is_string()) return "one of its \"flags\" is not a text";
    const auto& name = flag.get_ref<const std::string&>();
    const auto known = std::find_if(std::begin(kFlags), std::end(kFlags),
                                    [&](const auto& one) { return one.first == name; });
    if (known == std::end(kFlags)) {
      std::vector<std::string> names;
      for (const auto& [one, bit] : kFlags) names.emplace_back(one);
      return fmt::format("there is no flag \"{}\"; {}", text::cut(name, kShown),
                         suggest_name(text::cut(name, kShown), names));
    }
    flags |= known->second;
  }
  return {};
}

/// Returns what is wrong; empty if nothing is.
std::string read_text(const json& object, const char* key, std::string& into) {
  const auto value = object.find(key);
  if (value == object.end()) return {};
  if (!value->is_string()) return fmt::format("its \"{}\" is not a text", key);
  into = value->get<std::string>();
  if (into.size() > kLongestText)
    return fmt::format("its \"{}\" is longer than {} bytes", key, kLongestText);
  return {};
}

std::string read_bool(const json& object, const char* key, std::optional<bool>& into) {
  const auto value = object.find(key);
  if (value == object.end()) return {};
  if (!value->is_boolean()) return fmt::format("its \"{}\" is neither true nor false", key);
  into = value->get<bool>();
  return {};
}

std::string read_answer(const json& object, const Traits& traits, Answer& answer) {
  if (object.contains("error")) {
    answer.loss = Loss::told;
    const std::string wrong = read_text(object, "error", answer.reason);
    answer.reason = text::cut(answer.reason, reward::kLongestReason);
    return wrong;
  }
  if (const auto state = object.find("state"); state != object.end() && !state->is_null()) {
    answer.state = state->dump(-1, ' ', false, json::error_handler_t::replace);
    if (answer.state->size() > kLongestText)
      return fmt::format("its \"state\" is longer than {} bytes", kLongestText);
  }
  if (const auto reward = object.find("reward"); reward != object.end()) {
    if (!reward->is_number() || !std::isfinite(reward->get<double>()))
      return "its \"reward\" is not a number";
    answer.reward = reward->get<double>();
  }
  std::optional<bool> done;
  for (const std::string& wrong :
       {read_text(object, "text", answer.text), read_text(object, "reason", answer.reason),
        read_bool(object, "done", done), read_bool(object, "correct", answer.correct)})
    if (!wrong.empty()) return wrong;
  answer.done = done.value_or(false);
  answer.reason = text::cut(answer.reason, reward::kLongestReason);
  if (!answer.done && !object.contains("text"))
    return "it has no \"text\" and does not say that the conversation is done";
  if (const auto kind = object.find("kind"); kind != object.end())
    if (std::string wrong = read_kind(*kind, traits.kinds, answer.kind); !wrong.empty())
      return wrong;
  if (const auto flags = object.find("flags"); flags != object.end())
    if (std::string wrong = read_flags(*flags, answer.flags); !wrong.empty()) return wrong;
  const auto given = object.find("components");
  return given == object.end() ? std::string()
                               : read_components(*given, traits.components, answer.components);
}

}  // namespace

std::string reset_line(const Talk& talk) {
  json info = json::parse(talk.info, nullptr, false);
  if (!info.is_object()) info = json::object();
  json object{{"op", "reset"},
              {"id", talk.id},
              {"seed", talk.seeds.start},
              {"prompt", talk.prompt->text},
              {"reference", text::shown_reference(talk.prompt->answer)},
              {"info", std::move(info)}};
  if (!talk.start.empty()) object["state"] = json::parse(talk.start, nullptr, false);
  return to_line(object);
}

std::string step_line(const Talk& talk, std::uint32_t turn) {
  json object{{"op", "step"}, {"id", talk.id},    {"seed", step_seed(talk.seeds, turn)},
              {"turn", turn}, {"state", nullptr}, {"action", talk.actions.at(turn)}};
  if (talk.state) object["state"] = json::parse(*talk.state, nullptr, false);
  return to_line(object);
}

std::string close_line(const std::string& id) { return to_line({{"op", "close"}, {"id", id}}); }

Parsed parse_answer(std::string_view line, const Traits& traits) {
  Parsed parsed;
  static const reward::LineKeys keys{{"id", "turn", "state", "text", "reward", "done", "correct",
                                      "components", "kind", "flags", "reason", "error"},
                                     {"op", "seed", "prompt", "reference", "info", "action"}};
  reward::JsonLine read = reward::read_json_line(line, "answer", keys);
  parsed.id = std::move(read.id), parsed.fault = std::move(read.fault);
  if (!parsed.fault.empty()) return parsed;
  if (const auto turn = read.object.find("turn"); turn != read.object.end() && !turn->is_null()) {
    if (!turn->is_number_unsigned()) {
      parsed.fault = "its answer cannot be used: its \"turn\" is no number of a turn";
      return parsed;
    }
    parsed.turn = turn->get<std::uint64_t>();
  }
  if (const std::string wrong = read_answer(read.object, traits, parsed.answer); !wrong.empty()) {
    parsed.answer = {};
    parsed.fault = fmt::format("its answer cannot be used: {}", wrong);
  }
  return parsed;
}

}  // namespace rollcall::environment
