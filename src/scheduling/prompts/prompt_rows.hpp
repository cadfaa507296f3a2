// What a scheduler knows about individual prompts, as rows. They are the large part of its state,
// and a checkpoint writes only the rows that have changed.
#pragma once

#include "scheduling/prompts/prompt_history.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::scheduling {

/// Outcomes of a prompt, and its place among the members of its difficulty bin.
struct HistoryRow {
  std::uint32_t prompt = 0;
  PromptHistory::Entry entry{};
  std::uint32_t slot = 0;
};
static_assert(sizeof(HistoryRow) == 24);

/// Fading counts of a prompt's right and wrong rollouts, as of the step of its last result.
struct SuccessRow {
  double right = 0.0, wrong = 0.0;
  std::uint32_t prompt = 0, step = 0;
};
static_assert(sizeof(SuccessRow) == 24);

struct PromptRows {
  std::vector<HistoryRow> history{};  ///< ascending prompt, each once, as in `success`
  std::vector<SuccessRow> success{};
  std::size_t size() const { return history.size() + success.size(); }
};

/// Format 2, little-endian: "rollrows", format (u32), number of tables (u32); for each table the
/// width of a row in bytes (u32), zero (u32) and the number of rows (u64); then the rows of one
/// table after another, with the memory layout of the structures above.
std::string to_bytes(const PromptRows& rows);
/// Throws StorageError when the bytes are not in the format of to_bytes().
PromptRows rows_from_bytes(std::string_view bytes);

/// Merges newer rows into `rows`. They replace the rows of the same prompts.
void update(PromptRows& rows, const PromptRows& newer);

/// Rows as JSON: [prompt, low, middle, upper, high, length, bin, slot] and [prompt, right, wrong,
/// step]. Doubles are printed in the shortest form that reads back exactly.
nlohmann::json to_json(const std::vector<HistoryRow>& rows);
nlohmann::json to_json(const std::vector<SuccessRow>& rows);
std::vector<HistoryRow> history_rows(const nlohmann::json& rows);
std::vector<SuccessRow> success_rows(const nlohmann::json& rows);

}  // namespace rollcall::scheduling
