import * as v from 'valibot';
import {
  type Eval,
  type EvalRun,
  evalObject,
  evalRun,
  type OutputItem,
  outputItem,
} from '../evals/objects.ts';
import { emptySample } from '../evals/output-item.ts';

type Raw = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectsIn = (value: unknown): Raw[] => (Array.isArray(value) ? value.filter(isObject) : []);
/** The other service tells `null` where this one leaves a field out. */
const told = (value: unknown): Raw =>
  Object.fromEntries(Object.entries(isObject(value) ? value : {}).filter(([, one]) => one !== null));
const parsed = <S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> | null => {
  const { success, output } = v.safeParse(schema, value);
  return success ? output : null;
};

/** An eval as it is stored here; `null` if it is none. Its criteria may be ones that Hone cannot run. */
export const toEval = (raw: Raw): Eval | null =>
  parsed(evalObject, {
    name: '',
    metadata: null,
    ...told(raw),
    testing_criteria: objectsIn(raw.testing_criteria).map(({ id: _, ...one }) => ({
      name: one.type,
      ...told(one),
    })),
  });

/** A run as it is stored here; `null` if it has not ended, or is none. */
export function toRun(raw: Raw): EvalRun | null {
  const run = parsed(evalRun, {
    name: '',
    model: null,
    metadata: null,
    error: null,
    per_model_usage: [],
    per_testing_criteria_results: [],
    ...told(raw),
    report_url: '',
  });
  return run?.status === 'queued' || run?.status === 'in_progress' ? null : run;
}

/** Messages with their content as text. */
const messagesIn = (value: unknown): Raw[] =>
  objectsIn(value).map(({ content, ...message }) => ({
    ...message,
    content: content == null || typeof content === 'string' ? (content ?? '') : JSON.stringify(content),
  }));

/** An output item as it is stored here; `null` if it is none. */
export function toItem(raw: Raw): OutputItem | null {
  const sample = told(raw.sample);
  return parsed(outputItem, {
    datasource_item: {},
    ...told(raw),
    status: raw.status === 'pass' || raw.status === 'fail' ? raw.status : 'error',
    results: objectsIn(raw.results).map((one) => {
      const passed = one.passed === true;
      return { ...one, passed, score: typeof one.score === 'number' ? one.score : Number(passed) };
    }),
    sample: {
      ...emptySample(null, []),
      ...sample,
      input: messagesIn(sample.input),
      output: messagesIn(sample.output),
    },
  });
}
