import { AppError, type FieldIssue } from '../../errors.ts';

/** Much deeper than any valid request. */
const maximumDepth = 64;

interface Level {
  /** Of an object: its first key, then all of them once there are two. */
  keys: string | Set<string> | null;
  /** Where the walk is: the key of an object, the index of an array. */
  at: string | number;
  readonly isObject: boolean;
}

/**
 * Parses the body of a request more strictly than `JSON.parse`: a key that is given twice is refused, since
 * it is ambiguous; so is nesting deeper than 64. Runs in linear time.
 * @throws AppError `invalid` that names the place.
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const said = (error as Error).message;
    const shown = said.length > 100 ? `${said.slice(0, 100)}…` : said;
    throw refusal([], 'json_invalid', `The body is not valid JSON: ${shown}`, error);
  }
  if (typeof value === 'object' && value !== null) checkKeys(text);
  return value;
}

/** Walks a text that is known to be valid JSON, so that only quotes, brackets, colons and commas matter. */
function checkKeys(text: string): void {
  const levels: Level[] = [];
  let top: Level | undefined;
  let expectsKey = false;
  const path = () => levels.map(({ at }) => String(at));
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case 0x22: {
        const end = endOfString(text, index);
        if (expectsKey && top !== undefined) {
          const raw = text.slice(index, end + 1);
          const key = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
          top.at = key;
          expectsKey = false;
          if (isRepeated(top, key)) {
            const shown = path().join('.').slice(0, 200);
            throw refusal(path(), 'duplicate_key', `Field "${shown}" is given twice`);
          }
        }
        index = end;
        break;
      }
      case 0x7b:
      case 0x5b: {
        const isObject = text.charCodeAt(index) === 0x7b;
        if (levels.length === maximumDepth) {
          throw refusal(
            path().slice(0, 1),
            'too_deep',
            `The body is nested deeper than ${maximumDepth} levels`,
          );
        }
        top = { keys: null, at: isObject ? '' : 0, isObject };
        levels.push(top);
        expectsKey = isObject;
        break;
      }
      case 0x7d:
      case 0x5d:
        levels.pop();
        top = levels.at(-1);
        expectsKey = false;
        break;
      case 0x2c:
        if (top?.isObject) expectsKey = true;
        else if (top !== undefined) top.at = (top.at as number) + 1;
        break;
    }
  }
}

/** Records a key. The set is created for the second key, because most objects are small. */
function isRepeated(level: Level, key: string): boolean {
  if (level.keys === null) {
    level.keys = key;
    return false;
  }
  if (typeof level.keys === 'string') {
    if (level.keys === key) return true;
    level.keys = new Set([level.keys, key]);
    return false;
  }
  if (level.keys.has(key)) return true;
  level.keys.add(key);
  return false;
}

/** The index of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (true) {
    const code = text.charCodeAt(index);
    if (code === 0x22) return index;
    index += code === 0x5c ? 2 : 1;
  }
}

function refusal(path: readonly string[], type: string, msg: string, cause?: unknown): AppError {
  const issue: FieldIssue = { loc: ['body', ...path], msg, type };
  return new AppError('invalid', msg, { issues: [issue], cause });
}
