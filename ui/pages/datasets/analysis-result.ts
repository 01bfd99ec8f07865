import { html, nothing, type TemplateResult } from 'lit';
import type { Analysis } from '../../api/types.ts';
import { counting } from '../../charts/axis.ts';
import { formatCount, formatPercent } from '../../elements/format.ts';
import { figure, modelName, nameText } from '../../elements/parts.ts';
import { datasetPath } from '../../state/router.ts';
import { cutText } from '../../views/datasets/row-fields.ts';

const textLimit = 240;
const shownLines = 12;
const shownGroups = 10;

/** What an analysis has found. */
export function analysisResult(name: string, result: Analysis): TemplateResult {
  const { lengths, exact_duplicates: exact, near_duplicates: near, empty_answers: empty, overlap } = result;
  return html`<dl class="figures-grid">
      ${figure('Rows', formatCount(result.rows))}
      ${figure('Exact duplicates', formatCount(exact.rows))}
      ${figure('Near duplicates', formatCount(near.rows))}
      ${figure('Empty answers', formatCount(empty.rows))}
    </dl>
    ${lengths === null ? nothing : lengthsPart(lengths, result.rows)}
    ${part(
      'Exact duplicates',
      exact.groups.length,
      exact.groups
        .slice(0, shownGroups)
        .map(({ lines, text }) => html`<li>${lineLinks(name, lines)}${quote(text)}</li>`),
    )}
    ${part(
      'Near duplicates',
      near.pairs.length,
      near.pairs.slice(0, shownGroups).map(
        ({ lines, similarity, texts }) => html`<li>
        ${lineLinks(name, lines)} <span class="muted">${formatPercent(similarity)} alike</span>
        ${[...new Set(texts)].map(quote)}
      </li>`,
      ),
    )}
    ${overlap === null ? nothing : overlapPart(name, overlap)}
    ${empty.rows === 0 ? nothing : html`<section><h3>Empty answers</h3><p>${lineLinks(name, empty.lines)}</p></section>`}`;
}

function lengthsPart(lengths: NonNullable<Analysis['lengths']>, rows: number): TemplateResult {
  const { bins, max_seq_length: cut } = lengths;
  const last = bins.at(-1);
  const steps = [...bins.map(({ from }) => from), ...(last === undefined ? [] : [last.to + 1])];
  const counts = (wanted: (from: number) => boolean) => [
    ...bins.map(({ from, count }) => (wanted(from) ? count : null)),
    ...(last === undefined ? [] : [null]),
  ];
  return html`<section>
    <p class="note">
      Lengths of ${formatCount(lengths.sampled_rows)}${lengths.sampled_rows < rows ? ' rows drawn at random' : ' rows'}, in tokens of ${modelName(lengths.model)}.
      The dashed line marks the limit of ${formatCount(cut)} tokens: what is longer is truncated.
    </p>
    <dl class="figures-grid">
      ${figure('Median', formatCount(lengths.median))} ${figure('95th percentile', formatCount(lengths.p95))}
      ${figure('Longest', formatCount(lengths.longest))} ${figure('Truncated rows', formatCount(lengths.truncated_rows))}
      ${figure('Tokens trained on', formatPercent(lengths.learned_share))}
    </dl>
    <hone-chart
      heading="Rows by length"
      measures="Rows"
      .xs=${[{ axis: counting('Tokens'), values: steps }]}
      .lines=${[
        { label: 'Whole', colour: '--line-1', bars: true, values: counts((from) => from <= cut) },
        { label: 'Truncated', colour: '--line-6', bars: true, values: counts((from) => from > cut) },
      ]}
      .format=${formatCount}
      .marks=${[{ kind: 'limit', at: cut }]}
    ></hone-chart>
  </section>`;
}

function overlapPart(name: string, overlap: NonNullable<Analysis['overlap']>): TemplateResult {
  return html`<section>
    <h3>Overlap with ${nameText(overlap.dataset)}</h3>
    <p>${
      overlap.exact + overlap.near === 0
        ? 'None of its rows is in this dataset.'
        : `${formatCount(overlap.exact)} of its rows are in this dataset, and ${formatCount(overlap.near)} are nearly alike. Results on them say nothing about new rows.`
    }</p>
    <ul class="found">
      ${overlap.examples.slice(0, shownGroups).map(
        ({ lines: [line = 0, other = 0], texts }) => html`<li>
          ${lineLinks(name, [line])}, and ${lineLinks(overlap.dataset, [other], 'line')} of ${nameText(overlap.dataset)} ${[...new Set(texts)].map(quote)}
        </li>`,
      )}
    </ul>
  </section>`;
}

const part = (title: string, total: number, items: readonly TemplateResult[]) =>
  total === 0
    ? nothing
    : html`<section>
        <h3>${title}</h3>
        <ul class="found">${items}</ul>
        ${total > items.length ? html`<p class="note">And ${formatCount(total - items.length)} more.</p>` : nothing}
      </section>`;

const quote = (text: string) => html`<p class="sample-text wrap"><bdi>${cutText(text, textLimit)}</bdi></p>`;

/** Links to the rows at some lines. */
function lineLinks(name: string, lines: readonly number[], word = 'Line'): TemplateResult {
  return html`${lines.length === 1 ? word : `${word}s`}
  ${lines
    .slice(0, shownLines)
    .map(
      (line, index) =>
        html`${index > 0 ? ', ' : ''}<a href="${datasetPath(name)}?row=${line}">${formatCount(line)}</a>`,
    )}${lines.length > shownLines ? ` and ${formatCount(lines.length - shownLines)} more` : ''}`;
}
