// operator new and delete of a test program, which count.
#include "support/allocated_bytes.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t allocated = 0;

}  // namespace

std::size_t rollcall::test::allocated_bytes() { return allocated; }

// The forms for arrays and without exceptions call these two.
void* operator new(std::size_t bytes) {
  allocated += bytes;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
