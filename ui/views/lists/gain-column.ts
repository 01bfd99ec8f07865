/** The column that tells which of several runs or models is the best. */
export const gainColumn = {
  key: 'gain',
  name: 'Gain',
  hint: 'How much lower the evaluation loss is than that of the base model',
  spare: '',
} as const;
