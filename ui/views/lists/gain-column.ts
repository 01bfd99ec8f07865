import { html } from 'lit';
import { formatNumber } from '../../elements/format.ts';

/** The column that tells which of several runs or models is the best. */
export const gainColumn = {
  key: 'gain',
  name: 'Gain',
  spare: '',
} as const;

/** The column that does so by the graders of the runs. */
export const scoreColumn = {
  key: 'score',
  name: 'Score',
  usual: false,
  spare: '',
} as const;

/** Scores by the graders' names, the first one first. */
export const scoresView = (scores: Readonly<Record<string, number>>) =>
  Object.entries(scores).map(
    ([name, score], index) =>
      html`${index === 0 ? '' : ' · '}<span class="unbroken"><bdi>${name}</bdi> ${formatNumber(score)}</span>`,
  );
