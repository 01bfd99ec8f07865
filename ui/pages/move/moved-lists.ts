import { html, nothing, type TemplateResult } from 'lit';
import type { Move } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { checkField } from '../../elements/fields.ts';
import { formatBytes, formatCount, formatMoment } from '../../elements/format.ts';
import { nameText } from '../../elements/parts.ts';
import { fillDraft } from '../../settings/draft-request.ts';
import { router } from '../../state/app.ts';
import { datasetPath } from '../../state/router.ts';

type MovedJob = Move['jobs'][number];
type MovedFile = Move['files'][number];
type MovedEval = Move['evals'][number];

/** The jobs of a move, each with its datasets and the equal training here. */
export function movedJobs(
  jobs: readonly MovedJob[],
  left: ReadonlySet<string>,
  choose: (id: string, isWanted: boolean) => void,
): TemplateResult {
  return html`<ul class="list moved-jobs">
    ${keyedRow(
      jobs,
      ({ id }) => id,
      (job) => html`<li>
        ${checkField(
          html`<span class="wrap">${nameText(job.fine_tuned_model ?? job.id)}</span>`,
          !left.has(job.id),
          (on) => choose(job.id, on),
        )}
        <p class="note wrap">
          ${nameText(job.model)}, ${job.method}, ${job.status}, ${formatMoment(job.created_at)}
        </p>
        <p class="wrap">${parts(job)}</p>
        ${job.problem === null ? nothing : html`<p class="warning wrap"><bdi>${job.problem}</bdi></p>`}
        ${
          job.proposal === null
            ? nothing
            : html`<ul class="notes">${job.proposal.notes.map((note) => html`<li class="note wrap"><bdi>${note}</bdi></li>`)}</ul>
                <button type="button" class="small" @click=${() => open(job)}>Open in the training form</button>`
        }
      </li>`,
    )}
  </ul>`;
}

/** The datasets that a job's files became. */
const parts = ({ training_dataset: training, validation_dataset: validation }: MovedJob) =>
  training === null
    ? html`<span class="muted">Its training file is not here yet.</span>`
    : html`Trains on <a href=${datasetPath(training)}>${nameText(training)}</a>${
        validation === null
          ? nothing
          : html`, validates on <a href=${datasetPath(validation)}>${nameText(validation)}</a>`
      }`;

/** Fills the training form with a proposal. */
function open({ proposal }: MovedJob): void {
  if (proposal === null) return;
  fillDraft(proposal.request);
  router.go('/training');
}

const fileStates: Readonly<Record<MovedFile['state'], string>> = {
  listed: 'Not downloaded',
  downloading: 'Downloading',
  stored: 'Downloaded',
  unavailable: 'Unavailable',
};

/** The files of a move. */
export function movedFiles(files: readonly MovedFile[]): TemplateResult {
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of files">
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" class="spare">Purpose</th>
          <th scope="col" class="right">Size</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        ${files.map(
          ({ id, filename, purpose, bytes, state, dataset, problem }) => html`<tr>
            <th scope="row" class="named">${dataset === null ? nameText(filename || id) : html`<a href=${datasetPath(dataset)}>${nameText(filename || id)}</a>`}</th>
            <td class="spare">${purpose}</td>
            <td class="right">${formatBytes(bytes)}</td>
            <td class="wrap">${fileStates[state]}${problem === null ? nothing : html`: <bdi>${problem}</bdi>`}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** The evals of a move. */
export function movedEvals(evals: readonly MovedEval[]): TemplateResult {
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of evals">
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        ${evals.map(
          ({ id, name, runs, state, problem }) => html`<tr>
            <th scope="row" class="named">${nameText(name || id)}</th>
            <td class="wrap">${fileStates[state]}${
              state === 'stored' ? `, ${runs === 1 ? '1 run' : `${formatCount(runs)} runs`}` : ''
            }${problem === null ? nothing : html`: <bdi>${problem}</bdi>`}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
