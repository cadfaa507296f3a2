"""The Spack recipe, the Apptainer definition and the module file name what the build has: dependencies, options, presets, files. None of the three tools is needed."""
import pathlib
import re
import shutil
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
# What cmake/Dependencies.cmake asks for, and the Spack package that has it.
SPACK_NAMES = {"MPI": "mpi", "HDF5": "hdf5", "Kokkos": "kokkos", "RollcallTorch": "py-torch", "Boost": "boost", "CLI11": "cli11", "nlohmann_json": "nlohmann-json",
               "spdlog": "spdlog", "fmt": "fmt", "OpenSSL": "openssl", "ROLLCALL_TOMLPP_INCLUDE": "tomlplusplus", "ROLLCALL_RANDOM123_INCLUDE": "random123",
               "ROLLCALL_XXHASH_INCLUDE": "xxhash", "ROLLCALL_XXHASH_LIBRARY": "xxhash", "ROLLCALL_PCRE2_INCLUDE": "pcre2", "ROLLCALL_PCRE2_LIBRARY": "pcre2", "ROLLCALL_UTF8PROC_INCLUDE": "utf8proc",
               "ROLLCALL_UTF8PROC_LIBRARY": "utf8proc", "ROLLCALL_MPFI_INCLUDE": "mpfi", "ROLLCALL_MPFI_LIBRARY": "mpfi",
               "ROLLCALL_MPFR_LIBRARY": "mpfr", "ROLLCALL_GMPXX_INCLUDE": "gmp", "ROLLCALL_GMPXX_LIBRARY": "gmp", "ROLLCALL_GMP_LIBRARY": "gmp", "ROLLCALL_SECCOMP_INCLUDE": "libseccomp",
               "ROLLCALL_SECCOMP_LIBRARY": "libseccomp", "GTest": "googletest", "rapidcheck": "rapidcheck", "benchmark": "benchmark",
               "ROLLCALL_NCCL_INCLUDE": "nccl", "ROLLCALL_NCCL_LIBRARY": "nccl", "Threads": None, "CUDAToolkit": None}  # None: the compiler's or CudaPackage's own
PROGRAMS = {"MPI_CXX_COMPILER", "MPIEXEC_EXECUTABLE", "HDF5_C_COMPILER_EXECUTABLE"}


class Recipe:
    """Runs a recipe against stand-ins that note what it says."""

    def __init__(self, path):
        self.depends, self.variants, self.versions = [], [], []
        names = {name: lambda *_, **__: None for name in ("license", "conflicts", "generator", "maintainers")}
        names |= {"depends_on": lambda spec, **_: self.depends.append(spec), "variant": lambda name, **_: self.variants.append(name),
                  "version": lambda text, **_: self.versions.append(text), "run_after": lambda _: lambda f: f, "on_package_attributes": lambda **_: lambda f: f,
                  "join_path": lambda *parts: "/".join(map(str, parts)), "python_platlib": "/platlib"}
        spack = types.ModuleType("spack.package")
        spack.__dict__.update(names)
        spack.__all__ = list(names)
        modules = {"spack": types.ModuleType("spack"), "spack.package": spack}
        for place in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
            modules[place] = types.ModuleType(place)
        for place, name, extra in (("cmake", "CMakePackage", {}), ("cuda", "CudaPackage", {"cuda_arch_values": ("80", "90")})):
            module = types.ModuleType(place)
            setattr(module, name, type(name, (), extra))
            modules[f"spack_repo.builtin.build_systems.{place}"] = module
        sys.modules.update(modules)
        scope = {}
        exec(compile(path.read_text(), str(path), "exec"), scope)  # noqa: S102
        self.package = next(v for k, v in scope.items() if k.lower() == path.parent.name)

    def cmake_args(self, *, cuda):
        package = self.package()
        package.define = lambda name, value: (name, value)
        package.define_from_variant = lambda name, variant: (name, variant)
        package.spec = types.SimpleNamespace(satisfies=lambda _: cuda, variants={"cuda_arch": types.SimpleNamespace(value=("90",))})
        return dict(package.cmake_args())


def recipe_knows_every_dependency(failures):
    text = (ROOT / "cmake/Dependencies.cmake").read_text()
    asked = set(re.findall(r"^\s*find_(?:package|path|library|program)\((\w+)", text, re.M)) - PROGRAMS
    recipe = Recipe(PACKAGING / "spack/packages/rollcall/package.py")
    depends = {re.split(r"[@ +~]", spec)[0] for spec in recipe.depends}
    failures += [f"cmake/Dependencies.cmake asks for {name}, which this test does not know" for name in asked - set(SPACK_NAMES)]
    failures += [f"the recipe does not depend on {SPACK_NAMES[name]}" for name in asked & set(SPACK_NAMES) if SPACK_NAMES[name] and SPACK_NAMES[name] not in depends]
    for version in re.findall(r"project\(rollcall VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()):
        failures += [] if recipe.versions == [version] else [f"the recipe has version {recipe.versions}, the project {version}"]
    options = set(re.findall(r"option\((\w+)", (ROOT / "CMakeLists.txt").read_text()))
    defined = {name for name in recipe.cmake_args(cuda=False) if name.startswith("ROLLCALL_")}
    failures += [f"the recipe sets {name}, which the build does not know" for name in defined - options]
    failures += [] if "CMAKE_CUDA_ARCHITECTURES" in recipe.cmake_args(cuda=True) else ["the recipe leaves out the GPU's architecture"]
    Recipe(PACKAGING / "spack/packages/rapidcheck/package.py").cmake_args(cuda=False)


def definition_names_what_exists(failures):
    text = (PACKAGING / "rollcall.def").read_text()
    sections = re.findall(r"^%(\w+)", text, re.M)
    failures += [] if sections == ["arguments", "setup", "post", "test", "runscript"] else [f"sections of the definition: {sections}"]
    presets = (ROOT / "CMakePresets.json").read_text()
    failures += [f"no preset {name}" for name in re.findall(r"preset=(\w+)", text) if f'"name": "{name}"' not in presets]
    failures += [f"no {name}" for name in ("scripts/setup", "scripts/check_install") if name not in text or not (ROOT / name).exists()]
    for name in ("setup", "post", "test"):
        script = re.search(rf"^%{name}\n(.*?)(?=^%|\Z)", text, re.M | re.S).group(1)
        checked = subprocess.run(["sh", "-n"], input=script, capture_output=True, text=True)
        failures += [f"%{name}: {checked.stderr}"] if checked.returncode else []


LUA_STAND_INS = """
function whatis(t) print("whatis", t) end
function help(t) print("help", t) end
function depends_on(n) print("depends_on", n) end
function prepend_path(n, v) print("prepend_path", n, v) end
function setenv(n, v) print("setenv", n, v) end
function pathJoin(a, b) return a .. "/" .. b end
"""


def module_file_runs(failures):
    lua = shutil.which("lua") or shutil.which("lua5.3") or shutil.which("lua5.4")
    if not lua:
        print("note  no lua here: the module file was not run")
        return
    text = (PACKAGING / "rollcall.lua").read_text().replace("local needs = {}", 'local needs = {"mpi/1", "hdf5/2"}')
    ran = subprocess.run([lua, "-"], input=LUA_STAND_INS + text, capture_output=True, text=True)
    wanted = ["depends_on\tmpi/1", "depends_on\thdf5/2", "prepend_path\tPATH\t/opt/rollcall/0.1.0/bin"]
    failures += [f"the module file: {ran.stderr}{ran.stdout}"] if ran.returncode or not all(line in ran.stdout for line in wanted) else []


def python_package_has_the_version(failures):
    version = re.search(r"project\(rollcall VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    for name, pattern in (("pyproject.toml", r'^version = "(.*)"'), ("src/rollcall/__init__.py", r'^__version__ = "(.*)"')):
        found = re.findall(pattern, (PACKAGING / "python" / name).read_text(), re.M)
        failures += [] if found == [version] else [f"packaging/python/{name} has version {found}, the project {version}"]


def main():
    failures = []
    for test in (recipe_knows_every_dependency, definition_names_what_exists, module_file_runs, python_package_has_the_version):
        test(failures)
    for failure in failures:
        print(f"FAIL  {failure}")
    print(f"packaging: {len(failures)} problems")
    sys.exit(1 if failures else 0)


main()
