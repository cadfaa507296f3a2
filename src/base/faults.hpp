// All that is wrong with a run file and the files that it names, gathered and told at once; and
// hints about keys that are none.
#pragma once

#include "base/error.hpp"

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

/// Where a setting was given.
struct Place {
  std::string text;                                 ///< "run.toml:3" or "--set train.steps=3"
  std::pair<std::uint32_t, std::uint32_t> order{};  ///< of what was read, from 0; and the line
  bool by_assignment = false;                       ///< by --set
  bool recorded = false;  ///< by a run's own record, and by nobody for this start
};
using Places = std::map<std::string, Place, std::less<>>;  ///< by key

/// A mistake, with the settings that cannot be relied on because of it.
struct Fault {
  std::string message;              ///< "problem (why it matters); what to do"
  std::vector<std::string> keys{};  ///< "train.steps"; kEverySetting
  bool is_placed = false;           ///< the message says where the mistake is
  std::pair<std::uint32_t, std::uint32_t> order{kLast, kLast};  ///< as Place::order
  static constexpr std::uint32_t kLast = UINT32_MAX;
};
inline constexpr const char* kEverySetting = "*";

/// What an error is besides that stands for mistakes found together.
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

/// The one message of an error about these: each on a line of its own, those of a file in the order
/// of its lines; alone where there is one.
std::string text_of(std::vector<Fault> faults);
/// Throws one E for all of them; returns where there are none.
template <class E>
void require_no_faults(std::vector<Fault> faults) {
  if (faults.empty()) return;
  const std::string text = text_of(faults);
  throw ErrorOfFaults<E>(text, std::move(faults));
}

/// Gathers what is wrong. Whoever corrects a run file wants to see all of it.
class Faults {
 public:
  using Keys = std::vector<std::string_view>;

  /// Makes a check of these settings, unless one of them cannot be relied on. A key that ends with
  /// a
  /// dot is its whole section. Keeps what the check throws of configuration, input and environment.
  /// It is told with the place of the key that the message names first, or else of the first one
  /// that was given, and from then on nobody relies on the first key. Lets other errors through.
  /// Returns whether the check was made and found nothing.
  bool check(const Keys& keys, const std::function<void()>& check);
  /// A check of values that are known, with require()'s arguments.
  bool need(const Keys& keys, bool ok, const std::string& problem, std::string_view why,
            std::string_view suggestion);
  /// A mistake that leads no other check astray, such as a setting that nothing reads.
  void tell(std::string_view key, const std::string& message);

  /// What is wrong with another run file, below what is known already.
  void join(const Faults& other);

  bool are_sound(const Keys& keys) const;
  bool empty() const { return faults_.empty(); }
  /// Throws one error for all: as the kind of error that it was where there is one, else a
  /// ConfigError.
  void require_none() const;

  Places places{};  ///< of all settings that were given

 private:
  void add(const Keys& keys, const Error& error);
  void keep(const Keys& keys, Fault fault);
  const Place* place_of(const Keys& keys, const Fault& fault) const;
  bool is_sound(std::string_view key) const;
  enum class Kind { config, input, environment };
  std::vector<Fault> faults_{};
  /// told already; settings that cannot be relied on
  std::set<std::string, std::less<>> messages_{}, wrong_{};
  Kind first_ = Kind::config;
};

/// Where a text has this name, and not as a part of a longer one; npos: nowhere.
std::size_t find_name(std::string_view text, std::string_view name);

/// What to say of a key that no schema has, such as what another program's key is called here;
/// empty: nothing. Set once, before any file is read.
using KeyHint = std::string (*)(std::string_view key);
void hint_at_keys(KeyHint hint);

/// Whether one name may be a slip for the other: a third of the shorter one's letters differ at
/// most, or two, or one holds the other. suggest_name (base/nearest.hpp) suggests nothing else.
bool is_near(std::string_view name, std::string_view other);

}  // namespace rollcall
