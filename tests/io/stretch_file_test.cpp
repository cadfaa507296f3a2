// The packed file is believed when it reads back as it was handed over, rank by rank.
#include "io/stretch_file.hpp"

#include "io/fault.hpp"
#include "io/sample_run.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTokens = 700'000;  // 5.6 MB of versions: two segments

/// A file of one table, written as two ranks would that have a third and two thirds of the rows.
class Stretches : public ::testing::Test {
 protected:
  Stretches() : versions_(kTokens) {
    std::iota(versions_.begin(), versions_.end(), std::uint64_t{1});
    RolloutColumns all;
    all.policy_version = versions_;
    for (const ColumnView& view : views(all))
      if (std::string_view(view.column.name) == "policy_version")
        column_ = {view.column, view.type, sizeof(std::uint64_t)};
    const std::size_t third = kTokens / 3;
    stretches_.resize(2);
    stretches_[1].begin[index(Dim::token)] = third;
    stretches_[0].length[index(Dim::token)] = third,
    stretches_[1].length[index(Dim::token)] = kTokens - third;
    Extents extents{};
    extents[index(Dim::token)] = kTokens;
    outline_ = {{column_.column, column_.type, {}, kTokens}};
    writing(path(), [&] { write_tables(path(), outline_, {extents, {}, {}}, Values::later); });
    for (int rank : {0, 1}) {
      ColumnPieces mine = column_;
      mine.add(std::as_bytes(std::span(versions_))
                   .subspan(rank == 0 ? 0 : 8 * third,
                            8 * stretches_[std::size_t(rank)].length[index(Dim::token)]));
      checksums_.push_back(writing(path(), [&] {
        return fill_stretches(path(), std::vector{mine}, stretches_, rank, nullptr);
      }));
    }
  }
  fs::path path() const { return run_.path() / "packed.h5"; }
  std::string seal_fault() {
    return fault_of(
        [&] { writing(path(), [&] { seal_columns(path(), outline_, stretches_, checksums_); }); });
  }
  void flip(std::uint64_t version) {
    std::string bytes = content(path());
    const auto at =
        bytes.find(std::string(reinterpret_cast<const char*>(&version), sizeof version));
    ASSERT_NE(at, std::string::npos);
    bytes[at + 7] = char(bytes[at + 7] ^ 1);
    put(path(), bytes);
  }

  RunFolder run_;
  std::vector<std::uint64_t> versions_;
  ColumnPieces column_{};
  std::vector<Stretch> stretches_;
  std::vector<ColumnView> outline_;
  std::vector<std::vector<std::uint64_t>> checksums_;
};

TEST_F(Stretches, AreSealedWithTheChecksumOfTheWhole) {
  ASSERT_EQ(seal_fault(), "");
  std::vector<std::uint64_t> read;
  const auto inside = enter_hdf5();
  TableReader reader(path());
  reader.read_column(column_.column, read);  // compares both kinds of checksums
  EXPECT_EQ(read, versions_);
}

TEST_F(Stretches, AByteThatTheDiskChangedIsSaidOfItsRank) {
  flip(kTokens / 3);  // the last of the first rank
  EXPECT_NE(
      seal_fault().find("tokens/policy_version reads back differently from what rank 0 wrote"),
      std::string::npos)
      << seal_fault();
  flip(kTokens / 3 | std::uint64_t{1} << 56U);
  flip(kTokens / 3 + 1);
  EXPECT_NE(seal_fault().find("reads back differently from what rank 1 wrote"), std::string::npos)
      << seal_fault();
}

}  // namespace
}  // namespace rollcall::io::test
