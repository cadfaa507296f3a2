// The safetensors reader and writer: round trip, widening, every fault an InputError, random damage
// never a crash.
#include "model/tensors/safetensors.hpp"

#include "base/errors/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace rollcall::model {
namespace {

std::string file_of(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::string two_tensors() {
  const std::vector<float> a = {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
  const std::vector<std::uint16_t> b = {0x3F80, 0xC000};
  const std::vector<TensorView> tensors = {{"a", Dtype::f32, {2, 3}, std::as_bytes(std::span(a))},
                                           {"b", Dtype::bf16, {2}, std::as_bytes(std::span(b))}};
  return to_safetensors(tensors, {{"format", "pt"}});
}

TEST(Safetensors, RoundTrip) {
  const std::string bytes = two_tensors();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ((8 + length) % 64, 0U);
  const SafetensorsFile read = SafetensorsFile::parse(bytes, "two.safetensors");
  const SafetensorsFile file = read;  // a copy sees the same bytes
  EXPECT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.tensor("a").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(file.floats("a"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(file.floats("b"), (std::vector<float>{1.0F, -2.0F}));
  EXPECT_EQ(file.metadata().at("format"), "pt");
}

TEST(Safetensors, HalvesWidenExactly) {
  // One, the largest, the smallest normal and subnormal, minus zero, infinity, NaN (IEEE 754
  // binary16).
  const std::vector<std::uint16_t> halves = {0x3C00, 0x7BFF, 0x0400, 0x0001,
                                             0x8000, 0xFC00, 0x7E00};
  const std::vector<TensorView> tensors = {
      {"h", Dtype::f16, {7}, std::as_bytes(std::span(halves))}};
  const std::vector<float> wide =
      SafetensorsFile::parse(to_safetensors(tensors, {}), "h").floats("h");
  EXPECT_EQ(wide[0], 1.0F);
  EXPECT_EQ(wide[1], 65504.0F);
  EXPECT_EQ(wide[2], 0x1p-14F);
  EXPECT_EQ(wide[3], 0x1p-24F);
  EXPECT_TRUE(wide[4] == 0.0F && std::signbit(wide[4]));
  EXPECT_EQ(wide[5], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(wide[6]));
}

/// Largest resident set so far [bytes].
std::size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::size_t(std::stoull(line.substr(6))) * 1024;
  return 0;
}

TEST(Safetensors, OfAMappedFileOnlyAPartIsInMemory) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "large.safetensors";
  constexpr std::size_t kPiece = 1 << 20, kPieces = 40;  // 160 MiB, of no whole number of parts
  std::vector<float> read(kPiece * kPieces);
  {
    const std::vector<std::int64_t> counters{7, -1};
    const std::vector<TensorView> tensors = {
        {"counters", Dtype::i64, {2}, std::as_bytes(std::span(counters))},
        {"m", Dtype::f32, {std::int64_t(read.size())}, std::as_bytes(std::span(read))}};
    std::ofstream file(path, std::ios::binary);
    file << safetensors_head(tensors, {})
         << std::string_view(reinterpret_cast<const char*>(counters.data()), 16);
    std::vector<float> piece(kPiece);
    for (std::size_t i = 0; i < kPieces; ++i) {
      for (std::size_t j = 0; j < kPiece; ++j) piece[j] = float(1000 * i + j % 1000);
      file.write(reinterpret_cast<const char*>(piece.data()),
                 std::streamsize(piece.size() * sizeof(float)));
    }
  }
  const std::size_t before = peak_bytes();
  const SafetensorsFile file = SafetensorsFile::map(path);
  EXPECT_EQ(file.integers("counters"), (std::vector<std::int64_t>{7, -1}));
  EXPECT_THROW(file.integers("m"), InputError);
  file.widen("m", 3, std::span(read).subspan(3));
  EXPECT_LT(peak_bytes() - before, 40U << 20);
  for (std::size_t i = 3; i < read.size(); ++i)
    ASSERT_EQ(read[i], float(1000 * (i / kPiece) + i % kPiece % 1000)) << i;
  std::filesystem::remove(path);
}

void expect_fault(const std::string& bytes, const std::string& fault) {
  try {
    SafetensorsFile::parse(bytes, "broken.safetensors");
    ADD_FAILURE() << "accepted a file with the fault: " << fault;
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("broken.safetensors"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr(fault));
  }
}

TEST(Safetensors, FaultsAreNamed) {
  const auto one = [](const std::string& entry, const std::string& data = "12345678") {
    return file_of("{\"x\":" + entry + "}", data);
  };
  expect_fault("", "fewer than the header length");
  expect_fault(std::string(8, '\xFF'), "above the limit");
  expect_fault(file_of("{}").substr(0, 9), "beyond the end");
  expect_fault(file_of(""), "does not start with {");
  expect_fault(file_of("[1]"), "does not start with {");
  expect_fault(file_of("{\"x\":"), "not a JSON object");
  expect_fault(
      file_of(
          "{\"x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},\"x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"),
      "stands twice");
  expect_fault(one("3"), "has no \"dtype\"");
  expect_fault(one("{\"dtype\":\"F8_E4M3\",\"shape\":[8],\"data_offsets\":[0,8]}"),
               "unsupported dtype F8_E4M3");
  expect_fault(one("{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}"), "whole number");
  expect_fault(one("{\"dtype\":\"F32\",\"shape\":[2.5],\"data_offsets\":[0,8]}"), "whole number");
  expect_fault(one("{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,8]}"),
               "overflows");
  expect_fault(one("{\"dtype\":\"F32\",\"shape\":[18446744073709551615],\"data_offsets\":[0,8]}"),
               "overflows");
  expect_fault(one("{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}"),
               "needs 12 bytes and has 8");
  expect_fault(one("{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}"),
               "lies at [0, 16) of 8");
  expect_fault(one("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}"), "lies at [8, 0)");
  expect_fault(one("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}"), "not a pair");
  expect_fault(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}"),
               "4 bytes after the last tensor");
  expect_fault(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}"),
               "hole before tensor x");
  expect_fault(
      file_of(
          R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
          "12345678"),
      "overlaps");
  expect_fault(file_of(R"({"__metadata__":{"a":1}})"), "metadata a is not a string");
  EXPECT_NO_THROW(SafetensorsFile::parse(file_of("{}"), "empty"));
}

TEST(Safetensors, MissingTensorNamesTheNearest) {
  const SafetensorsFile file = SafetensorsFile::parse(
      file_of(R"({"norm.weight":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", "12345678"),
      "f");
  try {
    file.floats("norm.weights");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("norm.weight"));
  }
  EXPECT_THROW(file.floats("norm.weight"), InputError);  // I64 are no weights
}

TEST(Safetensors, RandomDamageIsReadOrRefused) {
  const bool ok = rc::check([] {
    std::string bytes = two_tensors();
    const auto flips = *rc::gen::container<std::vector<std::pair<std::size_t, char>>>(
        rc::gen::pair(rc::gen::inRange<std::size_t>(0, bytes.size()), rc::gen::arbitrary<char>()));
    for (const auto& [position, value] : flips) bytes[position] = value;
    bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 9), 'x');
    try {
      const SafetensorsFile file = SafetensorsFile::parse(bytes, "damaged");
      for (const auto& [name, tensor] : file.tensors()) {
        if (tensor.dtype == Dtype::f32 || tensor.dtype == Dtype::bf16 || tensor.dtype == Dtype::f16)
          file.floats(name);
      }
    } catch (const InputError&) {
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace rollcall::model
