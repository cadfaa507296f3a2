// Reads the values of a trace's lines. An error about a wrong value names its key.
#pragma once

#include "base/text/json.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::scheduling {

/// Throws InputError with a message of the usual form unless `ok`.
void check_line(
    bool ok, const std::string& problem,
    const std::string& suggestion = "see rollcall schedule --help",
    const char* why = "a line is a step: prompts, budget, select, and what they returned");
void check_keys(const nlohmann::json& object, const std::vector<std::string>& valid,
                const char* what);

const nlohmann::json& member(const nlohmann::json& object, const char* key);
/// Largest level and length: a scheduler stores them in 32 bits.
inline constexpr std::int64_t kMost32 = std::numeric_limits<std::int32_t>::max();
std::int64_t whole(const nlohmann::json& value, const std::string& name, std::int64_t least,
                   std::int64_t most = std::int64_t{1} << 53);
double number(const nlohmann::json& value, const std::string& name);
const nlohmann::json& list(const nlohmann::json& value, const std::string& name,
                           std::optional<std::size_t> size = std::nullopt);
std::vector<double> numbers(const nlohmann::json& value, const std::string& name,
                            std::optional<std::size_t> size = std::nullopt);

}  // namespace rollcall::scheduling
