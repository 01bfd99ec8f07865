import { html, nothing, type TemplateResult } from 'lit';
import type { ServiceError } from '../../../api/request.ts';
import { service } from '../../../api/service.ts';
import type { JobDetail, Verdict } from '../../../api/types.ts';
import { fillFrom } from '../../../settings/fill-from.ts';
import { router, toasts } from '../../../state/app.ts';
import { asServiceError } from '../../../state/remote.ts';
import { evaluationsPath } from '../../../state/router.ts';
import { takeAdapter } from './take-adapter.ts';

type Judgement = Verdict['judgement'];

/** What a training came to, in a sentence, with what to bear in mind. */
export const judgementSentence = ({ sentence, kind, notes }: Judgement): TemplateResult => html`
  <p class="judgement wrap" data-kind=${kind}><bdi>${sentence}</bdi></p>
  ${notes.map((note) => html`<p class="note wrap"><bdi>${note}</bdi></p>`)}
`;

/** What follows from a judgement, as buttons; a model that was deleted (not `isKept`) has fewer. */
export function judgementActions(
  job: JobDetail,
  { kind, changes, checkpoint }: Judgement,
  isKept: boolean,
): TemplateResult | typeof nothing {
  const actions = [
    ...(checkpoint === null || !isKept
      ? []
      : [
          html`<a class="button" href="/playground/${job.model_id}?weights=step:${checkpoint}">
            Try the checkpoint of step ${checkpoint}
          </a>`,
        ]),
    ...(checkpoint === null || !isKept || job.export?.chosen?.checkpoint === checkpoint
      ? []
      : [
          html`<button
            type="button"
            @click=${(event: Event) => void takeAdapter(event, job, { strength: 1, checkpoint })}
          >
            Use this checkpoint
          </button>`,
        ]),
    ...(changes === null || job.request === null
      ? []
      : [
          html`<button type="button" @click=${() => trainAgain(job, changes)}>Train again with these settings</button>`,
        ]),
    ...(kind === 'unmeasured' && isKept
      ? [
          html`<button type="button" @click=${(event: Event) => void measure(event, job)}>Measure now</button>`,
        ]
      : []),
  ];
  return actions.length === 0 ? nothing : html`<div class="row wrap-row">${actions}</div>`;
}

/** Opens the training form with the settings of a run and these changes. */
function trainAgain(
  { request, display_name, job_id }: JobDetail,
  changes: NonNullable<Judgement['changes']>,
): void {
  fillFrom({ ...request, ...changes }, display_name, `/training/${job_id}`);
  router.go('/training');
}

/** Evaluates the model and its base on the run's dataset, and shows what was started: nothing is queued twice. */
async function measure(event: Event, job: JobDetail): Promise<void> {
  const button = event.currentTarget as HTMLButtonElement;
  button.disabled = true;
  const { started, error } = await startBoth(job);
  if (error !== null) toasts.show(error.message, 'error');
  if (started.length > 0) router.go(evaluationsPath(started));
  else button.disabled = false;
}

/** Starts the evaluations of a run's model and its base. @returns those that were started, that of the base first. */
export async function startBoth({ model_id: model, dataset }: JobDetail): Promise<{
  readonly started: readonly string[];
  readonly error: ServiceError | null;
}> {
  const started: string[] = [];
  try {
    // If only one can be queued, it is that of the model.
    for (const side of [{}, { as_base: true }])
      started.unshift((await service.startEvaluation({ dataset, model, ...side })).evaluation_id);
  } catch (error) {
    return { started, error: asServiceError(error) };
  }
  return { started, error: null };
}
