import { Reply } from '../../../http/reply.ts';
import { type Markup, markup } from './markup.ts';
import { reportStyle } from './report-style.ts';

/** A report as one HTML file that loads nothing. */
export const reportPage = (
  title: string,
  header: readonly Markup[],
  ...sections: readonly (Markup | null)[]
) =>
  markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Hone</title>
<style>${reportStyle}</style>
</head>
<body>
<header>
<h1><bdi>${title}</bdi></h1>
${header}
</header>
<main>
${sections.flatMap((section) => (section === null ? [] : [section]))}
</main>
<footer><p>Made by Hone.</p></footer>
</body>
</html>
`.text;

/** A report as a file to save. @param name without the extension. */
export const reportReply = (name: string, report: string): Reply =>
  new Reply(200, report, {
    'content-type': 'text/html; charset=utf-8',
    'content-disposition': `attachment; filename="${name}.html"`,
    // Should a browser show it in place of saving it.
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  });

/** What a table tells of each run or evaluation; texts are isolated, and `null` is left empty. */
export interface TableRow {
  readonly name: string;
  readonly values: readonly (Markup | string | null)[];
}

/** A heading with a table: a column for each of the titles, or one without a title. `null` without rows. */
export const tableOf = (
  heading: string,
  rows: readonly TableRow[],
  titles: readonly string[] = [],
): Markup | null =>
  rows.length === 0
    ? null
    : markup`<section><h2>${heading}</h2>
<div class="table"><table class="${titles.length > 1 ? 'columns' : ''}">
${titles.length === 0 ? null : markup`<thead><tr><td></td>${titles.map((title) => markup`<th scope="col"><bdi>${title}</bdi></th>`)}</tr></thead>`}
<tbody>
${rows.map(
  ({ name, values }) =>
    markup`<tr><th scope="row">${name}</th>${values.map((value) => markup`<td><bdi>${value}</bdi></td>`)}</tr>`,
)}
</tbody>
</table></div></section>`;

/** A prompt with its answers, each under its name; those that are `null` are left out. */
export const answersOf = (
  prompt: string | Markup,
  answers: readonly (readonly [name: string, text: string | null])[],
): Markup => markup`<article>
<h3>${prompt}</h3>
<dl>${answers.map(([name, text]) =>
  text === null
    ? markup``
    : markup`<dt><bdi>${name}</bdi></dt><dd><bdi>${text === '' ? '(empty answer)' : text}</bdi></dd>`,
)}</dl>
</article>`;
