"""The obvious way to check a dataset: json.loads on every line, and the fields' types. Prints the number of rows."""

import json
import sys

rows = 0
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        row = json.loads(line)
        if not isinstance(row["input"], str) or not isinstance(row["output"], str):
            sys.exit(f"line {rows + 1}: a field is no string")
        rows += 1
print(rows)
