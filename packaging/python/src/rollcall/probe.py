"""Reads the structure of HDF5 files in a process of its own, because HDF5 may crash or loop on
damaged ones.

Called by files.py as: python probe.py, with one path a line on standard input. It answers each
path, once it has come through, with a line: an empty one where nothing is wrong, else what is. A
file that ends this process has no answer."""

import os
import resource
import sys

import h5py

LIMIT_S = 5  # of processor time for one file


def fault(path: str) -> str:
    """What no file of a run has, in words; empty where the file has none of it."""
    size = os.path.getsize(path)
    with h5py.File(path, "r") as file:
        list(file.attrs.values())
        for name in file:
            if not isinstance(file.get(name, getlink=True), h5py.HardLink):
                return f"{name} is a link by name"
            node = file[name]
            tables = (
                {f"{name}/{inner}": inner for inner in node}
                if isinstance(node, h5py.Group)
                else {name: ""}
            )
            for full, inner in tables.items():
                if inner and not isinstance(node.get(inner, getlink=True), h5py.HardLink):
                    return f"{full} is a link by name"
                dataset = file[full]
                if not isinstance(dataset, h5py.Dataset):
                    return f"{full} is no data set"
                if dataset.external or dataset.is_virtual or dataset.chunks or dataset.compression:
                    return f"{full} is stored as no file of a run stores its columns"
                if dataset.dtype.kind == "O":
                    if full != "rollouts/component":
                        return f"{full} has no type of a column"
                    dataset[:]
                offset, stored = dataset.id.get_offset(), dataset.id.get_storage_size()
                if offset is not None and offset + stored > size:
                    return f"{full} ends after the end of the file"
    return ""


def main() -> None:
    for line in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(
            resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + LIMIT_S + 1, hard)
        )
        try:
            said = fault(line.rstrip("\n"))
        except Exception as error:  # whatever h5py says of it is what is wrong with the file
            said = str(error) or type(error).__name__
        print(" ".join(said.split()), flush=True)


if __name__ == "__main__":
    main()
