import { AppError } from '../errors.ts';

const enter = new Set(['\r', '\n', '\u0004']);
const interrupt = '\u0003';
const erase = new Set(['\u007f', '\b']);

/**
 * Reads a line of the standard input: from a terminal after a question, without showing what is typed.
 * @throws AppError `invalid` when it is interrupted.
 */
export async function readSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stdin.setEncoding('utf8');
  if (!stdin.isTTY) {
    let text = '';
    for await (const piece of stdin) text += piece;
    return (text.split('\n')[0] as string).trim();
  }
  // Before the question: a terminal shows what is typed until then.
  stdin.setRawMode(true);
  try {
    stderr.write(question);
    let text = '';
    for await (const piece of stdin) {
      for (const character of piece as string) {
        if (enter.has(character)) return text.trim();
        if (character === interrupt) throw new AppError('invalid', 'Interrupted.');
        text = erase.has(character) ? text.slice(0, -1) : text + character;
      }
    }
    return text.trim();
  } finally {
    stdin.setRawMode(false);
    stderr.write('\n');
  }
}
