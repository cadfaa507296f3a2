// The files that reward.command names, by their hashes: the program and what its arguments name.
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

/// The files of the command that exist and can be read, in its order: its program, looked for in
/// PATH if the command names it without a slash, and each argument that names a file, or names it as
/// FILE.py:FUNCTION. After a Python file come those that it imports from its own folder. Empty
/// without a command.
std::vector<GraderFile> find_grader_files(const std::vector<std::string>& command);

/// The differences, as one clause for each file: "./grade has changed". Empty where there are none.
std::string changes_of(const std::vector<GraderFile>& before, const std::vector<GraderFile>& now);

std::string to_json(const std::vector<GraderFile>& files);  ///< [{"path", "xxh3_64"}]
/// Throws nlohmann::json::exception, std::invalid_argument.
std::vector<GraderFile> parse_grader_files(const std::string& json);

}  // namespace rollcall::run
