#!/usr/bin/env python3
"""arrow_reader.py FOLDER DUCKDB: FOLDER/run has tables of four ranks. Arrow's library and DuckDB's command line find the same in them."""
import csv
import glob
import io
import subprocess
import sys

import pyarrow
import pyarrow.dataset
import pyarrow.parquet

folder, duckdb = sys.argv[1:3]
failed = 0


def expect(what, found, expected):
    global failed
    if found != expected:
        failed += 1
        print(f"{what}: {repr(found)[:300]} instead of {repr(expected)[:300]}")


def ask(query):
    """Rows as texts."""
    out = subprocess.run([duckdb, "-init", "/dev/null", "-csv", "-c", query], check=True, capture_output=True, text=True).stdout
    return list(csv.reader(io.StringIO(out)))


for table in ("calls", "operations", "ranges", "processes"):
    files = sorted(glob.glob(f"{folder}/run/{table}/**/*.parquet", recursive=True))
    expect(f"files of {table}", len(files), 4)
    rows = 0
    for file in files:
        read = pyarrow.parquet.read_table(file, partitioning=None)
        read.validate(full=True)
        rows += read.num_rows
        texts = [["NULL" if value is None else str(value) for value in row.values()] for row in read.to_pylist()]
        expect(file, [read.column_names, *texts], ask(f"select * from read_parquet('{file}', hive_partitioning = false)"))
        metadata = pyarrow.parquet.read_metadata(file)
        groups = [metadata.row_group(group).column(0) for group in range(metadata.num_row_groups)]
        starts = read.column("start_ns").to_pylist()
        expect(f"compression of {file}", {column.compression for column in groups if starts}, {"ZSTD"} if starts else set())
        if starts:
            expect(f"statistics of {file}", (min(x.statistics.min for x in groups), max(x.statistics.max for x in groups)), (min(starts), max(starts)))
        expect(f"order of {file}", starts, sorted(starts))
        for group in range(len(groups) - 1):  # only the last may be smaller
            expect(f"rows of a group of {file}", metadata.row_group(group).num_rows >= 122_880, True)
    whole = pyarrow.dataset.dataset(f"{folder}/run/{table}", format="parquet", partitioning="hive")
    expect(f"rows of {table}", whole.count_rows(), rows)
    if table != "ranges":
        expect(f"ranks of {table}", sorted(set(whole.to_table(columns=["rank"]).column(0).to_pylist())), [0, 1, 2, 3])
    print(f"{rows:6} rows of {table}")
print(f"Arrow {pyarrow.__version__} and DuckDB {ask('select version()')[1][0]}: {failed} failed")
sys.exit(1 if failed else 0)
