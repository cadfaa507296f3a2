// Every barrier of the kernels, and every wait for copies, is left out in turn at run time: a
// report or another result must tell.
#include "emulation.hpp"

#include "kernels/on_device.hpp"

#include <string>

namespace rollcall::kernels {
namespace {

using cuda::stepped;

template <class T>
void append(Floats& all, const OnDevice<T>& values) {
  for (const T value : values.values()) all.push_back(float(value));
}

void multiply(Floats& all, std::int64_t n, std::int64_t k, std::int64_t o, int slices) {
  ExecutionContext context;
  const OnDevice<float> x(random_floats(n * k, 1)), w(random_floats(k * o, 2)), y(n * o);
  const OnDevice<Bf16> turned(o * stepped(k));
  cuda::round_transposed(context, w, k, o, turned);
  cuda::linear(context, x, n, {turned, o, k}, nullptr, slices, y);
  append(all, turned), append(all, y);
}

void attend(Floats& all) {
  const std::int64_t t = 130, d = 16;
  const HeadShape shape{2, 1, d};
  ExecutionContext context;
  std::vector<OnDevice<std::byte>> pages;
  std::vector<const void*> places;
  for (std::int64_t p = 0; p < pages_of(t); ++p)
    pages.emplace_back(cuda::page_bytes(shape)), places.push_back(pages.back());
  const OnDevice<const void*> table(places);
  std::vector<AttentionRow> rows;
  for (std::int64_t i = 0; i < t; ++i) rows.push_back({table, i + 1});
  const OnDevice<AttentionRow> stored(rows),
      asked(std::vector<AttentionRow>(rows.end() - 2, rows.end()));
  const OnDevice<float> k(random_floats(t * d, 3)), v(random_floats(t * d, 4)),
      q(random_floats(4 * d, 5)), out(4 * d);
  cuda::store_positions(context, k, v, stored, t, shape, 0);
  cuda::attention(context, q, asked, 2, shape, {0, 0, 1}, out);
  append(all, out);
}

void attend_backward(Floats& all) {
  const std::int64_t t = 130, d = 16;
  ExecutionContext context;
  const OnDevice<float> q(random_floats(2 * t * d, 1)), k(random_floats(t * d, 2)),
      v(random_floats(t * d, 3)), dout(random_floats(2 * t * d, 4));
  const OnDevice<float> dq(2 * t * d), dk(t * d), dv(t * d);
  attention_backward(context, q, k, v, dout, 100, t, {2, 1, d}, dq, dk, dv);
  append(all, dq), append(all, dk), append(all, dv);
}

void columns(Floats& all) {
  const std::int64_t n = 2, v = 1500;
  ExecutionContext context;
  const OnDevice<float> logits(random_floats(n * v, 6)), logprob(n), entropy(n), lse(n);
  const OnDevice<std::int32_t> target(std::vector<std::int32_t>{3, 1100});
  const OnDevice<BlockMass> blocks(n * 3);
  cuda::token_columns(context, logits, n, v, 1.0F, target, logprob, entropy, lse, blocks);
  append(all, logprob), append(all, entropy);
}

void draws_and_whole_rows(Floats& all) {
  const std::int64_t n = 2, v = 1500;
  ExecutionContext context;
  const OnDevice<float> logits(random_floats(n * v, 7)), other(random_floats(n * v, 8)), logprob(n),
      entropy(n), lse(n), squares(n), kl(n), u(Floats{0.3F, 0.9F});
  const OnDevice<std::int32_t> target(std::vector<std::int32_t>{3, 1100}), token(n);
  const OnDevice<BlockMass> blocks(n * 3);
  cuda::token_columns(context, logits, n, v, 1.0F, target, logprob, entropy, lse, blocks);
  cuda::sample(context, logits, n, v, {v, 1.0F, 40, 0.9F}, blocks, u, token, logprob);
  cuda::wide_columns(context, logits, other, n, v, 1.0F, lse, lse, squares, kl);
  append(all, token), append(all, logprob), append(all, squares), append(all, kl);
}

Floats everything() {
  Floats all;
  multiply(all, 5, 200, 40, 1), multiply(all, 140, 70, 20, 2);
  attend(all), attend_backward(all), columns(all), draws_and_whole_rows(all);
  return all;
}

TEST(Barriers, EachIsMissedWhenItIsLeftOut) {
  const Floats right = everything();
  ASSERT_EQ(emulation::take_reports(), std::vector<std::string>{});
  int tried = 0;
  for (const emulation::Site site : emulation::barriers_met()) {
    if (std::string(site.file).find("kernels/cuda/") == std::string::npos) continue;
    emulation::leave_out(site);
    bool noticed = false;
    for (std::uint64_t order = 1; order <= 3 && !noticed; ++order) {
      emulation::seed(order);
      const Floats other = everything();
      noticed = !emulation::take_reports().empty() || !same_bits(other, right);
    }
    EXPECT_TRUE(noticed) << site.file << ':' << site.line << " may be left out and nothing tells";
    ++tried;
  }
  emulation::leave_out({});
  EXPECT_GE(tried, 15);
  EXPECT_TRUE(same_bits(everything(), right));
}

}  // namespace
}  // namespace rollcall::kernels
