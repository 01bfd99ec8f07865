import type { Dataset, Job, Model } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { shortModelName } from '../../elements/parts.ts';
import { router } from '../../state/app.ts';
import { datasetPath } from '../../state/router.ts';
import { stateName } from '../../state/runs/job-words.ts';
import { type Theme, theme } from '../../state/theme.ts';
import type { Entry } from './find-entries.ts';

const page = (name: string, path: string, ...details: string[]): Entry => ({
  key: `page ${path}`,
  kind: 'Page',
  name,
  details,
  choose: () => router.go(path),
});

const action = (name: string, choose: () => void, ...details: string[]): Entry => ({
  key: `action ${name}`,
  kind: 'Action',
  name,
  details,
  choose,
});

const actions: readonly Entry[] = [
  action('New training', () => router.go('/training'), 'Fine-tune a model'),
  action('New sweep', () => router.go('/training/sweeps/new'), 'Search the best settings'),
  action('New evaluation', () => router.go('/models/evaluations'), 'Score a dataset'),
  action('Import data', () => router.go('/datasets'), 'Files, the hub, other formats'),
  action('Datasets from documents', () => router.go('/datasets/documents'), 'PDF, Word, HTML and text files'),
  action('Import from OpenAI', () => router.go('/datasets/openai'), 'Files and jobs of an account'),
];

const themes: readonly Entry[] = (
  [
    ['Light', 'light'],
    ['Dark', 'dark'],
    ['System', 'system'],
  ] as const satisfies readonly (readonly [string, Theme])[]
).map(([name, value]) => action(`${name} theme`, () => theme.choose(value), 'Appearance'));

const pages: readonly Entry[] = [
  page('Dashboard', '/'),
  page('Runs', '/training/runs'),
  page('Models', '/models', 'Trained models'),
  page('Base models', '/models/base', 'Download, delete'),
  page('Aliases', '/models/aliases', 'Names that move, A/B comparison'),
  page('Datasets', '/datasets'),
  page('Playground', '/playground', 'Chat with a model'),
  page('Traffic', '/traffic', 'Kept answers, ratings, corrections'),
  page('Evaluations', '/models/evaluations'),
  page('Graders', '/models/graders', 'What a good answer is'),
  page('Sweeps', '/training/sweeps'),
  page('Compare runs', '/training/compare'),
  page('Access', '/access', 'Keys'),
  page('Settings', '/settings', 'Appearance, notifications, keyboard, hub, data folder'),
  page('Help', '/help', 'Documentation, troubleshooting by failure code'),
];

const ofRun = ({ job_id, display_name, model_name, dataset, state }: Job): Entry => ({
  key: `run ${job_id}`,
  kind: 'Run',
  name: display_name,
  details: [job_id, stateName(state), shortModelName(model_name), dataset],
  choose: () => router.go(`/training/${job_id}`),
});

const ofModel = ({ model_id, display_name, base_model }: Model): Entry => ({
  key: `model ${model_id}`,
  kind: 'Model',
  name: display_name,
  details: [shortModelName(base_model)],
  choose: () => router.go(`/models/${encodeURIComponent(model_id)}`),
});

const ofDataset = ({ filename, num_examples }: Dataset): Entry => ({
  key: `dataset ${filename}`,
  kind: 'Dataset',
  name: filename,
  details: [num_examples === 1 ? '1 row' : `${formatCount(num_examples)} rows`],
  choose: () => router.go(datasetPath(filename)),
});

/** All that the palette searches: actions, pages, and what the service has. */
export const paletteEntries = (
  runs: readonly Job[],
  models: readonly Model[],
  datasets: readonly Dataset[],
): readonly Entry[] => [
  ...actions,
  ...pages,
  ...themes,
  ...runs.map(ofRun),
  ...models.map(ofModel),
  ...datasets.map(ofDataset),
];
