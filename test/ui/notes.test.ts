/** What the page says of its figures: nothing that it shows by a name of the field stays unexplained. */
import './page-globals.ts';

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { figureLabel, figureNames } from '../../src/contract/evaluations.ts';
import { quantizationTypes } from '../../src/contract/models/quantizations.ts';
import { metricName } from '../../src/contract/training/metric-names.ts';
import { notedNames, noteOf } from '../../ui/elements/info/notes.ts';
import { singles } from '../../ui/views/runs/run-charts.ts';
import { names as verificationNames } from '../../ui/views/runs/verdict/verification.ts';
import { root } from '../folders.ts';

const named = {
  'figures of evaluations': figureNames.map(figureLabel),
  'types of files': quantizationTypes,
  'charts of a run': singles.map(({ name }) => name),
  'figures of a verification': Object.values(verificationNames),
};

for (const [what, labels] of Object.entries(named)) {
  test(`all ${what} have a note of two or three sentences`, () => {
    for (const label of labels) {
      const note = noteOf(label);
      assert.ok(note, label);
      const sentences = note.match(/[.:?](?= [A-Z\d]|$)/g) ?? [];
      assert.ok(sentences.length >= 2 && sentences.length <= 3 && note.length < 260, `${label}: ${note}`);
    }
  });
}

test('every note is of a name that the page shows', () => {
  const sources = ['ui', join('src', 'contract')]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((path) => path.endsWith('.ts') && !path.endsWith('notes.ts'))
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n');
  /** Metrics that TRL names. */
  const named = ['entropy', 'mean_token_accuracy'].map(metricName);
  const isShown = (name: string) =>
    named.includes(name) ||
    [name, `${name} (%)`].some((text) => sources.includes(`'${text}'`)) ||
    new RegExp(`\\b${name}: \\{`).test(sources);
  assert.equal(
    notedNames.filter((name) => !isShown(name)),
    [],
  );
});

test('a name that is none of them has no note, whatever objects inherit', () => {
  for (const name of ['constructor', 'toString', 'Uploaded']) assert.is(noteOf(name), undefined);
});

test.run();
