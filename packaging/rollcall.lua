-- Lmod module of Rollcall. Copy it to MODULEPATH/rollcall/0.2.0.lua and change the two lines that start with "local".
local prefix = "/opt/rollcall/0.2.0"
local needs = {}  -- the modules Rollcall was built with, for example {"openmpi/4.1.6", "hdf5-parallel/1.14.3"}

whatis("Name: Rollcall")
whatis("Version: 0.2.0")
whatis("Description: Reinforcement learning of language models with verifiable rewards, as one MPI job")
help("rollcall doctor tells what is there; rollcall submit RUN.toml --nodes 2 --site NAME starts a job. Run files: " .. prefix .. "/share/rollcall/jobs/runs")

for _, name in ipairs(needs) do
  depends_on(name)
end
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
setenv("ROLLCALL_ROOT", prefix)
