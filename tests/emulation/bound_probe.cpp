// Runs the kernels at shapes that are multiples of nothing, each operand in memory of its own size,
// and prints the reports and a checksum of all results: bound_checks.py runs it with a check of a
// kernel left out.
#include "emulation.hpp"

#include "kernels/on_device.hpp"

#include <cstdio>
#include <iterator>

namespace rollcall::kernels {
namespace {

std::uint64_t checksum = 1469598103934665603U;  // FNV-1a

template <class T>
void note(const OnDevice<T>& values) {
  for (const T& value : values.values()) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    for (const unsigned char byte : bytes) checksum = (checksum ^ byte) * 1099511628211U;
  }
}

Floats some(std::int64_t count, unsigned seed) { return random_floats(count, seed); }

void products() {
  ExecutionContext context;
  for (const auto& [n, k, o, slices] :
       std::vector<std::array<std::int64_t, 4>>{{5, 37, 21, 1}, {9, 300, 70, 2}, {3, 16, 65, 1}}) {
    const OnDevice<float> x(some(n * k, 1)), w(some(o * k, 2)), y(n * o), bias(some(o, 3));
    const OnDevice<Bf16> rows(n * cuda::stepped(k)), weights(o * cuda::stepped(k)),
        turned(k * cuda::stepped(n));
    cuda::round_rows(context, x, n, k, rows), cuda::round_rows(context, w, o, k, weights),
        cuda::round_transposed(context, x, n, k, turned);
    cuda::product(context, {rows, n, k}, {weights, o, k}, bias, int(slices), y);
    note(rows), note(weights), note(turned), note(y);
  }
}

void attention() {
  ExecutionContext context;
  const HeadShape shape{6, 2, 11};
  const std::int64_t width = cuda::head_width(shape), keys = 70;
  // Numbers at positions that are there, NaNs behind them.
  std::vector<Bf16> first;
  for (const float x : some(cuda::page_bytes(shape) / 2, 8)) first.push_back(to_bf16(x));
  std::vector<Bf16> second(first.size(), 0xFFFF);
  for (std::int64_t part = 0; part < 4; ++part)
    std::copy_n(first.begin(), (keys - kPageKeys) * width,
                second.begin() + part * kPageKeys * width);
  const OnDevice<Bf16> page(first), last(second);
  const OnDevice<const void*> table(std::vector<const void*>{page, last});
  const OnDevice<AttentionRow> rows(std::vector<AttentionRow>{{table, keys}, {table, 3}});
  const OnDevice<float> q(some(2 * 66, 1)), out(2 * 66);
  cuda::attention(context, q, rows, 2, shape, {0, 0, 2}, out);
  note(out);
  const HeadShape even{12, 4, 8};  // as many dimensions as whole words are rounded from at once
  const OnDevice<std::byte> even_page(cuda::page_bytes(even));
  cudaMemset(even_page, 0x3C, std::size_t(cuda::page_bytes(even)));
  const OnDevice<const void*> even_table(std::vector<const void*>{even_page});
  const OnDevice<AttentionRow> even_rows(std::vector<AttentionRow>{{even_table, 9}});
  const OnDevice<float> even_q(some(96, 6)), even_out(96);
  const OnDevice<Bf16> rounded(96);
  cuda::attention(context, even_q, even_rows, 1, even, {0, 0, 4}, even_out, rounded);
  note(even_out), note(rounded);
  const std::int64_t n = 70, t = 75;
  const OnDevice<float> queries(some(n * 66, 2)), k(some(t * 22, 3)), v(some(t * 22, 4)),
      dout(some(n * 66, 5)), dq(n * 66), dk(t * 22), dv(t * 22);
  attention_backward(context, queries, k, v, dout, n, t, shape, dq, dk, dv);
  note(dq), note(dk), note(dv);
}

void rows(std::int64_t d) {
  ExecutionContext context;
  const std::int64_t n = 5, v = 9;
  const OnDevice<float> x(some(n * d, 1)), weight(some(d, 2)), y(n * d), dy(some(n * d, 3)),
      dx(n * d), dweight(some(d, 4)), columns(d);
  const OnDevice<Bf16> rounded(n * cuda::stepped(d));
  cuda::rms_norm(context, x, n, d, weight, 1e-6F, y, rounded);
  note(y), note(rounded);
  cuda::rms_norm(context, x, n, d, weight, 1e-6F, y);
  cuda::rms_norm_backward(context, x, n, d, weight, 1e-6F, dy, dx, dweight),
      cuda::sum_columns(context, x, n, d, columns);
  note(y), note(dx), note(dweight), note(columns);
  const OnDevice<float> heads(some(n * 3 * 22, 5)), cos(some(7 * 11, 6)), sin(some(7 * 11, 7));
  const OnDevice<std::int32_t> position(std::vector<std::int32_t>{0, 6, 2, 3, 1}),
      token(std::vector<std::int32_t>{8, 0, 3, 3, 7});
  cuda::rope(context, heads, n, 3, 22, position, cos, sin, 1);
  note(heads);
  const OnDevice<float> up(some(n * d, 8)), dgate(n * d), dup(n * d), inner(n * d), embedded(n * d);
  cuda::swiglu(context, x, up, n, d, inner),
      cuda::swiglu_backward(context, x, up, n, d, dy, dgate, dup);
  note(inner), note(dgate), note(dup);
  cuda::swiglu(context, x, up, n, d, inner, rounded);
  note(inner), note(rounded);
  const OnDevice<Bf16> table(std::vector<Bf16>(std::size_t(v * cuda::stepped(d)), 0x3F80));
  cuda::embed(context, {table, v, d}, token, n, embedded), cuda::add(context, x, n * d, embedded);
  note(embedded);
}

void columns() {
  ExecutionContext context;
  const std::int64_t n = 3, v = 1500;
  const OnDevice<float> logits(some(n * v, 1)), logprob(n), entropy(n), lse(n), dlogits(n * v),
      dlogprob(some(n, 2)), dentropy(some(n, 3));
  const OnDevice<std::int32_t> target(std::vector<std::int32_t>{-1, 1499, 7});
  const OnDevice<BlockMass> blocks(n * (vocabulary_blocks(v) + 1));
  cuda::token_columns(context, logits, n, v, 0.9F, target, logprob, entropy, lse, blocks);
  cuda::token_columns_backward(context, logits, n, v, 0.9F, target, lse, entropy, dlogprob,
                               dentropy, dlogits);
  note(logprob), note(entropy), note(lse), note(dlogits);
}

void parameters() {
  ExecutionContext context;
  const std::int64_t rows = 5, columns = 37, count = rows * columns;
  const Floats zeros(185);
  const OnDevice<float> values(some(count, 1)), gradient(count), weight(some(count, 2)), m(zeros),
      v(zeros);
  const OnDevice<float> largest(Floats{0.0F});
  const OnDevice<std::int64_t> sum(std::vector<std::int64_t>(std::size_t(count), 1));
  const OnDevice<double> squares(1);
  const OnDevice<Bf16> published(rows * cuda::stepped(columns));
  cuda::accumulate_fixed_point(context, values, count, 30, sum, largest),
      cuda::from_fixed_point(context, sum, count, 30, gradient);
  cuda::sums_of_squares(context, values, count, squares);
  const OnDevice<std::int64_t> of_values(std::vector<std::int64_t>{0});
  cuda::add_checksum(context, values, 0, count, of_values);
  const AdamWStep step{.lr = 1e-2,
                       .beta1 = 0.9,
                       .beta2 = 0.95,
                       .eps = 1e-8,
                       .weight_decay = 0.1,
                       .gradient_scale = 1.0,
                       .step = 1};
  cuda::adamw(context, weight, rows, columns, gradient, m, v, step, published);
  note(sum), note(largest), note(gradient), note(squares), note(of_values), note(weight), note(m),
      note(v), note(published);
  cuda::adamw(context, weight, rows, columns, gradient, m, v, step, nullptr);
  note(weight);
}

}  // namespace
}  // namespace rollcall::kernels

int main() {
  using namespace rollcall::kernels;
  products(), attention(), rows(70), rows(71), columns(), parameters();
  for (const std::string& problem : emulation::take_reports()) std::printf("%s\n", problem.c_str());
  std::printf("checksum %016llx\n", static_cast<unsigned long long>(checksum));
}
