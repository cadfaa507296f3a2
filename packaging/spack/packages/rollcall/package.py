# Spack recipe of Rollcall. LibTorch comes as py-torch, whose libraries the program uses without Python.
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Rollcall(CMakePackage, CudaPackage):
    """Reinforcement learning of language models with verifiable rewards, as one MPI job under Slurm."""

    license("Apache-2.0")

    # From a tarball: spack dev-build rollcall@0.2.0, or spack develop --path FOLDER rollcall@0.2.0 in an environment.
    version("0.2.0")

    variant("tests", default=False, description="Build the tests and benchmarks")

    generator("ninja")
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")

    depends_on("mpi@3.1:")
    depends_on("hdf5@1.10: +mpi")
    depends_on("kokkos@3.4: +serial")
    depends_on("py-torch@2.1:")
    depends_on("boost@1.74: +serialization")
    depends_on("cli11@2.1:")
    depends_on("tomlplusplus@3.3:")
    depends_on("nlohmann-json@3.11:")
    depends_on("spdlog@1.10: +fmt_external")
    depends_on("fmt@9:")
    depends_on("openssl@3:")
    depends_on("random123@1.14:")
    depends_on("xxhash@0.8.1:")
    depends_on("pcre2@10.40:")
    depends_on("utf8proc@2.8:")
    depends_on("gmp@6.2: +cxx")
    depends_on("mpfr@4.0:")
    depends_on("mpfi@1.5:")
    depends_on("libseccomp@2.5:")

    depends_on("googletest@1.12: +gmock", when="+tests")
    depends_on("boost+context", when="+tests")
    depends_on("rapidcheck", when="+tests")
    depends_on("benchmark@1.7:", when="+tests")

    depends_on("nccl", when="+cuda")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"py-torch +cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
    depends_on("py-torch ~cuda", when="~cuda")
    conflicts("cuda_arch=none", when="+cuda", msg="name the GPU's architecture: cuda_arch=90")

    conflicts("%gcc@:11", msg="C++20 as Rollcall uses it needs GCC 12")

    def cmake_args(self):
        args = [
            self.define("TORCH_ROOT", os.path.join(python_platlib, "torch")),
            self.define_from_variant("ROLLCALL_ENABLE_CUDA", "cuda"),
            self.define_from_variant("ROLLCALL_BUILD_TESTS", "tests"),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args

    def check(self):
        """The tests that need no network and no Slurm."""
        with working_dir(self.build_directory):
            ctest("--output-on-failure", "-LE", "slow|install|bench|app")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(join_path(self.prefix.share.rollcall.scripts, "check_install"))(self.prefix.bin.rollcall)
