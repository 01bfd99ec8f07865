import type { WeightedGrader } from '../../src/contract/settings.ts';

/** A grader as a line of the form: its name with a weight other than 1, or JSON. */
export function graderLine(grader: WeightedGrader): string {
  if (typeof grader === 'string') return grader;
  const { name, weight = 1 } = grader;
  if (name === undefined) return JSON.stringify(grader);
  return weight === 1 ? name : `${name} × ${weight}`;
}

const line = /^(.*?)(?:\s*[×*]\s*(-?[\d.]+))?$/;

/** The grader of a line, or what is wrong with it. A definition may stand alone, without a weight. */
export function readGrader(text: string): { grader: WeightedGrader } | { fault: string } {
  if (!text.startsWith('{')) {
    const [, name = '', weight] = line.exec(text) ?? [];
    return { grader: weight === undefined ? name : { name, weight: Number(weight) } };
  }
  try {
    const value = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return { grader: Object.hasOwn(value, 'type') ? { grader: value } : value };
  } catch (error) {
    return { fault: `“${text.slice(0, 40)}” is no JSON: ${(error as Error).message}` };
  }
}
