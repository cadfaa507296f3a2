// Named settings of the chosen pieces: what a row of the table or a run file may change, with range
// and meaning.
#pragma once

#include "base/config.hpp"
#include "base/error.hpp"

#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::objective {

class Step;  // columns.hpp

/// What a piece lets move from step to step, for the metric moving/NAME; NaN where it stays.
struct Moving {
  std::string name;
  std::function<double(const Step&)> value;  ///< in this step
};

/// What the loss depends on in the place of what rollouts are paid, by a piece that looks past it.
struct TrainsOn {
  std::string family, piece;
  std::function<bool()> when;
  std::string what;                             ///< "which answers are correct"
  std::function<at::Tensor(const Step&)> paid;  ///< [B] the same as a number, which a scheduler
                                                ///< hears; none: verdicts do not enter
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

/// What the chosen pieces say about themselves while they are made. Pieces bind members, so a piece
/// must not move afterwards.
class Knobs {
 public:
  /// What is bound from here on belongs to this piece.
  void enter(std::string_view family, std::string_view piece);

  void number(std::string name, double& target, Range range, std::string meaning);
  /// The index of a name is the enumerator's value.
  template <class Enum>
  void choice(std::string name, Enum& target, std::vector<std::string> names, std::string meaning) {
    add_choice(
        std::move(name), std::move(names), std::move(meaning),
        [&target](std::size_t i) { target = static_cast<Enum>(i); },
        [&target] { return static_cast<std::size_t>(target); });
  }
  /// Numbers by name, "correct=1, format=0.5", each in `range`. What the target held goes when it
  /// is assigned.
  void numbers(std::string name, std::map<std::string, double>& target, Range range,
               std::string meaning);
  /// Names, "correct, format", or "none". What the target held goes when it is assigned.
  void words(std::string name, std::vector<std::string>& target, std::string meaning);
  /// A mix of settings that cannot be meant: checked by check(), after all settings are made.
  void refuse_if(std::function<bool()> wrong, std::string problem, std::string why,
                 std::string suggestion);
  /// A number of the piece that moves: a schedule's, a controller's, a moving statistic's.
  void moves(std::string name, std::function<double(const Step&)> value) {
    moving_.push_back({std::move(name), std::move(value)});
  }
  const std::vector<Moving>& moving() const { return moving_; }
  /// The knob bound last has no default that could be meant: a run must set it.
  void must_be_set();
  /// Of those, the ones that are not.
  std::vector<std::string> unset() const;
  /// An optional column (StepColumns::named) that the piece reads, always or under some settings.
  void needs_column(std::function<bool()> needed, std::string column);
  void needs_column(std::string column);
  /// whose name depends on a setting
  void needs_column(std::function<std::string()> column);
  /// as many as a setting names
  void needs_columns(std::function<std::vector<std::string>()> columns);
  /// The piece reads MicroBatch::value, so the value head must run.
  void needs_value() { needs_value_ = true; }
  /// The piece couples the rollouts of a group under the current policy, so a micro-batch must hold
  /// all of them.
  void needs_whole_groups() { needs_whole_groups_ = true; }
  bool value_needed() const { return needs_value_; }
  bool whole_groups_needed() const { return needs_whole_groups_; }

  /// An advantage that does not read Step::reward, or a surrogate that reads neither it nor the
  /// advantage.
  void trains_on(std::string what, std::function<bool()> when,
                 std::function<at::Tensor(const Step&)> paid = {});
  void trains_on_correct();  ///< on column correct, which it needs
  /// Of the chosen pieces, one of these. The surrogate's comes first: it sees what an advantage
  /// leaves. Null: the loss reads the reward.
  const TrainsOn* in_place_of_reward() const;
  /// An advantage that reads rewards of single tokens (Step::token_reward).
  void reads_token_rewards() { reads_token_rewards_ = true; }
  bool token_rewards_read() const { return reads_token_rewards_; }
  /// A piece of reward that pays tokens and not rollouts.
  void pays_tokens(std::function<bool()> when) { pays_tokens_.push_back(std::move(when)); }
  bool tokens_paid() const;
  /// An advantage that subtracts from the reward what is on the scale of the verifier's.
  void subtracts_verifiers(std::function<bool()> when, std::function<std::string()> what) {
    subtracts_.push_back({std::move(when), std::move(what)});
  }
  /// Columns that are subtracted so.
  std::vector<std::string> subtracted() const;

  /// Of the chosen piece; throws std::logic_error where it has no such knob.
  const Knob& knob(std::string_view family, std::string_view piece, std::string_view name) const;

  /// `key` is "clip_low" or "surrogate.clip_low". Throws ConfigError: unknown or ambiguous key,
  /// value out of range.
  void set(const std::string& key, const std::string& value);
  void check() const;
  std::vector<std::string> columns() const;
  /// those of one piece
  std::vector<std::string> columns(std::string_view family, std::string_view piece) const;
  const std::vector<Knob>& all() const { return knobs_; }

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
  struct Need {
    std::string family, piece;
    std::function<std::vector<std::string>()> columns;
  };
  std::vector<Need> columns_;
  struct Subtracted {
    std::function<bool()> when;
    std::function<std::string()> what;
  };
  std::vector<TrainsOn> trains_on_;
  std::vector<std::function<bool()>> pays_tokens_;
  std::vector<Subtracted> subtracts_;
  bool needs_value_ = false, needs_whole_groups_ = false, reads_token_rewards_ = false;
};

}  // namespace rollcall::objective
