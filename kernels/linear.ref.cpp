// Reference for linear: y = x W^T + bias.
#include "kernels/packing.hpp"
#include "kernels/reference.hpp"

#include <span>

namespace rollcall::kernels::reference {

void linear(ExecutionContext&, const float* x, std::int64_t n, std::int64_t k,
            const Product* products, int count, int, std::int64_t begin, std::int64_t end) {
  std::int64_t first = 0;  // the first panel of the product
  for (const Product& product : std::span(products, std::size_t(count))) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t c = 0; c < product.o; ++c) {
        if (first + c / kPanel < begin || first + c / kPanel >= end) continue;
        const float* panel = static_cast<const float*>(product.packed) + c / kPanel * kPanel * k;
        double sum = 0.0;
        for (std::int64_t j = 0; j < k; ++j)
          sum += static_cast<double>(x[i * k + j]) * panel[j * kPanel + c % kPanel];
        product.y[i * product.o + c] =
            static_cast<float>(product.bias ? sum + product.bias[c] : sum);
      }
    first += panels_of(product.o);
  }
}

}  // namespace rollcall::kernels::reference
