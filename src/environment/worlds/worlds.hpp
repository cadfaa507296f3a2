// The functions that the rows of environments.cpp name, each in the file of the same name.
#pragma once

#include "core/run_config.hpp"
#include "environment/environment.hpp"

#include <memory>

namespace rollcall::environment {

/// A wrong answer may be given again. The state is a JSON list of the answers so far. Nothing is
/// paid. The run's verifier judges the last action, and the conversation ends if that action is
/// right. Throws ConfigError for tasks with answers that no verifier can judge at once.
std::unique_ptr<const Environment> make_retry(const RunConfig& config);

// The environments below play the prompts of the task of the same name, and throw ConfigError for
// any other task. An action is one word in upper or lower case, and a closed thought before it does
// not count. An action that cannot be read changes nothing and is flagged `invalid`. After each
// action the policy is shown the new state in the form of the prompt's plain text, or nothing if
// the conversation ends.

/// 1 for the goal. Walls and closed doors leave the policy where it is.
std::unique_ptr<const Environment> make_key_door(const RunConfig& config);
/// As key_door, with a key for each door.
std::unique_ptr<const Environment> make_rooms(const RunConfig& config);
/// 1 for the goal. A hole ends the conversation. On slippery ice the policy moves in the chosen
/// direction or in one of the two perpendicular ones, each with probability 1/3, as in Gymnasium's
/// FrozenLake.
std::unique_ptr<const Environment> make_frozen_lake(const RunConfig& config);
/// 1 / pulls for each pull that pays. Solved: the best machine was pulled more often than any
/// other. The start's seed decides which machine is the best.
std::unique_ptr<const Environment> make_bandit(const RunConfig& config);
/// 1 for the right guess. The start's seed decides which thing is meant. Kinds: question, guess.
std::unique_ptr<const Environment> make_twenty_questions(const RunConfig& config);
/// 1 for the right number. The start's seed decides which number is meant.
std::unique_ptr<const Environment> make_number_dialogue(const RunConfig& config);
/// The share of colour, size and kind in which the bought thing matches the wish. The start's seed
/// draws colours and sizes. Kinds: open, back, buy.
std::unique_ptr<const Environment> make_shop(const RunConfig& config);
/// The share of the fields that have the wanted values when the form is sent. Kinds: fill, click.
std::unique_ptr<const Environment> make_forms(const RunConfig& config);

}  // namespace rollcall::environment
