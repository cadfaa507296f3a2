// Collects every mistake in a run file and the files that it names, so that one message reports
// them all. Also gives hints about unknown keys.
#pragma once

#include "base/errors/error.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall {

/// The place where a setting was given.
struct Place {
  std::string text;  ///< "run.toml:3" or "--set train.steps=3"
  /// Number of the text or assignment, counted from 0, and the line in it.
  std::pair<std::uint32_t, std::uint32_t> order{};
  bool by_assignment = false;  ///< whether --set set it
  bool recorded = false;       ///< read from the run's own record, not given for this start
};
using Places = std::map<std::string, Place, std::less<>>;  ///< where each setting was given, by key

/// A mistake, with the settings that cannot be relied on because of it.
struct Fault {
  std::string message;              ///< "problem (why it matters); what to do"
  std::vector<std::string> keys{};  ///< settings in doubt: "train.steps", or kEverySetting for all
  bool is_placed = false;           ///< the message says where the mistake is
  std::pair<std::uint32_t, std::uint32_t> order{kLast, kLast};  ///< as Place::order
  static constexpr std::uint32_t kLast = UINT32_MAX;
};
inline constexpr const char* kEverySetting = "*";

/// The second base class of an error that reports several mistakes together.
class FaultList {
 public:
  explicit FaultList(std::vector<Fault> all) : all_(std::move(all)) {}
  virtual ~FaultList() = default;
  const std::vector<Fault>& all() const { return all_; }

 private:
  std::vector<Fault> all_;
};
template <class E>
class ErrorOfFaults final : public E, public FaultList {
 public:
  ErrorOfFaults(const std::string& message, std::vector<Fault> all)
      : E(message), FaultList(std::move(all)) {}
};

/// The message for these mistakes: one per line, those of a file in line order. A single mistake is
/// not listed but stated directly.
std::string text_of(std::vector<Fault> faults);
/// Throws one E for all `faults`; returns if there are none.
template <class E>
void require_no_faults(std::vector<Fault> faults) {
  if (faults.empty()) return;
  const std::string text = text_of(faults);
  throw ErrorOfFaults<E>(text, std::move(faults));
}

/// Collects mistakes, so that the author of a run file sees all of them at once.
class Faults {
 public:
  using Keys = std::vector<std::string_view>;

  /// Runs a check of these settings, unless an earlier mistake made one of them unreliable. A key
  /// that ends with a dot stands for its whole section. Collects configuration, input and
  /// environment errors that the check throws, and lets other errors through. A mistake is reported
  /// at the place of the key that its message names first, or else of the first key that was given.
  /// From then on the first of `keys` is unreliable. Returns whether the check was run and found
  /// nothing.
  bool check(const Keys& keys, const std::function<void()>& check);
  /// Like check(), for a condition that is known already, with the arguments of require().
  bool need(const Keys& keys, bool ok, const std::string& problem, std::string_view why,
            std::string_view suggestion);
  /// Adds a mistake that makes no setting unreliable, such as a setting that nothing reads.
  void tell(std::string_view key, const std::string& message);

  /// Adds the mistakes of another run file after those that are known.
  void join(const Faults& other);

  bool are_sound(const Keys& keys) const;
  bool empty() const { return faults_.empty(); }
  /// Throws one error for all mistakes: of the mistake's own kind if there is only one, else a
  /// ConfigError.
  void require_none() const;

  Places places{};  ///< the places of all settings that were given

 private:
  void add(const Keys& keys, const Error& error);
  void keep(const Keys& keys, Fault fault);
  const Place* place_of(const Keys& keys, const Fault& fault) const;
  bool is_sound(std::string_view key) const;
  enum class Kind { config, input, environment };
  std::vector<Fault> faults_{};
  /// messages that were added; settings that are unreliable
  std::set<std::string, std::less<>> messages_{}, wrong_{};
  Kind first_ = Kind::config;
};

/// Position of a name in a text at which it is not part of a longer name; npos if there is none.
std::size_t find_name(std::string_view text, std::string_view name);

/// Returns a hint about a key that no schema has, such as the name that it has here if another
/// program uses it; empty for no hint. hint_at_keys() sets it once, before any file is read.
using KeyHint = std::string (*)(std::string_view key);
void hint_at_keys(KeyHint hint);

/// Whether one name may be a misspelling of the other: their edit distance is at most a third of
/// the shorter name's length, or at most 2 (1 if that name has up to three letters), or a name
/// of three or more letters is part of the other. suggest_name() (base/errors/nearest.hpp) suggests
/// only such names.
bool is_near(std::string_view name, std::string_view other);

}  // namespace rollcall
