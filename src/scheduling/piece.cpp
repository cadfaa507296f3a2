// Pieces without a state, and rounds that end with the first one.
#include "scheduling/piece.hpp"

#include "base/error.hpp"
#include "base/json.hpp"

namespace rollcall::scheduling {

nlohmann::json Piece::save() const { return nlohmann::json::object(); }

void Piece::load(const nlohmann::json& state) {
  require<StorageError>(state.is_object() && state.empty(), "the saved state of a piece that keeps none is not empty",
                        "the run would not continue where it stopped", "resume with the scheduler section the run was started with");
}

bool Piece::load_changed(const nlohmann::json& state, const PromptMap&) { return state.empty(); }

Decision Rounds::next(const StepRequest&, std::uint32_t, const std::vector<GroupReport>&, Sampler&) { return {}; }

}  // namespace rollcall::scheduling
