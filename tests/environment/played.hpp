// Built-in environments with prompts that they play, for their tests.
#pragma once

#include "environment/environments.hpp"
#include "task/task.hpp"
#include "task/worlds/grid.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::environment {

inline RunConfig config_of(const std::string& name) {
  RunConfig config;
  const char* task = find_environment(name).task;
  config.task.name = task != nullptr ? task : "arithmetic";
  config.task.min_level = 1, config.task.max_level = 6, config.task.tail_exponent = 0;
  config.task.train_prompts = 60, config.task.validation_prompts = 10;
  config.task.heldout_prompts = 10;
  return config;
}

inline task::PromptSet prompts_of(const std::string& name, std::uint64_t seed = 3) {
  const RunConfig config = config_of(name);
  return task::find_task(config.task.name).make(config.task, seed);
}

inline std::unique_ptr<const Environment> made(const std::string& name) {
  return find_environment(name).make(config_of(name));
}

/// Words that mean something in some world.
inline std::vector<std::string> words_of(const Prompt& prompt) {
  std::vector<std::string> words(task::kDirections.begin(), task::kDirections.end());
  words.insert(words.end(), {"s", "r", "c", "nowhere", "7", prompt.solution});
  std::string word;
  for (const char c : prompt.text)
    if (c >= 'a' && c <= 'z') word += c;
    else if (!word.empty()) words.push_back(std::exchange(word, {}));
  return words;
}

}  // namespace rollcall::environment
