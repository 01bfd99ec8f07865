/** What a value begins with; `v` stands for numbers, `true`, `false` and `null`. */
const value = '{["v';

/** Where a text stops being JSON, or its length if it is not complete; `null` if it is JSON. */
export function jsonEnd(text: string): number | null {
  const part = /\s*([{}[\],:]|"(?:[^"\\]|\\[\s\S])*"|[^\s{}[\],:"]+)/y;
  const open: string[] = [];
  /** What the next part may begin with. */
  let next = value;
  let isName = false;
  for (;;) {
    const at = text.length - text.slice(part.lastIndex).trimStart().length;
    if (at === text.length) return next === '' ? null : at;
    const [, found = ''] = part.exec(text) ?? [];
    const kind = '{}[],:"'.includes(found.charAt(0)) ? found.charAt(0) : 'v';
    // A text that does not end.
    if (found === '') return next.includes('"') ? text.length : at;
    if (!next.includes(kind) || ('"v'.includes(kind) && !isJson(found))) return at;
    if (kind === '{' || kind === '[') open.push(kind);
    if (kind === '}' || kind === ']') open.pop();
    const isInObject = open.at(-1) === '{';
    if (kind === '{') next = '"}';
    else if (kind === '[') next = `${value}]`;
    else if (kind === ',') next = isInObject ? '"' : value;
    else if (kind === ':') next = value;
    else if (kind === '"' && isName) next = ':';
    else next = open.length === 0 ? '' : isInObject ? ',}' : ',]';
    isName = isInObject && (kind === '{' || kind === ',');
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
