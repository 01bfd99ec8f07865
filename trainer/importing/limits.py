"""How much of a source is held in memory."""

# The length of a row that Hone stores (src/domain/datasets/rows/row-validator.ts).
MAXIMUM_ROW_BYTES = 2**24
