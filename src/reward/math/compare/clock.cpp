// Reads times of day as minutes since midnight.
#include "reward/math/compare/clock.hpp"

#include "text/conclusion/prose.hpp"

namespace rollcall::reward::math {
namespace {

constexpr int kHalfDay = 720;  // minutes

/// The way in which a time shows its half of the day.
enum class Half { open, by_word, by_hour };

struct Clock {
  int minutes = 0;  ///< since midnight; in the first half of the day if the half is open
  Half half = Half::open;
  bool is_certain = false;  ///< whether the text is certainly a time and no ratio
};

std::optional<int> whole_number(const Node& node, int most) {
  if (node.kind != Kind::number || node.value->get_den() != 1 || *node.value < 0 ||
      *node.value > most)
    return std::nullopt;
  return int(node.value->get_num().get_si());
}

/// The time given by an hour, minutes and the words after them; nothing if that is not a time.
std::optional<Clock> clock_at(int hour, int minutes, std::string said) {
  constexpr std::string_view kOClock = "o'clock";
  const bool is_clock = said.starts_with(kOClock);
  if (is_clock) said.erase(0, std::min(said.find_first_not_of(' ', kOClock.size()), said.size()));
  if (is_clock && said.empty())
    return hour < 1 || hour > 12
               ? std::nullopt
               : std::optional(Clock{(hour % 12) * 60 + minutes, Half::open, true});
  if (said.empty())
    return hour > 24
               ? std::nullopt
               : std::optional(Clock{(hour % 24) * 60 + minutes,
                                     hour > 12 || hour == 0 ? Half::by_hour : Half::open, false});
  if (hour < 1 || hour > 12) return std::nullopt;
  const int in_half = (hour % 12) * 60 + minutes;
  if (said == "am" || said == "midnight") return Clock{in_half, Half::by_word, true};
  return said == "pm" || said == "noon"
             ? std::optional(Clock{in_half + kHalfDay, Half::by_word, true})
             : std::nullopt;
}

std::optional<Clock> clock_of(const Node& node) {
  if (node.kind == Kind::words)
    return node.text == "noon" || node.text == "midnight" ? clock_at(12, 0, node.text)
                                                          : std::nullopt;
  const bool is_ratio = node.kind == Kind::ratio && node.children.size() == 2 && !node.text.empty();
  if (!is_ratio && node.kind != Kind::unit) return std::nullopt;
  const Node& last = is_ratio ? node.children[1] : node;
  const std::string said = last.kind == Kind::unit ? text::lower(last.text) : std::string();
  const Node& number = last.kind == Kind::unit ? last.children[0] : last;
  const auto hour = whole_number(is_ratio ? node.children[0] : number, 24),
             minutes = is_ratio ? whole_number(number, 59) : std::optional(0);
  auto clock = hour && minutes ? clock_at(*hour, *minutes, said) : std::nullopt;
  if (clock) clock->is_certain |= node.text == "clock";
  return clock;
}

}  // namespace

std::optional<Verdict> compare_clocks(const Node& reference, const Node& answer) {
  const auto a = clock_of(reference);
  const auto b = a ? clock_of(answer) : std::nullopt;
  if (!b || !(a->is_certain || b->is_certain)) return std::nullopt;
  const bool is_half_left_out = (a->half == Half::open && b->half == Half::by_word) ||
                                (b->half == Half::open && a->half == Half::by_word);
  const bool is_same =
      (a->minutes - b->minutes) % (is_half_left_out ? kHalfDay : 2 * kHalfDay) == 0;
  return Verdict{is_same ? Answer::equal : Answer::different,
                 is_same ? "the same time of day" : "another time of day"};
}

}  // namespace rollcall::reward::math
