/** A decimal comma, unless it could as well separate thousands. */
const decimalComma = /^([-+]?\d+),(\d+)$/;
const thousands = /^[-+]?[1-9]\d{0,2},\d{3}$/;

/** The number that a text is, also with a decimal comma or a typographic minus; NaN if it is none, or is ambiguous. */
export function readNumber(text: string): number {
  const plain = text.trim().replace('−', '-');
  if (plain === '') return Number.NaN;
  return Number(thousands.test(plain) ? plain : plain.replace(decimalComma, '$1.$2'));
}
