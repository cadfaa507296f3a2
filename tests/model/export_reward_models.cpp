// Writes the reward models with what Rollcall says of them, for tests/model/reward_model_parity.py:
// export_reward_models FOLDER.
#include "model/reward_models.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  using namespace rollcall::model;
  if (argc != 2) {
    std::fputs("usage: export_reward_models FOLDER\n", stderr);
    return 2;
  }
  for (const auto& [name, config] : testing::reward_reference_models()) {
    const auto folder = std::filesystem::path(argv[1]) / name;
    const auto sequences = testing::reward_sequences(config);
    testing::write_reward_model(folder, config);
    rollcall::write_file_atomic(
        folder / "reference.json",
        nlohmann::json{{"sequences", sequences},
                       {"scores", testing::scores_of(folder, sequences, 1024)}}
            .dump());
  }
}
