import { runMeasured } from './harness/measured.ts';
import { python, root } from './harness/places.ts';
import type { Comparison, Scenario, Side, Size } from './harness/scenario.ts';

/*
 * Answers scored by `string_check` and `text_similarity`: by Hone's graders, with their templates and explanations, and by
 * the libraries in a loop.
 */

const rows: Record<Size, number> = { full: 10_000, quick: 2_000, test: 50 };
const graders = ['string_check', 'fuzzy_match', 'bleu', 'gleu', 'meteor', 'all'] as const;

const side = (name: string, about: string): Side => ({
  name,
  about,
  async trial({ size }) {
    const { stdout } = await runMeasured(python, ['bench/programs/grading.py', name, String(rows[size])], {
      env: { PYTHONPATH: root },
    });
    const { seconds, total } = JSON.parse(stdout) as { seconds: Record<string, number>; total: number };
    return { figures: seconds, answer: total };
  },
});

export const scenario: Scenario = {
  name: 'grading',
  about: 'scores of 10,000 answers',
  sides: [side('hone', "Hone's graders"), side('library', 'rapidfuzz and nltk in a loop')],
  comparisons: graders.map(
    (figure): Comparison => ({
      metric: figure === 'all' ? 'all of them' : figure,
      figure,
      unit: 's',
      better: 'less',
      peer: 'library',
      goal: figure === 'all' ? { share: 2 } : null,
    }),
  ),
};
