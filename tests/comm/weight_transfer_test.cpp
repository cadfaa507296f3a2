// The bits of a policy on their way from update ranks to generation ranks, in every layout.
#include "comm/weight_transfer.hpp"
#include "comm/world.hpp"

#include "base/error.hpp"
#include "base/random.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace rollcall::comm {
namespace {

constexpr std::size_t kFloats = 1200000;  // more than one part of a broadcast
const std::vector<WeightSlice> kSlices{{"embed", 0, 250001}, {"norm", 250001, 3}, {"gap comes before", 250100, 949900}};
constexpr std::size_t kGap = 250050;     // in no slice: must stay untouched

/// Every bit pattern may occur: NaN payloads, denormals and both zeros must survive.
std::vector<float> bits(std::uint64_t version) {
  const RandomStream random(5, RandomPurpose::test, version);
  std::vector<float> values(kFloats);
  for (std::size_t i = 0; i < kFloats; ++i) {
    const auto pattern = std::uint32_t(random.bits(i));
    std::memcpy(&values[i], &pattern, sizeof pattern);
  }
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) { return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0; }

TEST(WeightTransfer, EveryGeneratorHoldsTheUpdatersBits) {
  in_world([](Communicator& world) {
    for (const std::string& name : valid_layouts(world.size())) {
      const StageLayout layout = make_layout(name, world.size());
      WeightTransfer transfer(world, plan_transfer(layout, kSlices));
      const bool updates = layout.hosts_stage(world.rank(), Stage::update), generates = layout.hosts_stage(world.rank(), Stage::generation);
      EXPECT_TRUE(updates || transfer.takes_part() == generates);
      for (std::uint64_t version = 1; version <= 2; ++version) {
        const auto expected = bits(version);
        auto weights = updates ? expected : std::vector<float>(kFloats, -1.0f);
        transfer.run(weights, version);
        if (!updates) {
          EXPECT_EQ(weights[kGap], -1.0f);
          weights[kGap] = expected[kGap];
          for (std::size_t i = 250004; i < 250100; ++i) weights[i] = expected[i];
        }
        EXPECT_TRUE(!generates || same_bits(weights, expected)) << name << " version " << version;
      }
    }
  });
}

TEST(WeightTransfer, AWrongVersionIsNoticed) {
  in_world([](Communicator& world) {
    if (world.size() < 4) return;
    const StageLayout layout = make_layout("disaggregated", world.size());
    WeightTransfer transfer(world, plan_transfer(layout, {{"w", 0, 4}}));
    std::vector<float> weights(4, 1.0f);
    try {
      if (layout.hosts_stage(world.rank(), Stage::generation)) transfer.run(weights, 8);
      else transfer.run(std::span(weights).first(2), 7);  // too short for the slice, so a root ends after its header
      EXPECT_FALSE(transfer.takes_part());
    } catch (const ProtocolError& error) {
      EXPECT_TRUE(layout.hosts_stage(world.rank(), Stage::generation));
      EXPECT_NE(std::string(error.what()).find("receives 2 weights of version 7 where 4 of version 8 are due"), std::string::npos) << error.what();
    } catch (const std::logic_error&) {
      EXPECT_TRUE(layout.hosts_stage(world.rank(), Stage::update));
    }
    world.barrier();
  });
}

}  // namespace
}  // namespace rollcall::comm
