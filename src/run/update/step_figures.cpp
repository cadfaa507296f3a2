// The figures of a step with one update equal the figures of the update, bit for bit.
#include "run/update/step_figures.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace rollcall::run {
namespace {

constexpr std::string_view kFirstAndLast[] = {"actor/pg_clipfrac", "actor/ppo_kl",
                                              "actor/grad_norm",   "actor/ratio_min",
                                              "actor/ratio_max",   "replay/ppo_kl"};
constexpr std::string_view kAlwaysLast[] = {"actor/ratio_min", "actor/ratio_max"};
// An update without this figure has the value 1.
constexpr std::string_view kLrFactor = "actor/lr_factor";

template <std::size_t N>
bool is_among(const std::string_view (&names)[N], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

void StepFigures::add(const Figures& update) {
  ++updates_;
  for (const auto& [name, value] : update) {
    auto& s = series_[name];
    const bool first = s.count++ == 0;
    s.first = first ? value : s.first, s.last = value;
    s.least = first ? value : std::min(s.least, value),
    s.most = first ? value : std::max(s.most, value);
    s.sum = first ? value : s.sum + value;  // not 0 + value: that would lose the sign of a zero
  }
}

StepFigures::Figures StepFigures::take(const Figures& rollouts, bool several) {
  Figures figures;
  if (const auto factor = series_.find(std::string(kLrFactor)); factor != series_.end()) {
    factor->second.sum += double(updates_ - factor->second.count);
    factor->second.count = updates_;
  }
  for (const auto& [name, s] : series_) {
    const bool least = name.ends_with("_min") || name.ends_with("/min"),
               most = name.ends_with("_max") || name.ends_with("/max");
    figures[name] = least                           ? s.least
                    : most                          ? s.most
                    : name.starts_with("timing_s/") ? s.sum
                                                    : s.sum / double(s.count);
    if (several && is_among(kFirstAndLast, name)) figures[name + "_first"] = s.first;
    if ((several && is_among(kFirstAndLast, name)) || is_among(kAlwaysLast, name))
      figures[name + "_last"] = s.last;
  }
  for (const auto& [name, value] : rollouts) figures[name] = value;
  series_.clear(), updates_ = 0;
  return figures;
}

}  // namespace rollcall::run
