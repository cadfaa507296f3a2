// Puzzles about knights, who always tell the truth, and knaves, who never do.
#include "base/text/joined.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

namespace rollcall::task {
namespace {

/// Bit i is set if person i is a knight.
using Kinds = std::uint32_t;

/// A person's statement: about one other person, about two people compared, or about the number of
/// knights.
struct Statement {
  enum class Of { kind, equality, count } of;
  std::int64_t first, second;
  bool positive;  ///< the statement is "knight" or "alike"; otherwise "knave" or "different"

  bool holds(Kinds kinds) const {
    const auto knight = [&](std::int64_t person) { return (kinds >> person & 1U) != 0; };
    if (of == Of::count) return std::popcount(kinds) == first;
    return (of == Of::kind ? knight(first) : knight(first) == knight(second)) == positive;
  }
};

char letter(std::int64_t person) { return char('A' + person); }

std::string plain(const Statement& s) {
  if (s.of == Statement::Of::count) return fmt::format("{}K", s.first);
  if (s.of == Statement::Of::kind)
    return fmt::format("{}{}", letter(s.first), s.positive ? 'K' : 'N');
  return fmt::format("{}{}{}", letter(s.first), s.positive ? '=' : '#', letter(s.second));
}

std::string words(const Statement& s) {
  if (s.of == Statement::Of::count)
    return fmt::format("exactly {} of us {}", s.first,
                       s.first == 1 ? "is a knight" : "are knights");
  if (s.of == Statement::Of::kind)
    return fmt::format("{} is a {}", letter(s.first), s.positive ? "knight" : "knave");
  return fmt::format("{} and {} are {}", letter(s.first), letter(s.second),
                     s.positive ? "of the same kind" : "of different kinds");
}

/// A statement that the speaker can make: a true one for a knight, a false one for a knave.
Statement draw_statement(std::int64_t people, std::int64_t speaker, Kinds kinds, Draws& draws) {
  for (;;) {
    const auto of = Statement::Of(draws.below(people == 2 ? 2 : 3));
    const std::int64_t first = of == Statement::Of::count ? draws.below(people + 1)
                                                          : draws.below(people),
                       second = draws.below(people);
    const Statement s{of, first, second, draws.chance(2)};
    const bool empty = (of == Statement::Of::kind && first == speaker) ||
                       (of == Statement::Of::equality && first >= second);
    if (!empty && s.holds(kinds) == ((kinds >> speaker & 1U) != 0)) return s;
  }
}

/// Number of assignments in which every knight's statement is true and every knave's is false.
int count_solutions(const std::vector<Statement>& statements) {
  int count = 0;
  for (Kinds kinds = 0; kinds < (1U << statements.size()); ++kinds) {
    bool good = true;
    for (std::size_t i = 0; i < statements.size() && good; ++i)
      good = statements[i].holds(kinds) == ((kinds >> i & 1U) != 0);
    count += good ? 1 : 0;
  }
  return count;
}

std::string question(const std::vector<Statement>& statements) {
  std::vector<std::string> said;
  for (std::size_t i = 0; i < statements.size(); ++i)
    said.push_back(fmt::format("{} says: {}.", letter(std::int64_t(i)), words(statements[i])));
  return fmt::format(
      "Each of these people is a knight, who always tells the truth, or a knave, who never does. {} What is each of them? Answer with one letter a person in that order "
      "and nothing else, K for a knight and N for a knave, for example KN for two.",
      joined(said, " "));
}

std::optional<Item> draw_knights_knaves(const TaskSection& section, std::int64_t level,
                                        Draws& draws) {
  const Kinds kinds = Kinds(draws.below(std::int64_t{1} << level));
  std::vector<Statement> statements;
  for (std::int64_t i = 0; i < level; ++i)
    statements.push_back(draw_statement(level, i, kinds, draws));
  if (count_solutions(statements) != 1) return std::nullopt;
  std::string solution;
  std::vector<std::string> said;
  for (std::int64_t i = 0; i < level; ++i) {
    solution += (kinds >> i & 1U) != 0 ? 'K' : 'N';
    said.push_back(fmt::format("{}:{}", letter(i), plain(statements[std::size_t(i)])));
  }
  Item item{fmt::format("{}>", joined(said, " ")), solution, solution};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question") item.text = question(statements);
  return item;
}

}  // namespace

PromptSet make_knights_knaves(const TaskSection& section, std::uint64_t seed) {
  check_wordings("knights_knaves", section.wording, {"plain", "question"});
  return generate({"knights_knaves", 2, 8,
                   [&](std::int64_t level, Draws& draws) {
                     return draw_knights_knaves(section, level, draws);
                   }},
                  section, seed);
}

}  // namespace rollcall::task
