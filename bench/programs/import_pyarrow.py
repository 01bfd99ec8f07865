"""The obvious way to make JSONL: pyarrow reads (json, of an array), json.dumps writes. `import_pyarrow.py IN OUT`."""

import json
import sys

source, target = sys.argv[1:]


def rows():
    if source.endswith(".json"):
        with open(source, encoding="utf-8") as file:
            yield from json.load(file)
    elif source.endswith(".parquet"):
        from pyarrow import parquet

        for batch in parquet.ParquetFile(source).iter_batches():
            yield from batch.to_pylist()
    else:
        from pyarrow import csv

        for batch in csv.open_csv(
            source, parse_options=csv.ParseOptions(newlines_in_values=True)
        ):
            yield from batch.to_pylist()


count = 0
first = last = None
with open(target, "w", encoding="utf-8") as out:
    for row in rows():
        row = {"input": row["instruction"], "output": row["output"]}
        out.write(json.dumps(row) + "\n")
        first = first or row
        last = row
        count += 1
print(json.dumps([count, first, last]))
