// Collects mistakes and reports them in one message.
#include "base/errors/faults.hpp"

#include "base/errors/visible.hpp"
#include "base/files/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace rollcall {
namespace {

// Mistakes that one message shows. The rest can wait until these are corrected.
constexpr std::size_t kMostShown = 50;
constexpr std::size_t kLongest = 1000;  // bytes shown of each of several mistakes

constexpr std::size_t kMost = 1000;  // mistakes that are kept

/// A key without the final dot that marks it as a section.
std::string_view name_of(std::string_view key) {
  return key.ends_with('.') ? key.substr(0, key.size() - 1) : key;
}

/// Whether `part` is `key`, or one of the keys of a section or table `key`.
bool is_within(std::string_view part, std::string_view key) {
  const std::string_view outer = name_of(key);
  return part.starts_with(outer) && (part.size() == outer.size() || part[outer.size()] == '.');
}

}  // namespace

std::size_t find_name(std::string_view text, std::string_view name) {
  const auto in_a_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !in_a_name(text[at - 1])) && (end == text.size() || !in_a_name(text[end])))
      return at;
  }
  return std::string_view::npos;
}

std::string text_of(std::vector<Fault> faults) {
  if (faults.size() == 1) return faults.front().message;
  std::stable_sort(faults.begin(), faults.end(),
                   [](const Fault& a, const Fault& b) { return a.order < b.order; });
  std::string text = fmt::format(
      "{}{} mistakes, one a line:", faults.size() < kMost ? "" : "at least ", faults.size());
  for (std::size_t i = 0; i < std::min(faults.size(), kMostShown); ++i)
    text.append("\n").append(visible(brief(faults[i].message, kLongest)));
  return faults.size() <= kMostShown ? text
                                     : fmt::format("{}\n{} more are told once these are corrected",
                                                   text, faults.size() - kMostShown);
}

bool Faults::check(const Keys& keys, const std::function<void()>& check) {
  if (faults_.size() >= kMost || !are_sound(keys)) return false;
  try {
    check();
    return true;
  } catch (const Error& error) {
    if (error.code() != ExitCode::misconfigured) throw;
    add(keys, error);
  } catch (const std::filesystem::filesystem_error& error) {
    if (exit_code_of(error) != ExitCode::misconfigured) throw;
    add(keys, InputError(message_of(error)));
  }
  return false;
}

bool Faults::need(const Keys& keys, bool ok, const std::string& problem, std::string_view why,
                  std::string_view suggestion) {
  return check(keys, [&] { require<ConfigError>(ok, problem, why, suggestion); });
}

void Faults::add(const Keys& keys, const Error& error) {
  if (faults_.empty() && dynamic_cast<const InputError*>(&error) != nullptr) first_ = Kind::input;
  if (faults_.empty() && dynamic_cast<const EnvironmentError*>(&error) != nullptr)
    first_ = Kind::environment;
  if (const auto* several = dynamic_cast<const FaultList*>(&error)) {
    for (const Fault& fault : several->all()) keep(keys, fault);
  } else {
    keep(keys, {.message = error.what()});
  }
}

void Faults::tell(std::string_view key, const std::string& message) {
  Fault fault{.message = message};
  if (const Place* place = place_of({key}, fault))
    fault = {fmt::format("{}: {}", place->text, message), {}, true, place->order};
  keep({}, std::move(fault));
}

void Faults::keep(const Keys& keys, Fault fault) {
  if (const Place* place = fault.is_placed ? nullptr : place_of(keys, fault)) {
    fault.message = fmt::format("{}: {}", place->text, fault.message);
    fault.order = place->order, fault.is_placed = true;
  }
  if (fault.keys.empty() && !keys.empty()) fault.keys.emplace_back(keys.front());
  for (const auto& key : fault.keys) wrong_.emplace(name_of(key));
  if (faults_.size() < kMost && messages_.insert(fault.message).second)
    faults_.push_back(std::move(fault));
}

void Faults::join(const Faults& other) {
  std::uint32_t behind = 0;
  for (const Fault& fault : faults_)
    if (fault.order.first != Fault::kLast) behind = std::max(behind, fault.order.first + 1);
  if (faults_.empty()) first_ = other.first_;
  for (Fault fault : other.faults_) {
    if (fault.order.first != Fault::kLast) fault.order.first += behind;
    fault.is_placed = true;  // so that a fault without a place is given none from this run file
    keep({}, std::move(fault));
  }
}

/// The place of the setting that the fault itself is about, else of the one that its message names
/// first, else of the first one that was given.
const Place* Faults::place_of(const Keys& keys, const Fault& fault) const {
  for (const auto& own : fault.keys)
    if (const auto given = places.find(own); given != places.end()) return &given->second;
  const Place* first = nullptr;
  std::size_t at = std::string_view::npos;
  for (const auto key : keys)
    for (auto place = places.lower_bound(name_of(key));
         place != places.end() && place->first.starts_with(name_of(key)); ++place)
      if (const auto found =
              is_within(place->first, key) ? find_name(fault.message, place->first) : at;
          found < at)
        first = &place->second, at = found;
  for (const auto key : keys)
    if (const auto given = places.find(key); first == nullptr && given != places.end())
      first = &given->second;
  return first;
}

bool Faults::is_sound(std::string_view key) const {
  if (wrong_.contains(kEverySetting)) return false;
  const auto inner = wrong_.lower_bound(name_of(key));
  for (auto below = inner; below != wrong_.end() && below->starts_with(name_of(key)); ++below)
    if (is_within(*below, key)) return false;
  for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1))
    if (wrong_.contains(key.substr(0, dot))) return false;
  return true;
}

bool Faults::are_sound(const Keys& keys) const {
  return std::all_of(keys.begin(), keys.end(), [&](std::string_view key) { return is_sound(key); });
}

void Faults::require_none() const {
  if (faults_.size() == 1 && first_ == Kind::input) require_no_faults<InputError>(faults_);
  if (faults_.size() == 1 && first_ == Kind::environment)
    require_no_faults<EnvironmentError>(faults_);
  require_no_faults<ConfigError>(faults_);
}

}  // namespace rollcall
