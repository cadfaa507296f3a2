// The table of schedulers, and the four tables of pieces that its rows name. METHODS.md has the
// same rows in a form for people to read.
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
  const char* paper;  ///< arXiv number, or the program that it comes from
  int year;
  SchedulerChoice pieces;  ///< its `row` is empty
  Knobs settings;          ///< settings of the paper that differ from the pieces' defaults
  const char* lacks = "";  ///< the part of the paper's method that this row does not do; empty:
                           ///< the row is complete
};

const std::vector<SchedulerRow>& schedulers();
std::span<const PieceRow<Sampler>> samplers();
std::span<const PieceRow<Allocator>> allocators();
std::span<const PieceRow<Rounds>> rounds();
std::span<const PieceRow<Selection>> selections();

/// The choice with every piece filled in. Throws ConfigError on an unknown row or piece.
SchedulerChoice resolve(const SchedulerChoice& choice);
/// One line for every knob of the resolved pieces: key, default as the row sets it, and meaning.
std::string describe_knobs(const SchedulerChoice& choice);
std::vector<std::string> knob_names(const SchedulerChoice& choice);

}  // namespace rollcall::scheduling
