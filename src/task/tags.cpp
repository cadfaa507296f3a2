// Sections in tags, as reasoning models write them.
#include "base/text/joined.hpp"
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace rollcall::task {
namespace {

constexpr std::array kNames = {"think", "plan", "note", "check", "step", "proof", "title", "code"};
constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz";

std::string draw_content(std::int64_t level, Draws& draws) {
  std::string content;
  for (std::int64_t i = draws.between(2, 3 + level / 3); i > 0; --i)
    content += kLetters[draws.below(26)];
  return content;
}

/// The last tag is "answer", with prescribed content. Half of the others have prescribed content
/// too, and the rest are free.
std::optional<Item> draw_tags(const TaskSection& section, std::int64_t level, Draws& draws) {
  std::vector<std::string> names(kNames.begin(), kNames.end());
  draws.shuffle(names);
  names.resize(std::size_t(level - 1));
  names.emplace_back("answer");
  nlohmann::json tags = nlohmann::json::array();
  std::vector<std::string> plain, asked;
  std::string solution;
  for (const auto& name : names) {
    const bool given = name == "answer" || draws.chance(2);
    const std::string content = given ? draw_content(level, draws) : "so";
    tags.push_back({name, given ? nlohmann::json(content) : nlohmann::json()});
    plain.push_back(given ? name + "=" + content : name);
    asked.push_back(fmt::format("- <{}>: {}", name, given ? content : "any text"));
    solution += fmt::format("<{0}>{1}</{0}>", name, content);
  }
  Item item{fmt::format("{}:", joined(plain, ",")), nlohmann::json{{"tags", tags}}.dump(),
            solution};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question")
    item.text = fmt::format(
        "Write these sections in this order, each within its tags as in <title>text</title>, and nothing around them:\n{}",
        joined(asked, "\n"));
  return item;
}

}  // namespace

PromptSet make_tags(const TaskSection& section, std::uint64_t seed) {
  check_wordings("tags", section.wording, {"plain", "question"});
  return generate(
      {"tags", 1, 8,
       [&](std::int64_t level, Draws& draws) { return draw_tags(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
