#!/usr/bin/env python3
"""scripts/check_layers passes a small tree that keeps every rule and names what is broken in it, one rule at a time."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "scripts" / "check_layers"


def run(root):
    result = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tree = Path(self.folder.name)
        (self.tree / "src/base").mkdir(parents=True)
        (self.tree / "src/base/good.hpp").write_text("// Keeps every rule.\n#pragma once\n#include <vector>\n")

    def expect_broken(self, path, content, message):
        """Writes one bad file into the tree and expects complaints about nothing else."""
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        code, output = run(self.tree)
        problems = output.splitlines()[:-1]
        self.assertEqual(code, 1, output)
        self.assertTrue(problems and all(line.startswith(f"{path}:") for line in problems), output)
        self.assertIn(message, "\n".join(problems))

    def test_what_keeps_the_rules_passes(self):
        code, output = run(self.tree)
        self.assertEqual(code, 0, output)
        self.assertIn("1 files, 1 includes, 0 problems", output)

    def test_upward_include(self):
        self.expect_broken("src/base/bad.cpp", '// Bad.\n#include "core/rollout.hpp"\n', "base may not include core")

    def test_sideways_include(self):
        self.expect_broken("src/objective/bad.cpp", '// Bad.\n#include "model/engine/policy.hpp"\n', "objective may not include model")

    def test_kernels_know_nothing_of_src(self):
        self.expect_broken("kernels/bad.cpp", '// Bad.\n#include "base/errors/error.hpp"\n', "kernels may not include base")

    def test_run_may_not_include_app(self):
        self.expect_broken("src/run/bad.cpp", '// Bad.\n#include "app/commands.hpp"\n', "run may not include app")

    def test_rooms_of_run_go_down(self):
        up = '// Bad.\n#include "run/coordinator/coordinator.hpp"\n'
        self.expect_broken("src/run/update/bad.cpp", up, "is above src/run/update")
        (self.tree / "src/run/update/bad.cpp").write_text('// Good.\n#include "run/step/step_batch.hpp"\n')
        self.assertEqual(run(self.tree)[0], 0)
        self.expect_broken("src/run/novelty/bad.cpp", up, "the room novelty is not in the list")

    def test_io_knows_only_the_communicator(self):
        self.expect_broken("io/bad.cpp", '// Bad.\n#include "comm/stage_layout.hpp"\n', "io may include only comm/communicator.hpp")

    def test_heavy_dependencies_away_from_home(self):
        cases = [
            ("src/run/bad.cpp", "mpi.h", "MPI is at home"),
            ("src/app/bad.cpp", "hdf5.h", "HDF5 is at home"),
            ("io/bad.cpp", "ATen/ATen.h", "LibTorch is at home"),
            ("src/model/bad.cpp", "Kokkos_Core.hpp", "Kokkos is at home"),
            ("src/model/bad.cpp", "nccl.h", "NCCL is at home"),
            ("src/model/bad.cpp", "cuda_runtime.h", "the CUDA runtime is at home"),
            ("src/comm/bad.cpp", "cublasLt.h", "CUDA is at home"),
            ("src/comm/bad.cpp", "boost/archive/binary_oarchive.hpp", "Boost.Serialization is at home"),
            ("src/core/bad.cpp", "toml++/toml.h", "toml++ is at home"),
            ("src/run/bad.cpp", "CLI/CLI.hpp", "CLI11 is at home"),
        ]
        for path, header, message in cases:
            with self.subTest(header=header):
                self.expect_broken(path, f"// Bad.\n#  include <{header}>\n", message)
                (self.tree / path).unlink()

    def test_scheduling_is_pure(self):
        self.expect_broken("src/scheduling/bad.cpp", "// Bad.\n#include <chrono>\n", "pure function of numbers")

    def test_cuda_without_libtorch(self):
        self.expect_broken("src/model/bad.cu", "// Bad.\n#include <ATen/ATen.h>\n", "CUDA files never include LibTorch")

    def test_include_not_from_the_root(self):
        self.expect_broken("src/core/bad.cpp", '// Bad.\n#include "rollout.hpp"\n', "not spelled from the root")

    def test_unknown_folder(self):
        self.expect_broken("src/novelty/bad.cpp", "// Bad.\n", "not in the table of layers")

    def test_first_line(self):
        self.expect_broken("src/core/bad.cpp", "#include <vector>\n", "does not say what the file is for")

    def test_header_guard(self):
        self.expect_broken("src/core/bad.hpp", "// Bad.\n", "without #pragma once")

    def test_length(self):
        self.expect_broken("src/core/bad.cpp", "// Bad.\n" + "\n" * 500, "more than 500")
        (self.tree / "src/core/bad.cpp").write_text("// Bad\n// (long: one table).\n" + "\n" * 500)
        self.assertEqual(run(self.tree)[0], 0)

    def test_cmake_link(self):
        self.expect_broken("src/text/CMakeLists.txt", "# Bad.\nrollcall_add_library(text\n  SOURCES a.cpp\n  LINK rollcall::model)\n", "text may not link model")


if __name__ == "__main__":
    unittest.main()
