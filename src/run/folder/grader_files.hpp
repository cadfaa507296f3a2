// The files behind reward.command, by their hashes: the program, and what its words name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::run {

struct GraderFile {
  std::string path;            ///< as the command names it
  std::uint64_t checksum = 0;  ///< XXH3-64
  friend bool operator==(const GraderFile&, const GraderFile&) = default;
};

/// Those that are there, in the command's order: its program, looked for in PATH as a shell does,
/// and each other word that names a file. Empty without a command.
std::vector<GraderFile> find_grader_files(const std::vector<std::string>& command);

/// What differs, as one clause a file: "./grade has changed"; empty where nothing does.
std::string changes_of(const std::vector<GraderFile>& before, const std::vector<GraderFile>& now);

std::string to_json(const std::vector<GraderFile>& files);  ///< [{"path", "xxh3_64"}]
/// Throws nlohmann::json::exception, std::invalid_argument.
std::vector<GraderFile> parse_grader_files(const std::string& json);

}  // namespace rollcall::run
