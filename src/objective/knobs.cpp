// Reading settings into pieces, with messages that name the piece and the valid values.
#include "objective/knobs.hpp"

#include "base/errors/nearest.hpp"
#include "base/text/joined.hpp"
#include "objective/columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace rollcall::objective {
namespace {

double read_number(const std::string& text, const std::string& key, const std::string& meaning) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  require<ConfigError>(error == std::errc() && stop == end,
                       fmt::format("objective.knobs: {} = {} is not a number", key, text), meaning,
                       "write a plain number");
  return value;
}

void require_within(double value, Range range, const std::string& key, const std::string& text,
                    const std::string& meaning) {
  require<ConfigError>(value >= range.low && value <= range.high,
                       fmt::format("objective.knobs: {} = {} lies outside [{}, {}]", key, text,
                                   range.low, range.high),
                       meaning, "choose a value in that range");
}

constexpr const char* kNumbers = "NAME=NUMBER, ...";

std::map<std::string, double> read_numbers(const std::string& text, const std::string& key,
                                           Range range, const std::string& meaning) {
  std::map<std::string, double> numbers;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    std::string entry = text.substr(begin, end - begin);
    std::erase(entry, ' ');
    const auto equals = entry.find('=');
    require<ConfigError>(
        equals != std::string::npos && equals > 0,
        fmt::format("objective.knobs: {}: \"{}\" is not a name and a number", key, entry), meaning,
        fmt::format("write {}", kNumbers));
    const std::string name = entry.substr(0, equals);
    const double value =
        read_number(entry.substr(equals + 1), fmt::format("{}, {}", key, name), meaning);
    require_within(value, range, key, entry, meaning);
    require<ConfigError>(numbers.emplace(name, value).second,
                         fmt::format("objective.knobs: {} names {} twice", key, name), meaning,
                         "name it once");
    begin = end + 1;
  }
  return numbers;
}

}  // namespace

void Knobs::enter(std::string_view family, std::string_view piece) {
  family_ = family;
  piece_ = piece;
  needs.enter(family, piece);
  reward_use.enter(family, piece);
  loss_use.enter(family, piece);
}

void Knobs::add(std::string name, std::string meaning, std::string valid,
                std::function<void(const std::string&)> assign,
                std::function<std::string()> value) {
  knobs_.push_back({family_, piece_, std::move(name), std::move(meaning), std::move(valid),
                    std::move(assign), std::move(value)});
}

void Knobs::number(std::string name, double& target, Range range, std::string meaning) {
  const std::string key = family_ + "." + name;
  const auto assign = [&target, range, meaning, key](const std::string& text) {
    const double v = read_number(text, key, meaning);
    require_within(v, range, key, text, meaning);
    target = v;
  };
  add(std::move(name), std::move(meaning), fmt::format("[{}, {}]", range.low, range.high), assign,
      [&target] { return fmt::format("{}", target); });
}

void Knobs::add_choice(std::string name, std::vector<std::string> names, std::string meaning,
                       std::function<void(std::size_t)> assign,
                       std::function<std::size_t()> value) {
  const std::string key = family_ + "." + name, valid = fmt::format("{}", joined(names, ", "));
  const auto read = [names, meaning, key, assign = std::move(assign)](const std::string& text) {
    const auto found = std::find(names.begin(), names.end(), text);
    require<ConfigError>(found != names.end(),
                         fmt::format("objective.knobs: {} = {} is not a choice", key, text),
                         meaning, suggest_name(text, names));
    assign(std::size_t(found - names.begin()));
  };
  add(std::move(name), std::move(meaning), valid, read,
      [names, value = std::move(value)] { return names.at(value()); });
}

void Knobs::numbers(std::string name, std::map<std::string, double>& target, Range range,
                    std::string meaning) {
  const std::string key = family_ + "." + name;
  const auto assign = [&target, range, meaning, key](const std::string& text) {
    target = read_numbers(text, key, range, meaning);
  };
  const auto shown = [&target] {
    std::vector<std::string> entries;
    for (const auto& [entry, number] : target)
      entries.push_back(fmt::format("{}={}", entry, number));
    return entries.empty() ? std::string("none") : fmt::format("{}", joined(entries, ", "));
  };
  add(std::move(name), std::move(meaning), kNumbers, assign, shown);
}

void Knobs::words(std::string name, std::vector<std::string>& target, std::string meaning) {
  const auto assign = [&target](const std::string& text) {
    target.clear();
    for (std::size_t begin = 0; begin < text.size();) {
      const auto end = std::min(text.find(',', begin), text.size());
      std::string word = text.substr(begin, end - begin);
      std::erase(word, ' ');
      if (!word.empty() && word != "none") target.push_back(std::move(word));
      begin = end + 1;
    }
  };
  const auto shown = [&target] {
    return target.empty() ? std::string("none") : fmt::format("{}", joined(target, ", "));
  };
  add(std::move(name), std::move(meaning), "NAME, ... or none", assign, shown);
}

void Knobs::refuse_if(std::function<bool()> wrong, std::string problem, std::string why,
                      std::string suggestion) {
  rules_.push_back({std::move(wrong), std::move(problem), std::move(why), std::move(suggestion)});
}

void Knobs::must_be_set() { knobs_.back().required = true; }

std::vector<std::string> Knobs::unset() const {
  std::vector<std::string> keys;
  for (const auto& knob : knobs_) {
    if (knob.required && !knob.given) keys.push_back(knob.key());
  }
  return keys;
}

const Knob& Knobs::knob(std::string_view family, std::string_view piece,
                        std::string_view name) const {
  const auto found = std::find_if(knobs_.begin(), knobs_.end(), [&](const Knob& k) {
    return k.family == family && k.piece == piece && k.name == name;
  });
  expect(found != knobs_.end(), ("no chosen piece has a knob " + std::string(name)).c_str());
  return *found;
}

void Knobs::set(const std::string& key, const std::string& value) {
  std::vector<std::string> keys;
  std::vector<Knob*> found;
  for (auto& knob : knobs_) {
    keys.push_back(knob.key());
    if (key == knob.name || key == knob.key()) found.push_back(&knob);
  }
  require<ConfigError>(
      !found.empty(), fmt::format("objective.knobs: no chosen piece has a knob {}", key),
      "a setting that nothing reads would silently change nothing",
      keys.empty() ? "the chosen pieces have no knobs"
                   : suggest_name(key.find('.') == std::string::npos ? "." + key : key, keys));
  require<ConfigError>(
      found.size() == 1,
      fmt::format("objective.knobs: {} is a knob of {} chosen pieces", key, found.size()),
      "it must be clear which one is meant",
      "write family.knob, and choose a single piece of that family");
  found.front()->assign(value);
  found.front()->given = true;
}

void Knobs::check() const {
  for (const auto& rule : rules_)
    require<ConfigError>(!rule.wrong(), rule.problem, rule.why, rule.suggestion);
}

void trains_on_correct(Knobs& knobs) {
  knobs.needs.column(column::correct);
  knobs.reward_use.trains_on(
      "which answers are correct", [] { return true; },
      [](const Step& step) { return step.named(column::correct); });
}

}  // namespace rollcall::objective
