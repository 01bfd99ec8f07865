import * as v from 'valibot';

const form = v.object({ type: v.picklist(['NFC', 'NFD', 'NFKC', 'NFKD']) });
const lowercase = v.object({ type: v.literal('Lowercase') });
const strip = v.object({ type: v.literal('Strip'), strip_left: v.boolean(), strip_right: v.boolean() });
const replace = v.object({
  type: v.literal('Replace'),
  pattern: v.union([v.strictObject({ String: v.string() }), v.strictObject({ Regex: v.string() })]),
  content: v.string(),
});
/** What is stored where the tokenizer does something else; llama.cpp is not asked with such a template. */
export const unsupportedNormalizer = v.object({ unsupported: v.string() });
type Step = v.InferOutput<typeof storedNormalizer>['steps'][number];

/** The `normalizer` of a `template.json`: steps in the words of tokenizer.json, and tokens that are not normalized. */
export const storedNormalizer = v.object({
  steps: v.array(v.union([form, lowercase, strip, replace])),
  kept: v.array(v.string()),
});

/**
 * Does what the tokenizer did to a text in training and llama.cpp does not (trainer/data/normalizer.py).
 * @throws SyntaxError when a pattern is none in JavaScript.
 */
export function createNormalizer(
  stored: v.InferOutput<typeof storedNormalizer> | null,
): (text: string) => string {
  if (stored === null) return (text) => text;
  const steps = stored.steps.map(stepOf);
  const normalize = (text: string) => steps.reduce((done, step) => step(done), text);
  if (stored.kept.length === 0) return normalize;
  const longestFirst = stored.kept.toSorted((one, other) => other.length - one.length);
  const kept = new RegExp(`(${longestFirst.map(escaped).join('|')})`);
  // Those that the pattern matched stand at odd places.
  return (text) =>
    text
      .split(kept)
      .map((piece, at) => (at % 2 === 1 ? piece : normalize(piece)))
      .join('');
}

function stepOf(step: Step): (text: string) => string {
  switch (step.type) {
    case 'Lowercase':
      // Letter by letter: the tokenizer knows no final sigma.
      return (text) => Array.from(text, (letter) => letter.toLowerCase()).join('');
    case 'Strip': {
      const start = step.strip_left ? /^\p{White_Space}+/u : /^/;
      const end = step.strip_right ? /\p{White_Space}+$/u : /$/;
      return (text) => text.replace(start, '').replace(end, '');
    }
    case 'Replace': {
      const pattern = 'String' in step.pattern ? escaped(step.pattern.String) : step.pattern.Regex;
      const every = new RegExp(pattern, 'gu');
      return (text) => text.replace(every, () => step.content);
    }
    default:
      return (text) => text.normalize(step.type);
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
