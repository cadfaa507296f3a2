// Allocates pages in chunks as they are needed, and keeps them.
#include "model/engine/page_pool.hpp"

#include "base/errors/error.hpp"

namespace rollcall::model {
PagePool::Page PagePool::take() {
  expect(free() > 0, "a page is taken when there is a free one");
  if (idle_.empty()) {
    const std::int64_t count = std::clamp<std::int64_t>(source_.chunk / bytes_, 1, limit_ - made_);
    memory_.push_back(source_.make(std::size_t(count * bytes_)));
    for (std::int64_t i = count; i-- > 0;) idle_.push_back(memory_.back().data() + i * bytes_);
    made_ += count;
    idle_.reserve(std::size_t(made_));  // so that returning a page allocates nothing
  }
  std::byte* page = idle_.back();
  idle_.pop_back();
  ++taken_;
  return {page, [this](std::byte* p) {
            idle_.push_back(p);
            --taken_;
          }};
}

}  // namespace rollcall::model
