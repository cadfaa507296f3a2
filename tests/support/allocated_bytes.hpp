// How many bytes a piece of code takes from the heap, freed or not: what a needless copy shows in.
#pragma once

#include <cstddef>

namespace rollcall::test {

/// Bytes that operator new has given this thread so far, but for types of extended alignment. The
/// program that asks is linked with allocated_bytes.cpp, which counts them.
std::size_t allocated_bytes();

}  // namespace rollcall::test
