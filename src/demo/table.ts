import type { Answer, Answered } from './questions.ts';

const widestTerminal = 120;

/** Truncates or pads a text to a width in characters. */
function fit(text: string, width: number): string {
  const plain = [...text.replace(/\s+/g, ' ').trim()];
  return plain.length <= width
    ? plain.join('') + ' '.repeat(width - plain.length)
    : `${plain.slice(0, width - 1).join('')}…`;
}

/** The questions, each followed by both answers side by side. */
export function renderTable(rows: readonly Answered[], columns: number): string {
  const half = Math.floor((Math.min(columns, widestTerminal) - 9) / 2);
  const cell = (answer: Answer) => `${answer.right ? '✓' : '✗'} ${fit(answer.text, half - 2)}`;
  const lines = ['', `    ${fit('base', half)} │ ${fit('tuned', half)}`.trimEnd()];
  rows.forEach(({ question, base, tuned }, i) => {
    lines.push(`${String(i + 1).padStart(2)}  ${question.prompt}`);
    lines.push(`    ${cell(base)} │ ${cell(tuned)}`.trimEnd());
  });
  return lines.join('\n');
}
