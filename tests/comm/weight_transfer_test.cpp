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
constexpr std::size_t kGap = 250050;  // in no slice: must stay untouched

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

/// A plan by hand with the root before, among and after its receivers: each rank in turn fills one slice of all others.
TEST(WeightTransfer, EveryRankCanBeARoot) {
  in_world([](Communicator& world) {
    std::vector<TransferBatch> plan;
    for (int root = 0; root < world.size(); ++root) {
      plan.push_back({root, {}, {{"w", 10 * root, 10}}});
      for (int r = 0; r < world.size(); ++r) {
        if (r != root) plan.back().receivers.push_back(r);
      }
    }
    std::vector<float> weights(std::size_t(10 * world.size()), float(world.rank()));
    WeightTransfer(world, plan).run(weights, 5);
    for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_EQ(weights[i], float(i / 10));
  });
}

TEST(WeightTransfer, WhatArrivesChangedIsNoticed) {
  in_world([](Communicator& world) {
    std::vector<float> weights(1000, 0.5F);
    EXPECT_NO_THROW(check_arrived(world, 0, std::as_bytes(std::span(weights))));
    if (world.rank() == 2) weights[999] = 0.25F;
    const auto check = [&] { check_arrived(world, 0, std::as_bytes(std::span(weights))); };
    if (world.rank() == 2) EXPECT_THROW(check(), ProtocolError);
    else EXPECT_NO_THROW(check());
  });
}

/// Roots bring version 7 and two floats, too few for the slice, so that they end after the header.
void expect_refusal(Communicator& world, std::size_t floats, std::uint64_t version, const std::string& text) {
  const StageLayout layout = make_layout("disaggregated", world.size());
  const bool generates = layout.hosts_stage(world.rank(), Stage::generation);
  WeightTransfer transfer(world, plan_transfer(layout, {{"w", 0, 4}}));
  std::vector<float> weights(generates ? floats : 2);
  try {
    transfer.run(weights, generates ? version : 7);
    EXPECT_FALSE(transfer.takes_part());
  } catch (const ProtocolError& error) {
    EXPECT_TRUE(generates);
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  } catch (const std::logic_error& error) {
    EXPECT_FALSE(generates) << error.what();
  }
  world.barrier();
}

TEST(WeightTransfer, AWrongVersionOrSizeIsNoticed) {
  in_world([](Communicator& world) {
    if (world.size() < 4) return;
    world.set_collective_deadline(5);
    expect_refusal(world, 2, 8, "receives 2 weights of version 7 where 2 of version 8 are due");
    expect_refusal(world, 4, 7, "receives 2 weights of version 7 where 4 of version 7 are due");
  });
}

}  // namespace
}  // namespace rollcall::comm
