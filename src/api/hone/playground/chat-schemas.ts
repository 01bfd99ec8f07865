import * as v from 'valibot';
import { notList } from '../common.ts';

const longestText = 2 ** 20;
const mostTurns = 10_000;

const id = v.pipe(
  v.string(),
  v.regex(/^[\w-]{1,64}$/, 'must have 1 to 64 letters, digits, underscores and hyphens'),
);
const text = v.pipe(v.string(), v.maxLength(longestText, `must have at most ${longestText} characters`));
const short = v.pipe(v.string(), v.maxLength(1024, 'must have at most 1024 characters'));
const figure = v.nullable(v.pipe(v.number(), v.finite(), v.minValue(0)));

const call = v.strictObject({
  id: v.pipe(short, v.minLength(1)),
  name: short,
  /** JSON, as the model wrote it. */
  arguments: text,
});

/** What a call of a tool gave. */
const result = v.strictObject({ call_id: short, name: short, content: text });

const answer = v.strictObject({
  /** What answered. */
  name: short,
  text,
  /** What the model wrote before its answer. */
  reasoning: v.optional(v.nullable(text), null),
  /** Its calls of tools. */
  calls: v.optional(v.array(call), []),
  tokens: v.optional(figure, null),
  /** Tokens of all that was sent for it. */
  prompt_tokens: v.optional(figure, null),
  generation_ms: v.optional(figure, null),
  first_token_ms: v.optional(figure, null),
  /** How it ended: `cut` at the limit of its tokens, `stopped` by the user, `edited` if the user wrote it. */
  end: v.optional(v.picklist(['complete', 'cut', 'stopped', 'edited']), 'complete'),
  /** The stop string that ended it. */
  stop_reason: v.optional(v.nullable(short), null),
  rating: v.optional(v.nullable(v.picklist(['good', 'bad'])), null),
  /** What the answer should have been. */
  correction: v.optional(v.nullable(text), null),
});

const turn = v.strictObject({
  id,
  /** The ID of the turn that it follows; empty for a first one. Turns that follow the same one are versions of each other. */
  after: v.union([v.literal(''), id], 'must be the ID of a turn, or empty'),
  /** The turn whose followers it shares: a version of a prompt that is asked without those before it. */
  like: v.optional(v.nullable(id), null),
  /** The system prompt that was sent with it. */
  system: v.optional(text, ''),
  prompt: text,
  /** What the calls of the turn before gave, in place of a prompt. */
  results: v.optional(v.array(result), []),
  answers: v.pipe(v.array(answer), v.maxLength(4)),
});

const turns = v.pipe(v.array(turn), v.maxLength(mostTurns, `must be at most ${mostTurns}`));
const name = v.nullable(
  v.pipe(
    v.string(),
    v.trim(),
    v.minLength(1, 'must not be empty'),
    v.maxLength(200, 'must have at most 200 characters'),
  ),
);
/** Which version is shown, by the ID of the turn before it. */
const chosen = v.pipe(
  v.intersect([v.record(v.pipe(v.string(), v.maxLength(64)), id), notList]),
  v.check((places) => Object.keys(places).length <= mostTurns, `must have at most ${mostTurns} places`),
);

/** Tools as `/v1/chat/completions` has them, which its answers may call; `null` in chats of earlier versions. */
const tools = v.nullable(v.array(v.intersect([v.record(v.string(), v.unknown()), notList])));

/** An exported chat is one, too: its times are set anew. */
export const chatBody = v.strictObject({
  id: v.optional(id),
  model_id: v.pipe(v.string(), v.minLength(1), v.maxLength(1024)),
  name: v.optional(name, null),
  chosen: v.optional(chosen, {}),
  tools: v.optional(tools, null),
  turns,
  created_at: v.optional(v.string()),
  updated_at: v.optional(v.string()),
});

export const chatChange = v.strictObject({
  name: v.exactOptional(name),
  chosen: v.exactOptional(chosen),
  tools: v.exactOptional(tools),
  turns: v.exactOptional(turns),
});

export const chatQuery = v.object({
  model_id: v.optional(v.pipe(v.string(), v.maxLength(1024))),
  search: v.optional(v.pipe(v.string(), v.maxLength(200))),
  /** Whether only chats whose model was deleted are listed. */
  model_deleted: v.optional(
    v.pipe(
      v.picklist(['true', 'false'], 'must be true or false'),
      v.transform((text) => text === 'true'),
    ),
    'false',
  ),
});

const about = {
  id: v.string(),
  model_id: v.string(),
  /** The name that it was given. */
  name: v.nullable(v.string()),
  created_at: v.string(),
  updated_at: v.string(),
};

export const chatSummary = v.object({
  ...about,
  /** The name, or else its first words. */
  title: v.string(),
  /** How many turns it has, with all versions. */
  turns: v.pipe(v.number(), v.integer()),
});
export const chatList = v.object({ chats: v.array(chatSummary) });
export const chat = v.object({
  ...about,
  chosen: v.record(v.string(), v.string()),
  tools,
  turns: v.array(turn),
});
export type Turn = v.InferOutput<typeof turn>;
export const idOf = id;
