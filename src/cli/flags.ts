import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AppError } from '../errors.ts';
import type { Command, Fields, RequestSchema, Schema } from './command.ts';
import { nearest } from './nearest.ts';

/** A flag as help and completion show it. */
export interface Flag {
  readonly name: string;
  readonly about: string;
  /** What stands for its value; `null` for a switch. */
  readonly value: string | null;
  readonly choices: readonly string[];
  /** The field of the request that it gives, and the schema of it. */
  readonly field: string | null;
  readonly schema: Schema;
}

const hyphenated = (name: string) => name.replaceAll('_', '-');

/** What a field may be besides null. */
function unwrapped(schema: Schema): Schema {
  const [only, ...others] = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
  return only === undefined || others.length > 0 ? schema : only;
}

function valueText({ type, enum: choices, pattern }: Schema): string | null {
  if (type === 'boolean') return null;
  if (choices !== undefined) return choices.join('|');
  if (type === 'array') return 'A,B,…';
  // Parameters of a query are texts.
  const isWhole = type === 'integer' || pattern?.startsWith('^\\d');
  return isWhole ? 'N' : type === 'number' ? 'NUMBER' : type === 'string' ? 'TEXT' : 'VALUE';
}

/** Those that every command has. */
const common: Command['flags'] = {
  json: { about: 'Print what the service answers as JSON.' },
  help: { about: 'Print this help.' },
};

/** The flags of a command: its own, and the described fields of its request. */
export function flagsOf(command: Command, { schema }: RequestSchema): Flag[] {
  const { given = [], renamed = {} } = command;
  const fields = Object.entries(schema.properties ?? {})
    .filter(([name, { description }]) => description !== undefined && !given.includes(name))
    .map(([name, field]): Flag => {
      const inner = unwrapped(field);
      return {
        name: renamed[name] ?? hyphenated(name),
        about: field.description as string,
        value: valueText(inner),
        choices: (inner.enum ?? []).map(String),
        field: name,
        schema: inner,
      };
    });
  const own = Object.entries({ ...command.flags, ...common }).map(
    ([name, { about, value = null, choices = [] }]): Flag => ({
      name,
      about,
      value,
      choices,
      field: null,
      schema: {},
    }),
  );
  return [...own, ...fields];
}

/** Only what needs it waits for the parser. */
const asYaml = async (text: string) => (await import('yaml')).parse(text);

async function readValue({ name, schema }: Flag, texts: readonly string[]): Promise<unknown> {
  const text = texts.at(-1) as string;
  switch (schema.type) {
    case 'integer':
    case 'number':
      if (text.trim() === '' || !Number.isFinite(Number(text)))
        throw new AppError('invalid', `--${name} must be a number, not "${text}".`);
      return Number(text);
    case 'string':
      return text;
    case 'array':
      return texts.flatMap((one) => one.split(',').map((part) => part.trim()));
    default:
      return asYaml(text);
  }
}

/** A command line that was read. */
export interface Parsed {
  readonly operands: readonly string[];
  readonly fields: Fields;
  readonly own: Readonly<Record<string, string | undefined>>;
}

/** @throws AppError `invalid` that names the flag, and the nearest one of an unknown. */
export async function parseFlags(argv: readonly string[], flags: readonly Flag[]): Promise<Parsed> {
  // The words of the API, with its underscores, are taken, too.
  const args = argv.map((one) => one.replace(/^--[^=]+/, hyphenated));
  const isKnown = (name: string) =>
    flags.some((flag) => flag.name === name || (flag.value === null && `no-${flag.name}` === name));
  const end = args.indexOf('--');
  for (const [, name = ''] of args
    .slice(0, end === -1 ? undefined : end)
    .map((one) => /^--([^=]+)/.exec(one) ?? [])) {
    if (name !== '' && !isKnown(name)) {
      const meant = nearest(
        name,
        flags.map((flag) => flag.name),
      );
      throw new AppError(
        'invalid',
        `There is no flag --${name}.${meant === null ? '' : ` Did you mean --${meant}?`}`,
      );
    }
  }
  const options = Object.fromEntries(
    flags.map(({ name, value }) => [
      name,
      value === null ? { type: 'boolean' as const } : { type: 'string' as const, multiple: true },
    ]),
  );
  options.help = { type: 'boolean', short: 'h' } as (typeof options)[string];
  if (options.follow !== undefined) Object.assign(options.follow, { short: 'f' });
  let read: ReturnType<typeof parseArgs>;
  try {
    // The types of Node 20.17 lack `allowNegative`: a literal in its place would be refused.
    const wanted = { args, options, allowPositionals: true, strict: true, allowNegative: true };
    read = parseArgs(wanted);
  } catch (error) {
    throw new AppError('invalid', (error as Error).message, { cause: error });
  }
  const fields: Fields = {};
  const own: Record<string, string | undefined> = {};
  for (const flag of flags) {
    const value = read.values[flag.name];
    if (value === undefined) continue;
    if (flag.field === null) own[flag.name] = Array.isArray(value) ? String(value.at(-1)) : String(value);
    else fields[flag.field] = Array.isArray(value) ? await readValue(flag, value as string[]) : value;
  }
  return { operands: read.positionals, fields, own };
}

/** The absolute path of a file or folder that there is; another text, such as the name of a stored dataset, as it is. */
export const located = (value: unknown, folder = process.cwd()): unknown =>
  typeof value === 'string' && existsSync(resolve(folder, value)) ? resolve(folder, value) : value;
