import { readFileSync } from 'node:fs';
import { AppError } from '../errors.ts';
import type { Fields, Schema } from './command.ts';
import { nearest } from './nearest.ts';

/** A settings file: the fields of a request, and the lines that they are on. */
export interface SettingsFile {
  readonly values: Fields;
  /** The file and line of a field, by its path; `null` if it is not there. */
  placeOf(path: readonly string[]): string | null;
}

const noun = (path: readonly string[]) => path.join('.');

/** What an object of a schema may contain; `null` if it is not known. */
function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> | null {
  const found = [schema, ...(schema.anyOf ?? []).flatMap((one) => [one, ...(one.anyOf ?? [])])];
  return found.find(({ properties }) => properties !== undefined)?.properties ?? null;
}

/**
 * Reads a request in YAML or JSON, which is YAML, too.
 * @throws AppError `invalid` with file and line: for what is no YAML, and for each unknown key with the nearest one.
 */
export async function readSettingsFile(path: string, schema: Schema): Promise<SettingsFile> {
  const { LineCounter, isMap, isScalar, parseDocument } = await import('yaml');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new AppError('invalid', `${path} cannot be read (${(cause as NodeJS.ErrnoException).code}).`, {
      cause,
    });
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number) => `${path}:${lines.linePos(offset).line}`;
  if (document.errors.length > 0)
    throw new AppError(
      'invalid',
      document.errors.map(({ pos, message }) => `${at(pos[0])}: ${message}`).join('\n'),
    );
  if (!isMap(document.contents))
    throw new AppError('invalid', `${at(0)}: The file must have one setting a line, such as "lora_r: 16".`);

  const unknown: string[] = [];
  const places = new Map<string, string>();
  const visit = (node: unknown, within: Schema, parents: readonly string[]) => {
    if (!isMap(node)) return;
    const properties = propertiesOf(within);
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : String(key);
      const place = at((key as { range?: [number] }).range?.[0] ?? 0);
      const child = [...parents, name];
      places.set(noun(child), place);
      if (properties !== null && properties[name] === undefined) {
        const meant = nearest(name, Object.keys(properties));
        unknown.push(
          `${place}: There is no setting "${noun(child)}".${meant === null ? '' : ` Did you mean "${meant}"?`}`,
        );
      } else visit(value, properties?.[name] ?? {}, child);
    }
  };
  visit(document.contents, schema, []);
  if (unknown.length > 0) throw new AppError('invalid', unknown.join('\n'));
  return {
    values: document.toJS() as Fields,
    placeOf: (wanted) => {
      for (let length = wanted.length; length > 0; length--) {
        const place = places.get(noun(wanted.slice(0, length)));
        if (place !== undefined) return place;
      }
      return null;
    },
  };
}
