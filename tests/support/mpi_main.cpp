// Main of the MPI tests: runs GoogleTest on every rank and makes all ranks exit with the worst
// verdict.
#include <gtest/gtest.h>
#include <mpi.h>

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ::testing::InitGoogleTest(&argc, argv);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  // failures below still reach stderr through the verdict
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  int verdict = RUN_ALL_TESTS();
  int worst = 0;
  MPI_Allreduce(&verdict, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (verdict != 0 && rank != 0)
    std::fprintf(stderr, "rank %d failed %d tests\n", rank,
                 ::testing::UnitTest::GetInstance()->failed_test_count());
  MPI_Finalize();
  return worst;
}
