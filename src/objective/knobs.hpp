// Named settings of the chosen pieces: what a row of the table or a run file may change, with range
// and meaning.
#pragma once

#include "base/errors/error.hpp"
#include "base/text/config.hpp"
#include "objective/loss_use.hpp"
#include "objective/piece_needs.hpp"
#include "objective/reward_use.hpp"

#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::objective {

/// A number of a piece that changes from step to step, for the metric moving/NAME.
struct Moving {
  std::string name;
  std::function<double(const Step&)> value;  ///< its value in this step; NaN where it is constant
};

/// One setting of one piece, bound to a member of that piece.
struct Knob {
  std::string family, piece, name;
  std::string meaning;
  std::string valid;                               ///< "[0, 1]" or "k2, k3"
  std::function<void(const std::string&)> assign;  ///< throws ConfigError
  std::function<std::string()> value;
  bool required = false, given = false;
  std::string key() const { return family + "." + name; }
};

/// The statements that the chosen pieces make about themselves while they are made: their settings
/// here, the columns they read in `needs`, their use of rewards in `reward_use`, and the inputs of
/// the loss in `loss_use`.
/// Knobs are bound to members of pieces, so a piece must not move in memory afterwards.
class Knobs {
 public:
  PieceNeeds needs;
  RewardUse reward_use;
  LossUse loss_use;

  /// All that is bound or stated after this call belongs to this piece.
  void enter(std::string_view family, std::string_view piece);

  void number(std::string name, double& target, Range range, std::string meaning);
  /// A knob with one of `names` as its value. The index of a name is the enumerator's value.
  template <class Enum>
  void choice(std::string name, Enum& target, std::vector<std::string> names, std::string meaning) {
    add_choice(
        std::move(name), std::move(names), std::move(meaning),
        [&target](std::size_t i) { target = static_cast<Enum>(i); },
        [&target] { return static_cast<std::size_t>(target); });
  }
  /// A knob that gives numbers to names, as in "correct=1, format=0.5", each number in `range`. An
  /// assignment replaces all that the target held.
  void numbers(std::string name, std::map<std::string, double>& target, Range range,
               std::string meaning);
  /// A knob that is a list of names, as in "correct, format", or "none". An assignment replaces all
  /// that the target held.
  void words(std::string name, std::vector<std::string>& target, std::string meaning);
  /// Refuses a combination of settings that makes no sense: check() throws if wrong() is true after
  /// all settings are made.
  void refuse_if(std::function<bool()> wrong, std::string problem, std::string why,
                 std::string suggestion);
  /// The knob that was bound last has no sensible default: a run must set it.
  void must_be_set();
  /// Knobs that must be set and have not been set, as family.knob.
  std::vector<std::string> unset() const;
  /// A number of the piece that changes from step to step: a scheduled value, a controller's
  /// coefficient or a moving statistic.
  void moves(std::string name, std::function<double(const Step&)> value) {
    moving_.push_back({std::move(name), std::move(value)});
  }
  const std::vector<Moving>& moving() const { return moving_; }

  /// A knob of a chosen piece. Throws std::logic_error if the piece has no such knob.
  const Knob& knob(std::string_view family, std::string_view piece, std::string_view name) const;
  const std::vector<Knob>& all() const { return knobs_; }

  /// `key` is "clip_low" or "surrogate.clip_low". Throws ConfigError: unknown or ambiguous key,
  /// value out of range.
  void set(const std::string& key, const std::string& value);
  /// Throws ConfigError for a combination that a piece refuses.
  void check() const;

 private:
  struct Rule {
    std::function<bool()> wrong;
    std::string problem, why, suggestion;
  };
  void add(std::string name, std::string meaning, std::string valid,
           std::function<void(const std::string&)> assign, std::function<std::string()> value);
  void add_choice(std::string name, std::vector<std::string> names, std::string meaning,
                  std::function<void(std::size_t)> assign, std::function<std::size_t()> value);
  std::string family_, piece_;
  std::vector<Knob> knobs_;
  std::vector<Rule> rules_;
  std::vector<Moving> moving_;
};

/// For a piece that trains on column `correct` instead of the reward; it states the need for the
/// column as well.
void trains_on_correct(Knobs& knobs);

}  // namespace rollcall::objective
