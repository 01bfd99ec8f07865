"""Writes the same rows as CSV, JSON array and Parquet: `import_inputs.py DIR MEGABYTES`, each of about that size."""

import csv
import json
import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

WORDS = "the parcel has not come yet and I would like to know where it is now please".split()
BATCH = 500


def text(row: int, length: int, shift: int) -> str:
    return " ".join(
        WORDS[(row * shift + place * place) % len(WORDS)] for place in range(length)
    )


folder, limit = Path(sys.argv[1]), float(sys.argv[2]) * 1e6
schema = pa.schema([("instruction", pa.string()), ("output", pa.string())])
count = 0
with (
    open(folder / "rows.csv", "w", encoding="utf-8", newline="") as table,
    open(folder / "rows.json", "w", encoding="utf-8") as array,
    # Without compression, so that its size is that of the others.
    parquet.ParquetWriter(
        folder / "rows.parquet", schema, compression="none", use_dictionary=False
    ) as columns,
):
    writer = csv.writer(table)
    writer.writerow(schema.names)
    while table.tell() < limit:
        batch = [
            {
                "instruction": text(row, 60, 7)
                + ("\n – “straße”, again" if row % 5 == 0 else "."),
                "output": f'order "{row}": {text(row, 70, 11)}',
            }
            for row in range(count, count + BATCH)
        ]
        writer.writerows(row.values() for row in batch)
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in batch)
        array.write(("[" if count == 0 else ",\n") + rows)
        columns.write_table(pa.Table.from_pylist(batch, schema))
        count += BATCH
    array.write("]\n")
print(count)
