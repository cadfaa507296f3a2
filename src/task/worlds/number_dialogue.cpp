// A secret number, to be found by guessing.
#include "task/worlds/number_dialogue.hpp"

#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

namespace rollcall::task {
namespace {

using nlohmann::json;

constexpr std::int64_t kHighest = 9999, kMostGuesses = 64;
constexpr const char* kRules =
    "A number is meant, one of the two that are shown or between them. Say one number a turn and nothing else. You see your guesses, + where the number that is meant is more and - "
    "where it is less, and how many guesses are left. Find the number.\n";

/// The member, if it is a whole number from `low` to `high`.
std::optional<std::int64_t> member(const json& object, const char* name, std::int64_t low,
                                   std::int64_t high) {
  if (!object.contains(name)) return std::nullopt;
  const json& value = object[name];
  if (!value.is_number_integer() || value < low || value > high) return std::nullopt;
  return value.get<std::int64_t>();
}

std::optional<NumberRiddle> read_bounds(const json& object) {
  const auto low = member(object, "low", 0, kHighest);
  if (!low) return std::nullopt;
  const auto high = member(object, "high", *low, kHighest),
             guesses = member(object, "guesses", 1, kMostGuesses);
  if (!high || !guesses) return std::nullopt;
  return NumberRiddle{*low, *high, *guesses, *low};
}

std::optional<Item> draw_riddle(const TaskSection& section, std::int64_t level, Draws& draws) {
  const std::int64_t numbers = (std::int64_t{1} << level) - 1;
  NumberRiddle riddle;
  riddle.low = draws.between(0, kHighest - numbers);
  riddle.high = riddle.low + numbers - 1;
  riddle.guesses = level;
  Item item{view_of(riddle), reference_of(riddle),
            fmt::format("{}", (riddle.low + riddle.high) / 2)};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question") item.text = kRules + item.text;
  return item;
}

}  // namespace

std::string text_of(const NumberRiddle& riddle) {
  return json{{"guessed", riddle.guessed},
              {"guesses", riddle.guesses},
              {"high", riddle.high},
              {"low", riddle.low},
              {"secret", riddle.secret}}
      .dump();
}

std::string reference_of(const NumberRiddle& riddle) {
  return json{{"guesses", riddle.guesses}, {"high", riddle.high}, {"low", riddle.low}}.dump();
}

std::optional<NumberRiddle> read_number_riddle(std::string_view state) {
  std::string fault;
  const json object = parse_foreign<json>(state, fault);
  if (!fault.empty()) return std::nullopt;
  auto riddle = read_bounds(object);
  if (!riddle || !object.contains("guessed") || !object["guessed"].is_array() ||
      std::int64_t(object["guessed"].size()) >= riddle->guesses)
    return std::nullopt;
  const auto secret = member(object, "secret", riddle->low, riddle->high);
  if (!secret) return std::nullopt;
  riddle->secret = *secret;
  for (const json& guess : object["guessed"]) {
    if (!guess.is_number_integer() || guess < 0 || guess > kHighest) return std::nullopt;
    riddle->guessed.push_back(guess.get<std::int64_t>());
  }
  return riddle;
}

std::optional<NumberRiddle> read_number_riddle_reference(std::string_view reference) {
  std::string fault;
  const json object = parse_foreign<json>(reference, fault);
  return fault.empty() ? read_bounds(object) : std::nullopt;
}

std::string view_of(const NumberRiddle& riddle) {
  std::string seen = fmt::format("{}-{}:", riddle.low, riddle.high);
  for (const std::int64_t guess : riddle.guessed)
    seen += fmt::format(" {}{}", guess, riddle.secret > guess ? '+' : '-');
  return fmt::format("{} {}>", seen, riddle.guesses - std::int64_t(riddle.guessed.size()));
}

PromptSet make_number_dialogue(const TaskSection& section, std::uint64_t seed) {
  check_wordings("number_dialogue", section.wording, {"plain", "question"});
  return generate(
      {"number_dialogue", 2, 12,
       [&](std::int64_t level, Draws& draws) { return draw_riddle(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
