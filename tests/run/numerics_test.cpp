// What a run was computed in, as text; and which of several devices a rank takes, by what the
// launcher says.
#include "run/context/numerics.hpp"

#include "base/text/json.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace rollcall::run {
namespace {

TEST(Numerics, AreToldStepByStep) {
  const std::vector<NumericsRecord> all{{0, 0, "fp32_fixed_order", ""},
                                        {7, 0, "bf16_sliced8", ""},
                                        {9, 4, "cuda_bf16_sliced8", "compute capability 9.0"}};
  EXPECT_EQ(
      text_of(all),
      "fp32_fixed_order, after 7 supervised steps bf16_sliced8, after 4 training steps cuda_bf16_sliced8 (compute capability 9.0)");
  EXPECT_EQ(
      to_json(all),
      R"([{"after_sft_steps":0,"after_train_steps":0,"numerics":"fp32_fixed_order"},)"
      R"({"after_sft_steps":7,"after_train_steps":0,"numerics":"bf16_sliced8"},)"
      R"({"after_sft_steps":9,"after_train_steps":4,"numerics":"cuda_bf16_sliced8","device":"compute capability 9.0"}])");
  EXPECT_EQ(to_json(parse_numerics(to_json(all))), to_json(all));
  EXPECT_THROW(parse_numerics("{}"), nlohmann::json::exception);
}

/// What launchers set, and nothing else.
void launch(const std::map<std::string, std::string>& values) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (const auto value = values.find(name); value != values.end())
      ::setenv(name, value->second.c_str(), 1);
    else ::unsetenv(name);
  }
}

TEST(DevicePlace, IsTheLaunchersNumberOnTheNode) {
  struct Case {
    std::map<std::string, std::string> environment;
    int place;
  };
  const std::vector<Case> cases{
      {{}, 5},  // nobody says: the ranks that share memory are counted
      {{{"SLURM_LOCALID", "3"}}, 3},
      // mpiexec inside a batch job: its ranks inherit the shell's number
      {{{"MPI_LOCALRANKID", "2"}, {"SLURM_LOCALID", "0"}}, 2},
      {{{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"SLURM_LOCALID", "0"}}, 1},  // likewise
      {{{"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"SLURM_LOCALID", "4"}}, 0},
      // what is no number says nothing
      {{{"OMPI_COMM_WORLD_LOCAL_RANK", ""}, {"MPI_LOCALRANKID", "-1"}, {"SLURM_LOCALID", "6"}}, 6},
      {{{"OMPI_COMM_WORLD_LOCAL_RANK", "1x"}, {"MPI_LOCALRANKID", "99999999999"}}, 5},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    launch(cases[i].environment);
    EXPECT_EQ(device_place(5), cases[i].place) << "case " << i;
  }
  launch({});
}

}  // namespace
}  // namespace rollcall::run
