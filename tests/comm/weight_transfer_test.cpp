// The bits of a policy on their way from update ranks to generation ranks, in every layout.
#include "comm/weight_transfer.hpp"
#include "comm/world.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace rollcall::comm {
namespace {

constexpr std::size_t kFloats = 1200000;  // more than one part of a broadcast
const std::vector<WeightSlice> kSlices{
    {"embed", 0, 250001}, {"norm", 250001, 3}, {"gap comes before", 250100, 949900}};
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

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(WeightTransfer, EveryGeneratorHoldsTheUpdatersBits) {
  in_world([](Communicator& world) {
    for (const std::string& name : valid_layouts(world.size())) {
      const StageLayout layout = make_layout(name, world.size());
      WeightTransfer transfer(world, plan_transfer(layout, kSlices));
      const bool updates = layout.hosts_stage(world.rank(), Stage::update),
                 generates = layout.hosts_stage(world.rank(), Stage::generation);
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

/// A plan by hand with the root before, among and after its receivers: each rank in turn fills one
/// slice of all others.
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

/// MPI whose last byte arrives with one bit changed on one rank.
class ChangesABit final : public Transport, public Collectives {
 public:
  ChangesABit(Communicator& world, bool here) : world_(&world), here_(here) {}
  std::unique_ptr<Collectives> over(Communicator& group) override { return mpi_->over(group); }
  void broadcast(std::span<const Broadcast> all) override {
    mpi_->broadcast(all);
    if (here_) change(all.back().bytes);
  }
  std::uint64_t checksum(std::span<const std::byte> bytes) override {
    return mpi_->checksum(bytes);
  }
  int rank() const override { return world_->rank(); }
  int size() const override { return world_->size(); }
  void sum(std::span<std::int64_t> values) override { world_->sum(values); }
  void maximum(std::span<double> values) override { world_->maximum(values); }
  void broadcast(std::span<std::byte> bytes, int root) override { world_->broadcast(bytes, root); }
  void barrier() override { world_->barrier(); }
  void gather_shares(std::span<float> values, std::span<const std::int64_t> begins) override {
    world_->gather_shares(values, begins);
    if (here_) change(std::as_writable_bytes(values));
  }

 private:
  static void change(std::span<std::byte> bytes) { bytes.back() ^= std::byte{1}; }
  std::unique_ptr<Transport> mpi_ = mpi_transport();
  Communicator* world_;
  bool here_;
};

/// With the bit changed on this rank it must refuse what came; the others, whose bits are right,
/// must not.
void expect_notice(bool changed, const std::function<void()>& act) {
  std::string said;
  try {
    act();
  } catch (const ProtocolError& error) {
    said = error.what();
  }
  EXPECT_EQ(said.find("but were sent with") != std::string::npos, changed) << said;
}

TEST(WeightTransfer, ABitChangedOnTheWayIsNoticed) {
  in_world([](Communicator& world) {
    if (world.size() < 4) return;
    const StageLayout layout = make_layout("disaggregated", world.size());
    const auto plan = plan_transfer(layout, {{"one stretch from each root", 0, kFloats}});
    EXPECT_FALSE(plan.empty());
    const auto receives = [&](const TransferBatch& batch) {
      return std::binary_search(batch.receivers.begin(), batch.receivers.end(), world.rank());
    };
    const bool changed = std::any_of(plan.begin(), plan.end(), receives);
    WeightTransfer transfer(world, plan, std::make_shared<ChangesABit>(world, changed));
    auto weights = bits(3);
    expect_notice(changed, [&] { transfer.run(weights, 3); });
  });
}

/// Two roots, one of several parts and one of less than a part, and ranks that take part in one of
/// them, in both or in none.
TEST(WeightTransfer, LegsOfAnySizeTravelSideBySide) {
  constexpr std::int64_t kLong = (9 << 20) / 4, kShort = (1 << 20) / 4;
  in_world([](Communicator& world) {
    if (world.size() < 4) return;
    std::vector<TransferBatch> plan{{0, {2, 3}, {{"long", 0, kLong}}},
                                    {1, {3}, {{"short", kLong, kShort}}}};
    for (int order = 0; order < 2; ++order, std::swap(plan[0], plan[1])) {
      for (const bool changes : {false, true}) {
        const bool changed = changes && world.rank() == 3;  // in the last leg
        WeightTransfer transfer(world, plan, std::make_shared<ChangesABit>(world, changed));
        std::vector<float> weights(std::size_t(kLong + kShort));
        for (std::size_t i = 0; i < weights.size(); ++i)
          weights[i] = world.rank() < 2 ? float(i % 8191) + float(world.rank()) : -1.0F;
        expect_notice(changed, [&] { transfer.run(weights, 4); });
        if (changed || world.rank() < 2) continue;
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
          const bool of_long = i < std::size_t(kLong),
                     mine = world.rank() == 3 || (world.rank() == 2 && of_long);
          wrong += weights[i] == (mine ? float(i % 8191) + (of_long ? 0.0F : 1.0F) : -1.0F) ? 0 : 1;
        }
        EXPECT_EQ(wrong, 0U);
      }
      world.barrier();
    }
  });
}

TEST(WeightTransfer, ABitOfAShareChangedOnTheWayIsNoticed) {
  in_world([](Communicator& world) {
    std::vector<std::int64_t> begins;
    for (int r = 0; r <= world.size(); ++r) begins.push_back(1'000 * r);
    for (const bool changes : {false, true}) {
      // the last share is another's
      const bool changed = changes && world.rank() == 0 && world.size() > 1;
      ChangesABit way(world, changed);
      std::vector<float> weights(std::size_t(begins.back()), float(world.rank()));
      expect_notice(changed, [&] { gather_checked(world, way, weights, begins); });
      for (std::size_t i = 0; i + 1 < weights.size(); ++i) EXPECT_EQ(weights[i], float(i / 1'000));
    }
  });
}

/// Roots bring version 7 and two floats, too few for the slice, so that they end after the header.
void expect_refusal(Communicator& world, std::size_t floats, std::uint64_t version,
                    const std::string& text) {
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
