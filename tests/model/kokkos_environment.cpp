// Starts Kokkos for the tests of the optimizer.
#include "kernels/parameter_kernels.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace {

class KokkosEnvironment : public ::testing::Environment {
 public:
  void SetUp() override { scope_ = std::make_unique<rollcall::kernels::KokkosScope>(); }
  void TearDown() override { scope_.reset(); }

 private:
  std::unique_ptr<rollcall::kernels::KokkosScope> scope_;
};

const ::testing::Environment* const environment =
    ::testing::AddGlobalTestEnvironment(new KokkosEnvironment);

}  // namespace
