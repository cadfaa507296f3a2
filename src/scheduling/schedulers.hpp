// The table of scheduling schedulers and the four tables of pieces that its rows name. METHODS.md
// has the same rows for people.
#pragma once

#include "scheduling/piece.hpp"

#include <span>
#include <string>
#include <vector>

namespace rollcall::scheduling {

/// One published way to choose prompts and budgets.
struct SchedulerRow {
  const char* name;
  const char* title;
  const char* paper;  ///< arXiv number, or the program it comes from
  int year;
  SchedulerChoice pieces;  ///< `row` empty
  Knobs settings;          ///< where the paper departs from the pieces' defaults
  const char* lacks = "";  ///< what of the paper's method this row does not do; empty: it is
                           ///< complete
};

const std::vector<SchedulerRow>& schedulers();
std::span<const PieceRow<Sampler>> samplers();
std::span<const PieceRow<Allocator>> allocators();
std::span<const PieceRow<Rounds>> rounds();
std::span<const PieceRow<Selection>> selections();

/// A choice with every piece named. Throws ConfigError on an unknown row or piece.
SchedulerChoice resolve(const SchedulerChoice& choice);
/// Every knob of the resolved pieces: key, default as the row sets it, meaning; one line each.
std::string describe_knobs(const SchedulerChoice& choice);
std::vector<std::string> knob_names(const SchedulerChoice& choice);

}  // namespace rollcall::scheduling
