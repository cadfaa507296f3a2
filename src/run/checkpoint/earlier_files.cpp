// The file with the list is the parent's coordinator state, as JSON.
#include "run/checkpoint/earlier_files.hpp"

#include "run/folder/branch_leftovers.hpp"

#include <utility>

namespace rollcall::run {
namespace fs = std::filesystem;

EarlierFiles parse_earlier(const std::string& text, const std::string& origin) {
  auto state = parse_coordinator_state(text, origin);
  return {std::uint64_t(state.train_steps) + 1, std::move(state.unpacked)};
}

fs::path earlier_list(const fs::path& run_dir) { return run_dir / kParentFolder / "earlier.json"; }

}  // namespace rollcall::run
