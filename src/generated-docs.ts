/** The parts of docs/ that are generated from `src/contract/`. */

import { exitCodes, type Requests } from './cli/command.ts';
import { commands } from './cli/commands.ts';
import { flagsOf } from './cli/flags.ts';
import { flagText, noRequest, usageOf } from './cli/help.ts';
import { requests } from './commands/request-schemas.ts';
import { failureCodes, failures } from './contract/failures.ts';
import { type Field, journalLines } from './contract/journal.ts';
import { type TriedArchitecture, triedArchitectures } from './contract/models/architectures.ts';
import { ggufArchitectures } from './contract/models/gguf-bases.ts';
import { derivedText, type Setting, settingNames, settings } from './contract/settings.ts';

/** Characters of a line of text. */
const lineWidth = 112;

/** Wraps a paragraph or list item; further lines of an item are indented. */
function wrapped(text: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > lineWidth) {
      lines.push(line);
      line = text.startsWith('- ') ? '  ' : '';
    }
    line += line.trim() === '' ? word : ` ${word}`;
  }
  return [...lines, line].join('\n');
}

/** Paragraphs and list items as Markdown, with an empty line between paragraphs. */
const markdown = (parts: readonly string[]): string =>
  parts
    .map((part, index) => {
      const inList = part.startsWith('- ') && parts[index - 1]?.startsWith('- ');
      return `${index === 0 ? '' : inList ? '\n' : '\n\n'}${wrapped(part)}`;
    })
    .join('');

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`.replaceAll('| --- ', '|---').replace('--- |', '---|'))
    .join('\n');

const code = (text: string) => `\`${text}\``;

const failureSections = (): string =>
  failureCodes.map((name) => `## ${code(name)}\n\n${markdown(failures[name].help)}`).join('\n\n');

const kindWords: Readonly<Record<string, string>> = {
  numbers: 'object of numbers',
  texts: 'object of strings',
  verification: 'object',
  export: 'object',
};

/** A field's name, with what its value may be if that is not a plain number, string or boolean. */
function fieldText(name: string, field: Field): string {
  if (field === (failureCodes as Field)) return `${code(name)} ([failure code](troubleshooting.md))`;
  if (typeof field !== 'string') return `${code(name)} (${field.map(code).join(', ')})`;
  const nullable = field.endsWith('?');
  const kind = field.replaceAll('?', '');
  const words = kindWords[kind] ?? (nullable ? (kind === 'text' ? 'string' : kind) : '');
  if (words === '') return code(name);
  return `${code(name)} (${words}${nullable ? ' or null' : ''})`;
}

const journalTable = (): string =>
  table(
    ['type', 'fields'],
    Object.entries(journalLines).map(([type, fields]) => [
      code(type),
      Object.entries(fields)
        .map(([name, field]) => fieldText(name, field))
        .join(', '),
    ]),
  );

const numberText = (value: number) => value.toLocaleString('en').replace('-', '−');

/** The values that a setting may have. */
function valuesOf(setting: Setting): string {
  switch (setting.kind) {
    case 'switch':
      return 'boolean';
    case 'choice':
      return setting.choices?.map(code).join(', ') ?? 'see `GET /api/choices`';
    case 'text':
      return 'string';
    case 'prompts':
      return `array of up to ${setting.maxItems} strings, or objects with \`prompt\`, \`reference\`, \`grader\`, \`threshold\` and \`item\``;
    case 'names':
      return `array of ${setting.minItems === 0 ? 'up' : setting.minItems} to ${setting.maxItems} strings`;
    case 'graders':
      return `array of 1 to ${setting.maxItems} names of stored graders, or objects with \`name\` or \`grader\`, and \`weight\``;
    case 'format':
      return 'object with `type` (`json_schema`) and `json_schema`';
    case 'integer':
    case 'number': {
      const { kind, min, max, above, below, special } = setting;
      const low = `${above ? 'more than ' : ''}${numberText(min)}`;
      const high = max === undefined ? '' : `${below ? 'less than ' : ''}${numberText(max)}`;
      const range =
        high === '' ? `${low}${above ? '' : ' or more'}` : `${low}${above ? ', up' : ''} to ${high}`;
      const or = special === undefined ? '' : `, or ${numberText(special.value)} (${special.meaning})`;
      return `${kind}, ${range}${or}`;
    }
  }
}

function defaultOf(setting: Setting): string {
  const { derivedFrom, recommended, recommendedForFull: forFull, empty } = setting;
  if (derivedFrom !== undefined) return derivedText(derivedFrom, code);
  const one = (value: unknown) =>
    value === null
      ? (empty ?? 'automatic')
      : typeof value === 'number'
        ? String(value).replace('-', '−')
        : code(String(value));
  const usual = typeof recommended === 'object' && recommended !== null ? 'by profile' : one(recommended);
  return forFull === undefined ? usual : `${usual}; with \`adapter\` \`full\` ${one(forFull)}`;
}

const settingsTable = (): string =>
  table(
    ['field', 'values', 'default'],
    settingNames.map((name) => [code(name), valuesOf(settings[name]), defaultOf(settings[name])]),
  );

const architecturesTable = (): string => {
  const yes = (fact: boolean) => (fact ? 'yes' : 'no');
  const ofGgufs = new Set<string>(Object.values(ggufArchitectures).map(({ className }) => className));
  // Its files have Llama's architecture.
  ofGgufs.add('MistralForCausalLM');
  const rows = Object.entries(triedArchitectures).map(([toy, row]: [string, TriedArchitecture]) => [
    row.architecture,
    toy,
    yes(row.trains),
    row.padded === null ? '' : row.padded ? 'padded' : 'without padding',
    row.adapts === '' ? '' : row.adapts.split(' ').map(code).join(' '),
    yes(row.gguf),
    row.trains ? yes(row.loss_equal) : '',
    row.gguf ? yes(row.tokens_equal) : '',
    row.gguf ? yes(row.answer_equal) : '',
    yes(ofGgufs.has(row.architecture)),
    row.why?.replaceAll('|', '\\|').replaceAll('\n', ' ') ?? '',
  ]);
  const head = ['class', 'toy', 'trains', 'rows', 'adapted by default', 'GGUF'];
  return table(
    [...head, 'loss equal', 'tokens equal', 'answer equal', 'GGUF base', 'why not'],
    rows.sort((one, other) => String(one[0]).localeCompare(String(other[0]))),
  );
};

const withoutPipes = (text: string) => text.replaceAll('|', '\\|');

const commandSections = (): string =>
  commands
    .map((command) => {
      const flags = flagsOf(command, (requests as Requests)[command.name] ?? noRequest);
      return [
        `## hone ${command.name}`,
        `${code(usageOf(command))}`,
        wrapped(command.about),
        ['```sh', ...command.examples, '```'].join('\n'),
        table(
          ['flag', ''],
          flags.map((flag) => [code(withoutPipes(flagText(flag))), withoutPipes(flag.about)]),
        ),
      ].join('\n\n');
    })
    .join('\n\n');

const exitCodeTable = (): string =>
  table(
    ['exit code', ''],
    Object.entries(exitCodes).map(([number, text]) => [code(number), text]),
  );

/** The generated blocks of each page by name. In the page, comments mark where a block begins and ends. */
export const generatedBlocks: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'docs/commands.md': { commands: commandSections, exits: exitCodeTable },
  'docs/architectures.md': { architectures: architecturesTable },
  'docs/troubleshooting.md': { failures: failureSections },
  'docs/job-folder.md': { journal: journalTable },
  'docs/specification.md': { settings: settingsTable },
};

/** A page with its generated blocks made anew. @throws Error if it lacks the comments of a block. */
export function withBlocks(page: string, blocks: Readonly<Record<string, () => string>>): string {
  return Object.entries(blocks).reduce((text, [name, make]) => {
    const [begin, end] = [`<!-- begin ${name}: npm run generate -->\n`, `\n<!-- end ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from === -1 || to < from) throw new Error(`The comments of the block ${name} are missing.`);
    return `${text.slice(0, from + begin.length)}\n${make()}\n${text.slice(to)}`;
  }, page);
}
