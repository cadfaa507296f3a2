// The functions that the rows of environments.cpp name, each in the file of its name.
#pragma once

#include "core/run_config.hpp"
#include "environment/environment.hpp"

#include <memory>

namespace rollcall::environment {

/// A wrong answer may be given again. The state is a JSON list of the answers so far. Nothing is
/// paid: the run's verifier judges the last action, with which the conversation ends where that is
/// right. Throws ConfigError for tasks whose answers no verifier can judge at once.
std::unique_ptr<const Environment> make_retry(const RunConfig& config);

// Those below play the prompts of the task of their name, and throw ConfigError for another. An
// action is one word, in letters of either case; a closed thought before it does not count. One that
// cannot be read changes nothing and is flagged `invalid`. The policy is told what it sees then, in
// the form of the prompt's plain text, and nothing where the conversation ends.

/// 1 for the goal. Walls and closed doors leave the policy where it is.
std::unique_ptr<const Environment> make_key_door(const RunConfig& config);
/// As key_door, with a key for each door.
std::unique_ptr<const Environment> make_rooms(const RunConfig& config);
/// 1 for the goal; a hole ends the conversation. Slippery ice moves in the direction that was said
/// or in one of the two beside it, each with probability 1/3, as in Gymnasium's FrozenLake.
std::unique_ptr<const Environment> make_frozen_lake(const RunConfig& config);
/// 1 / pulls for each pull that pays. Solved: the best machine was pulled more often than each
/// other one. The start's seed draws which that is.
std::unique_ptr<const Environment> make_bandit(const RunConfig& config);
/// 1 for the right guess. The start's seed draws which thing is meant. Kinds: question, guess.
std::unique_ptr<const Environment> make_twenty_questions(const RunConfig& config);
/// 1 for the right number. The start's seed draws which one is meant.
std::unique_ptr<const Environment> make_number_dialogue(const RunConfig& config);
/// The share of colour, size and kind that are as wished for, of what is bought. The start's seed
/// draws colours and sizes. Kinds: open, back, buy.
std::unique_ptr<const Environment> make_shop(const RunConfig& config);
/// The share of the fields that are as they were wanted when the form is sent. Kinds: fill, click.
std::unique_ptr<const Environment> make_forms(const RunConfig& config);

}  // namespace rollcall::environment
