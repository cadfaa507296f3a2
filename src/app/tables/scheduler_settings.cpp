// Splits settings at their first '='.
#include "app/tables/scheduler_settings.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <charconv>

namespace rollcall::app {
namespace {

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  require<ConfigError>(error == std::errc() && end == text.data() + text.size() && !text.empty(),
                       fmt::format("--set seed={}", text), "it addresses all random draws",
                       "write an integer of at least 0");
  return seed;
}

std::string* piece_of(scheduling::SchedulerChoice& choice, const std::string& family) {
  if (family == "sampler") return &choice.sampler;
  if (family == "allocator") return &choice.allocator;
  if (family == "rounds") return &choice.rounds;
  return family == "selection" ? &choice.selection : nullptr;
}

}  // namespace

void PolicySettings::set(const std::string& assignment) {
  const auto equals = assignment.find('=');
  require<ConfigError>(equals != std::string::npos && equals > 0,
                       fmt::format("--set {}", assignment), "a setting is a key and a value",
                       "write --set key=value");
  const std::string key = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  if (key == "seed") {
    seed = seed_of(value);
  } else if (key == "hears") {
    require<ConfigError>(
        value == "reward" || value == "verifier", fmt::format("--set {}", assignment),
        "it says which rewards the policy hears", "write hears=reward or hears=verifier");
    hears_shaped = value == "reward";
  } else if (std::string* piece = piece_of(choice, key)) {
    *piece = value;
  } else {
    knobs.emplace_back(key, value);
  }
}

bool PolicySettings::names_piece(const std::string& assignment) {
  scheduling::SchedulerChoice any;
  return piece_of(any, assignment.substr(0, assignment.find('='))) != nullptr;
}

}  // namespace rollcall::app
