/** Reads one JSON object, character by character, without parsing it. */
export interface ObjectReader {
  /** Takes as much of a text as belongs to the object; returns how many characters those are. */
  push(text: string): number;
  readonly isDone: boolean;
}

/**
 * @param onMember hears each member of the object itself: its key, the characters of its value as they come, and whether
 *   it is complete.
 */
export function createObjectReader(
  onMember: (key: string, text: string, isComplete: boolean) => void = () => undefined,
): ObjectReader {
  let depth = 0;
  let isQuoted = false;
  let isEscaped = false;
  let isDone = false;
  /** The key of the member that is read; `null` before its colon. */
  let key: string | null = null;
  /** The characters of a key. */
  let name = '';
  /** Those of a value that have not been told. */
  let fresh = '';
  const tell = (isComplete: boolean) => {
    if (key !== null && (fresh !== '' || isComplete)) onMember(key, fresh, isComplete);
    fresh = '';
    if (isComplete) [key, name] = [null, ''];
  };

  function take(char: string): void {
    const isInner = depth > 1 || isQuoted;
    if (isEscaped) isEscaped = false;
    else if (isQuoted) {
      if (char === '\\') isEscaped = true;
      if (char === '"') isQuoted = false;
    } else if (char === '"') isQuoted = true;
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
    if (depth === 0) {
      tell(true);
      isDone = true;
    } else if (!isInner && char === ':' && key === null) {
      key = keyOf(name);
    } else if (!isInner && char === ',') tell(true);
    else if (key !== null) fresh += char;
    else if (depth > 1 || isInner || char !== '{') name += char;
  }

  return {
    push(text) {
      let read = 0;
      for (const char of text) {
        if (isDone) break;
        take(char);
        read += char.length;
      }
      if (!isDone) tell(false);
      return read;
    },
    get isDone() {
      return isDone;
    },
  };
}

function keyOf(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.trim();
  }
}

/** What a text of JSON stands for; `undefined` if it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
