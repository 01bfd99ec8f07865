import * as v from 'valibot';
import { isBaseName } from '../../../domain/base-models/local-models.ts';
import { referenceKey } from '../../../domain/fine-tuning/model-references.ts';
import type { Alias, AliasSplit } from '../../../domain/models/aliases.ts';
import { remoteKey } from '../../../domain/remote-models/remote-models.ts';
import type { Services } from '../../../domain/services.ts';
import { difference, type Share, wilson } from '../../../domain/traffic/wilson.ts';

const moved = {
  /** The name of the model, checkpoint or base model; `null` if it was deleted. */
  model: v.nullable(v.string()),
  moved_at: v.string(),
};
const share = v.nullable(v.object({ share: v.number(), low: v.number(), high: v.number() }));
const better = v.nullable(v.picklist(['current', 'candidate']));
/** The kept answers of one of two models. */
const side = v.object({
  answers: v.number(),
  up: v.number(),
  down: v.number(),
  /** The share of thumbs up with its interval of 95 % confidence; `null` without a rating. */
  liked: share,
  /** The median time of an answer; `null` without an answer. */
  milliseconds: v.nullable(v.number()),
  /** How many answers the grader has scored. */
  graded: v.number(),
  /** The mean score with its interval of 95 % confidence; `null` without a scored answer. */
  score: share,
});
const split = v.object({
  model: moved.model,
  percent: v.number(),
  started_at: v.string(),
  current: side,
  candidate: side,
  /** By how much more the candidate is liked, with the interval of 95 % confidence. */
  difference: share,
  /** The one that is liked more, where the interval says so. */
  better,
  /** What the grader makes of them; `null` without one. */
  grader: v.nullable(
    v.object({
      name: v.string(),
      /** Whether it was deleted since. */
      deleted: v.boolean(),
      /** How many answers it has not looked at yet, and how many it could not score. */
      left: v.number(),
      failed: v.number(),
      /** By how much higher the mean score of the candidate is, and which one is higher, as above. */
      difference: share,
      better,
    }),
  ),
});
/** What an alias stands for, and what it stood for before, the newest first. */
export const alias = v.object({
  name: v.string(),
  ...moved,
  history: v.array(v.object(moved)),
  split: v.nullable(split),
});
/** When a split was started, in Unix seconds. */
export const secondsOf = ({ startedAt }: AliasSplit): number => Math.floor(Date.parse(startedAt) / 1000);

/** By how much the second share is above the first, and which of the two is higher where the interval says so. */
function compare(current: Share | null, candidate: Share | null) {
  const more = current === null || candidate === null ? null : difference(current, candidate);
  const isOpen = more === null || (more.low <= 0 && more.high >= 0);
  const higher = isOpen ? null : more.low > 0 ? ('candidate' as const) : ('current' as const);
  return { difference: more, better: higher };
}

/** Presents aliases with the names of their models, and with what was kept of both models of a split. */
export function createAliasPresenter({
  answerGrades,
  modelReferences,
  models,
  traffic,
}: Pick<Services, 'answerGrades' | 'modelReferences' | 'models' | 'traffic'>) {
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
  const presentSplit = (name: string, current: string, split: AliasSplit) => {
    const { target, percent, startedAt, grader } = split;
    const those = { model: name, since: secondsOf(split) };
    const key = grader === null ? null : answerGrades.keyOf(grader);
    const totals = traffic.scores.totals(those, key);
    const sideOf = (one: string) => {
      const answeredBy = keyOf(one);
      const found = totals.find((each) => each.answeredBy === answeredBy);
      const { answers = 0, up = 0, down = 0, milliseconds = null, graded = 0, score = 0 } = found ?? {};
      // The variance of scores from 0 to 1 is at most that of a share, so its interval is wide enough for their mean.
      const means = { graded, score: wilson(score, graded) };
      return { answers, up, down, liked: wilson(up, up + down), milliseconds, ...means };
    };
    const sides = { current: sideOf(current), candidate: sideOf(target) };
    const liked = compare(sides.current.liked, sides.candidate.liked);
    const { left, failed } = key === null ? { left: 0, failed: 0 } : traffic.scores.ungraded(those, key);
    const scored = compare(sides.current.score, sides.candidate.score);
    return {
      model: nameOf(target),
      percent,
      started_at: startedAt,
      current: sides.current,
      candidate: sides.candidate,
      difference: liked.difference,
      better: liked.better,
      grader: grader === null ? null : { name: grader, deleted: key === null, left, failed, ...scored },
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
