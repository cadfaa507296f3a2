// One secret thing among several, to be found by yes-or-no questions.
#include "task/worlds/twenty_questions.hpp"

#include "base/text/foreign_json.hpp"
#include "base/text/joined.hpp"
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::task {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostQuestions = 64;
constexpr const char* kRules =
    "One of these things is meant. Each is written as three letters: s small or h huge; r red, g green, b blue or y yellow; c cube, o orb, t tube or p prism. Say one letter a turn "
    "to ask whether the thing has it, or one of the things to guess it, and nothing else. You see what you asked, + for yes and - for no, and how many questions are left. Guesses "
    "count as questions. Guess the thing.\n";

bool is_thing(std::string_view text) {
  return text.size() == 3 && kSizes.find(text[0]) != std::string_view::npos &&
         kColours.find(text[1]) != std::string_view::npos &&
         kShapes.find(text[2]) != std::string_view::npos;
}

bool has(const std::vector<std::string>& things, const std::string& thing) {
  return std::find(things.begin(), things.end(), thing) != things.end();
}

using Parts = std::pair<std::vector<std::string>, std::vector<std::string>>;  // yes, no

Parts parted(const std::vector<std::string>& things, std::string_view letter) {
  Parts parts;
  for (const std::string& thing : things)
    (is_true_of(thing, letter) ? parts.first : parts.second).push_back(thing);
  return parts;
}

std::optional<Riddle> read_things(const json& object) {
  if (!object.contains("things") || !object.contains("questions")) return std::nullopt;
  const json &things = object["things"], &questions = object["questions"];
  if (!things.is_array() || things.size() < 2 || !questions.is_number_integer() || questions < 1 ||
      questions > kMostQuestions)
    return std::nullopt;
  Riddle riddle;
  riddle.questions = questions.get<std::int64_t>();
  for (const json& thing : things) {
    if (!thing.is_string()) return std::nullopt;
    auto text = thing.get<std::string>();
    if (!is_thing(text) || has(riddle.things, text)) return std::nullopt;
    riddle.things.push_back(std::move(text));
  }
  return riddle;
}

std::optional<Item> draw_riddle(const TaskSection& section, std::int64_t level, Draws& draws) {
  Riddle riddle;
  while (std::int64_t(riddle.things.size()) < level) {
    const std::string thing{draws.one_of(kSizes), draws.one_of(kColours), draws.one_of(kShapes)};
    if (!has(riddle.things, thing)) riddle.things.push_back(thing);
  }
  riddle.questions = questions_needed(riddle.things);
  Item item{view_of(riddle), reference_of(riddle), best_question(riddle.things)};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question") item.text = kRules + item.text;
  return item;
}

}  // namespace

std::string text_of(const Riddle& riddle) {
  return json{{"asked", riddle.asked},
              {"questions", riddle.questions},
              {"secret", riddle.secret},
              {"things", riddle.things}}
      .dump();
}

std::string reference_of(const Riddle& riddle) {
  return json{{"questions", riddle.questions}, {"things", riddle.things}}.dump();
}

std::optional<Riddle> read_riddle(std::string_view state) {
  std::string fault;
  const json object = parse_foreign<json>(state, fault);
  if (!fault.empty()) return std::nullopt;
  auto riddle = read_things(object);
  if (!riddle || !object.contains("secret") || !object["secret"].is_string() ||
      !object.contains("asked") || !object["asked"].is_array() ||
      std::int64_t(object["asked"].size()) >= riddle->questions)
    return std::nullopt;
  riddle->secret = object["secret"].get<std::string>();
  if (!has(riddle->things, riddle->secret)) return std::nullopt;
  for (const json& asked : object["asked"]) {
    if (!asked.is_string()) return std::nullopt;
    auto text = asked.get<std::string>();
    if (!is_letter(text) && !has(riddle->things, text)) return std::nullopt;
    riddle->asked.push_back(std::move(text));
  }
  return riddle;
}

std::optional<Riddle> read_riddle_reference(std::string_view reference) {
  std::string fault;
  const json object = parse_foreign<json>(reference, fault);
  return fault.empty() ? read_things(object) : std::nullopt;
}

bool is_letter(std::string_view text) {
  return text.size() == 1 &&
         fmt::format("{}{}{}", kSizes, kColours, kShapes).find(text) != std::string::npos;
}

bool is_true_of(std::string_view thing, std::string_view asked) {
  return thing.find(asked) != std::string_view::npos;
}

std::string view_of(const Riddle& riddle) {
  std::string seen = joined(riddle.things, " ") + ":";
  for (const std::string& asked : riddle.asked)
    seen += fmt::format(" {}{}", asked, is_true_of(riddle.secret, asked) ? '+' : '-');
  return fmt::format("{} {}>", seen, riddle.questions - std::int64_t(riddle.asked.size()));
}

std::string best_question(const std::vector<std::string>& things) {
  if (things.size() == 1) return things.front();
  std::string best;
  std::size_t smaller = 0;
  for (const char letter : fmt::format("{}{}{}", kSizes, kColours, kShapes)) {
    const auto [yes, no] = parted(things, std::string(1, letter));
    if (const std::size_t least = std::min(yes.size(), no.size()); least > smaller) {
      smaller = least;
      best = letter;
    }
  }
  return best;
}

std::int64_t questions_needed(const std::vector<std::string>& things) {
  if (things.size() == 1) return 1;
  const auto [yes, no] = parted(things, best_question(things));
  return 1 + std::max(questions_needed(yes), questions_needed(no));
}

PromptSet make_twenty_questions(const TaskSection& section, std::uint64_t seed) {
  check_wordings("twenty_questions", section.wording, {"plain", "question"});
  return generate(
      {"twenty_questions", 2, 16,
       [&](std::int64_t level, Draws& draws) { return draw_riddle(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
