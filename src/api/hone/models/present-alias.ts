import * as v from 'valibot';
import { isBaseName } from '../../../domain/base-models/local-models.ts';
import { referenceKey } from '../../../domain/fine-tuning/model-references.ts';
import type { Alias, AliasSplit } from '../../../domain/models/aliases.ts';
import { remoteKey } from '../../../domain/remote-models/remote-models.ts';
import type { Services } from '../../../domain/services.ts';
import { difference, wilson } from '../../../domain/traffic/wilson.ts';

const moved = {
  /** The name of the model, checkpoint or base model; `null` if it was deleted. */
  model: v.nullable(v.string()),
  moved_at: v.string(),
};
/** The kept answers of one of two models. */
const side = v.object({
  answers: v.number(),
  up: v.number(),
  down: v.number(),
  /** The share of thumbs up with its interval of 95 % confidence; `null` without a rating. */
  liked: v.nullable(v.object({ share: v.number(), low: v.number(), high: v.number() })),
  /** The mean time of an answer; `null` without an answer. */
  milliseconds: v.nullable(v.number()),
});
const split = v.object({
  model: moved.model,
  percent: v.number(),
  started_at: v.string(),
  current: side,
  candidate: side,
  /** By how much more the candidate is liked, with the interval of 95 % confidence. */
  difference: v.nullable(v.object({ share: v.number(), low: v.number(), high: v.number() })),
  /** The one that is liked more, where the interval says so. */
  better: v.nullable(v.picklist(['current', 'candidate'])),
});
/** What an alias stands for, and what it stood for before, the newest first. */
export const alias = v.object({
  name: v.string(),
  ...moved,
  history: v.array(v.object(moved)),
  split: v.nullable(split),
});
/** Presents aliases with the names of their models, and with what was kept of both models of a split. */
export function createAliasPresenter({
  modelReferences,
  models,
  traffic,
}: Pick<Services, 'modelReferences' | 'models' | 'traffic'>) {
  /** The name of what an alias stands for; `null` if it was deleted. */
  const nameOf = (target: string): string | null => {
    try {
      const remote = modelReferences.remoteOf(target);
      if (remote !== null) return remote.name;
      const { model } = modelReferences.resolve(target);
      return model === target && !isBaseName(target) ? models.findByName(target).name : target;
    } catch {
      return null;
    }
  };
  /** The same for all names of a model; `null` if it was deleted. */
  const keyOf = (target: string): string | null => {
    try {
      const remote = modelReferences.remoteOf(target);
      return remote === null ? referenceKey(modelReferences.resolve(target)) : remoteKey(remote);
    } catch {
      return null;
    }
  };
  const presentSplit = (name: string, current: string, { target, percent, startedAt }: AliasSplit) => {
    const totals = traffic.totals(name, Math.floor(Date.parse(startedAt) / 1000));
    const sideOf = (one: string) => {
      const key = keyOf(one);
      const {
        answers = 0,
        up = 0,
        down = 0,
        milliseconds = null,
      } = totals.find(({ answeredBy }) => answeredBy === key) ?? {};
      return { answers, up, down, liked: wilson(up, up + down), milliseconds };
    };
    const sides = { current: sideOf(current), candidate: sideOf(target) };
    const [a, b] = [sides.current.liked, sides.candidate.liked];
    const more = a === null || b === null ? null : difference(a, b);
    const better =
      more === null || (more.low <= 0 && more.high >= 0) ? null : more.low > 0 ? 'candidate' : 'current';
    return {
      model: nameOf(target),
      percent,
      started_at: startedAt,
      current: sides.current,
      candidate: sides.candidate,
      difference: more,
      better: better as 'current' | 'candidate' | null,
    };
  };
  const present = ({ name, moves, split }: Alias): v.InferOutput<typeof alias> => {
    const [now, ...history] = moves.map(({ target, movedAt }) => ({
      model: nameOf(target),
      moved_at: movedAt,
    }));
    const [newest] = moves;
    return {
      name,
      ...(now as (typeof history)[number]),
      history,
      split: split === null || newest === undefined ? null : presentSplit(name, newest.target, split),
    };
  };
  return { keyOf, present };
}
