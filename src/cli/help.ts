import type { Command, Requests } from './command.ts';
import { type Flag, flagsOf } from './flags.ts';

const lineWidth = 100;

/** Wraps a text at words, and indents it. */
function wrapped(text: string, indent: number): string {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) as string;
    if (line !== '' && indent + line.length + 1 + word.length > lineWidth) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => `${' '.repeat(indent)}${line}`).join('\n');
}

/** A flag with what stands for its value, as `--lora-r N`. */
export function flagText({ name, value, schema }: Flag): string {
  const short = name === 'follow' ? '-f, ' : name === 'help' ? '-h, ' : '';
  const no = schema.type === 'boolean' ? '[no-]' : '';
  return `${short}--${no}${name}${value === null ? '' : ` ${value}`}`;
}

export const usageOf = ({ name, operands }: Command): string =>
  ['hone', name, ...operands, '[FLAGS]'].join(' ');

/** The request of a command without fields. */
export const noRequest = { schema: {}, paths: [] };

/** The help of a command. */
export function helpOf(command: Command, requests: Requests): string {
  const flags = flagsOf(command, requests[command.name] ?? noRequest);
  return [
    `Usage: ${usageOf(command)}`,
    '',
    wrapped(command.about, 0),
    '',
    'Examples:',
    ...command.examples.map((example) => `  ${example}`),
    '',
    'Flags:',
    ...flags.map((flag) => `  ${flagText(flag)}\n${wrapped(flag.about, 6)}`),
    '',
  ].join('\n');
}
