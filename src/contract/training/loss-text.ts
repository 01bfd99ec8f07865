/** A loss with two decimals, or two digits if it is small. */
export const lossText = (value: number): string =>
  Math.abs(value) >= 0.1 ? value.toFixed(2) : String(Number(value.toPrecision(2)));
