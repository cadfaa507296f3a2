// Fills the splits of built-in tasks: levels from a power law, addressed draws, splits by content
// hash, and distinct prompts.
#pragma once

#include "base/numbers/random.hpp"
#include "task/task.hpp"

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::task {

/// The split that a prompt text belongs to: 80 % train, 10 % validation, 10 % held-out, by a hash
/// of nothing but the text. Seed and sizes do not matter, so the splits of two runs never overlap
/// either.
Split split_of(std::string_view text);

/// The hash that split_of() uses. It depends only on the text and must never change.
std::uint64_t content_hash(std::string_view text);

// For tasks whose prompts are cut from files, in file order. wants() says whether the section asks
// for more prompts of a split, keep() adds one if so, and tell_shortages() warns about splits that
// stay smaller.
bool wants(PromptSet& set, Split split, const TaskSection& section);
void keep(PromptSet& set, Prompt prompt, Split split, const TaskSection& section);
void tell_shortages(const char* task, const PromptSet& set, const TaskSection& section);

/// SHA-256 over every field of every prompt, splits in order.
std::string hash_of(const PromptSet& set);

/// Successive draws from one addressed random stream.
class Draws {
 public:
  explicit Draws(const RandomStream& stream) : stream_(stream) {}
  /// in [0, n)
  std::int64_t below(std::int64_t n) {
    return std::int64_t(stream_.below(next_++, std::uint64_t(n)));
  }
  /// in [low, high]
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(std::int64_t one_in) { return below(one_in) == 0; }
  template <class Range>
  const auto& one_of(const Range& range) {
    return std::data(range)[below(std::int64_t(std::size(range)))];
  }
  template <class T>
  void shuffle(std::vector<T>& items) {  // Fisher and Yates
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[std::size_t(below(std::int64_t(i)))]);
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 1;  // number 0 in the stream chose the level
};

/// An item that a task draws at a level.
struct Item {
  std::string text, answer, solution;
  std::string domain{};    ///< empty if the task has no domains
  std::int32_t level = 0;  ///< set if the draw decides the level; 0 means the level asked for
  /// The question without its wording, which decides the split and what counts as a repetition. If
  /// empty, the text is used.
  std::string problem{};
};

/// A built-in task: the levels that it has, and the function that draws an item at a level, or
/// nothing if the item is not worth asking.
struct Generator {
  const char* name;
  std::int64_t lowest, highest;
  std::function<std::optional<Item>(std::int64_t level, Draws& draws)> draw;
};

/// Throws ConfigError, naming the nearest, for a wording that is not among `known`, the task's
/// wordings.
void check_wordings(const char* task, const std::vector<std::string>& wanted,
                    const std::vector<std::string>& known);
/// Draws one of the wordings for a prompt. Uses no random number if there is only one.
const std::string& draw_wording(const std::vector<std::string>& wanted, Draws& draws);

/// P(level) is proportional to level^-exponent over the levels that are left.
class LevelLaw {
 public:
  LevelLaw(std::int64_t low, std::int64_t high, double exponent);
  std::int64_t at(double u) const;  ///< inverse of the cumulative law; u in [0, 1)
  void drop(std::int64_t level);    ///< distributes its probability over the other levels, in
                                    ///< proportion to theirs
  bool empty() const { return levels_.empty(); }

 private:
  std::vector<std::int64_t> levels_;
  std::vector<double> weights_;
};

/// Fills the three splits. Prompts of a split are distinct. Prompt i is drawn from the stream
/// (seed, task, split, i, attempt): first the level, then items of that level until one is new and
/// belongs to the split. After 1000 misses in a row the level counts as used up and is dropped for
/// the rest of the split. So the histogram of levels follows the law until a level runs dry. After
/// that the remaining levels follow it among themselves. (Sorting has 80 training prompts of length
/// 2.) When every level is dry the split stays smaller than asked, with a warning. Prompt i depends
/// on its predecessors but not on the sizes: a smaller set is the beginning of a larger one.
/// Levels of the section that the task does not know are cut off; throws ConfigError when none is
/// left.
PromptSet generate(const Generator& generator, const TaskSection& section, std::uint64_t seed);

}  // namespace rollcall::task
