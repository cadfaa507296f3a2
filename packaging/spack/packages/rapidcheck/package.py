# Spack recipe of RapidCheck, which Spack's own repository does not have: property tests of Rollcall.
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Rapidcheck(CMakePackage):
    """QuickCheck clone for C++ with the goal of being simple to use with as little boilerplate as possible."""

    homepage = "https://github.com/emil-e/rapidcheck"
    git = "https://github.com/emil-e/rapidcheck.git"

    license("BSD-2-Clause")

    version("master", branch="master")

    depends_on("cxx", type="build")

    def cmake_args(self):
        return [self.define("RC_INSTALL_ALL_EXTRAS", True), self.define("BUILD_SHARED_LIBS", False)]
