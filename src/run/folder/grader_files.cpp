// A grader consists of all files that its command line names: a program, a script for an
// interpreter, or tables that it reads.
#include "run/folder/grader_files.hpp"

#include "base/files/file.hpp"
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
#include <sstream>

namespace rollcall::run {
namespace {

namespace fs = std::filesystem;

bool is_readable(const fs::path& path) {
  std::error_code unknown;
  return !path.empty() && fs::is_regular_file(path, unknown) && ::access(path.c_str(), R_OK) == 0;
}

/// The file that a word of a command names: the word itself, or FILE if the word is
/// FILE.py:FUNCTION.
std::string named_file(const std::string& word) {
  const auto colon = word.rfind(".py:");
  return colon == std::string::npos || is_readable(word) ? word : word.substr(0, colon + 3);
}

/// The modules that a Python text imports, as `import a.b, c` or `from a.b import c`.
std::vector<std::string> imported_modules(const std::string& text) {
  std::vector<std::string> modules;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    const bool takes_one = word == "from";
    if (!takes_one && word != "import") continue;
    for (bool is_next = true; words >> word; is_next = word.back() == ',') {
      std::string name = word.substr(0, word.find_first_of(",;#"));
      if (is_next && !name.empty()) modules.push_back(std::move(name));
      if (takes_one) break;
    }
  }
  return modules;
}

/// Adds the file and, if it is a Python file, the modules that it imports from its own folder.
void add_file(std::vector<GraderFile>& files, const std::string& name, const fs::path& path) {
  const bool known = std::any_of(files.begin(), files.end(),
                                 [&](const GraderFile& file) { return file.path == name; });
  if (known || !is_readable(path)) return;
  files.push_back({name, file_checksum64(path)});
  if (path.extension() != ".py") return;
  for (std::string module : imported_modules(read_file(path))) {
    std::replace(module.begin(), module.end(), '.', '/');
    for (const std::string& file : {module + ".py", module + "/__init__.py"})
      add_file(files, (fs::path(name).parent_path() / file).string(), path.parent_path() / file);
  }
}

}  // namespace

std::vector<GraderFile> find_grader_files(const std::vector<std::string>& command) {
  std::vector<GraderFile> files;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string name = i == 0 ? command[i] : named_file(command[i]);
    add_file(files, name, i == 0 ? program_file(name) : fs::path(name));
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
