// Converts names of shard files to and from text.
#include "io/shard_name.hpp"

#include "base/files/file.hpp"

#include "io/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

// [Holds] The ending of the name of each kind of file.
constexpr std::array<const char*, 4> kEndings{".h5", "-scores.h5", "-scored.h5", "-training.h5"};

/// Removes "-<digits>" from the front and returns the number.
template <class T>
bool take_number(std::string_view& text, T& value) {
  if (text.empty() || text.front() != '-') return false;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(std::size_t(end - text.data()));
  return true;
}

}  // namespace

std::string ShardName::path() const {
  return fmt::format("shards/{}-{:06}-{:02}-{:04}{}", text_of(purpose), step, round, producer,
                     kEndings[std::size_t(holds)]);
}

std::optional<ShardName> ShardName::parse(const fs::path& path) {
  const std::string name = path.filename().string();
  for (std::size_t p = 0; p < kPurposes.size(); ++p) {
    if (!name.starts_with(kPurposes[p])) continue;
    ShardName parsed{.purpose = Purpose(p)};
    std::string_view rest = std::string_view(name).substr(kPurposes[p].size());
    if (!take_number(rest, parsed.step) || !take_number(rest, parsed.round) ||
        !take_number(rest, parsed.producer))
      continue;
    const auto ending = std::find(kEndings.begin(), kEndings.end(), rest);
    if (ending == kEndings.end()) continue;
    parsed.holds = Holds(ending - kEndings.begin());
    // a shard has exactly one name, so other numbers of zeros are refused
    if (fs::path(parsed.path()).filename() == name) return parsed;
  }
  return std::nullopt;
}

std::vector<ShardName> list_shards(const fs::path& run_dir) {
  std::vector<ShardName> names;
  for (const auto& file : list_folder(run_dir / "shards"))
    if (const auto name = ShardName::parse(file.path())) names.push_back(*name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace rollcall::io
