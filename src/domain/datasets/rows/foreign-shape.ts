/** Formats of other tools, by the fields of a row; `trainer/importing/shapes.py` converts them. */
const foreignShapes = [
  { shape: 'alpaca', name: 'Alpaca', fields: ['instruction', 'output'] },
  { shape: 'sharegpt', name: 'ShareGPT', fields: ['conversations'] },
  {
    shape: 'openai-preference',
    name: 'OpenAI preference',
    fields: ['input', 'preferred_output', 'non_preferred_output'],
  },
  { shape: 'prompt-completion', name: 'prompt and completion', fields: ['prompt', 'completion'] },
] as const;

/** The format of another tool that a row is in, if it is. */
export const foreignShapeOf = (row: Record<string, unknown>) =>
  foreignShapes.find(({ fields }) => fields.every((field) => Object.hasOwn(row, field)));
