/** A table with aligned columns and a line of headings, for a terminal or a pipe. */
export function asTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return `${rows.map((row) => line(row).trimEnd()).join('\n')}\n`;
}

/** An ISO time to the minute, in UTC. */
export const toMinutes = (time: string) => `${time.slice(0, 16).replace('T', ' ')} UTC`;
