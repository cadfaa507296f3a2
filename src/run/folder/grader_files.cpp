// A grader consists of all files that its command line names: a program, a script for an
// interpreter, or tables that it reads.
#include "run/folder/grader_files.hpp"

#include "base/numbers/hash.hpp"
#include "base/process/program.hpp"
#include "base/text/joined.hpp"
#include "base/text/json.hpp"
#include "io/checksum_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace rollcall::run {
namespace fs = std::filesystem;

std::vector<GraderFile> find_grader_files(const std::vector<std::string>& command) {
  std::vector<GraderFile> files;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const fs::path path = i == 0 ? program_file(command[i]) : fs::path(command[i]);
    std::error_code unknown;
    if (!path.empty() && fs::is_regular_file(path, unknown) && ::access(path.c_str(), R_OK) == 0)
      files.push_back({command[i], file_checksum64(path)});
  }
  return files;
}

std::string changes_of(const std::vector<GraderFile>& before, const std::vector<GraderFile>& now) {
  const auto of = [](const std::vector<GraderFile>& files, const std::string& path) {
    return std::find_if(files.begin(), files.end(),
                        [&](const GraderFile& file) { return file.path == path; });
  };
  std::vector<std::string> said;
  for (const auto& file : before) {
    const auto other = of(now, file.path);
    if (other == now.end()) said.push_back(file.path + " is gone");
    else if (other->checksum != file.checksum) said.push_back(file.path + " has changed");
  }
  for (const auto& file : now)
    if (of(before, file.path) == before.end()) said.push_back(file.path + " is new");
  return fmt::format("{}", joined(said, ", "));
}

std::string to_json(const std::vector<GraderFile>& files) {
  auto list = nlohmann::json::array();
  for (const auto& file : files)
    list.push_back({{"path", file.path}, {"xxh3_64", hex64(file.checksum)}});
  return list.dump();
}

std::vector<GraderFile> parse_grader_files(const std::string& text) {
  std::vector<GraderFile> files;
  for (const auto& file : nlohmann::json::parse(text))
    files.push_back({file.at("path").get<std::string>(),
                     io::checksum_from_text(file.at("xxh3_64").get<std::string>())});
  return files;
}

}  // namespace rollcall::run
