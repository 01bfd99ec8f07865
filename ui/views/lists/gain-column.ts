/** The column that tells which of several runs or models is the best. */
export const gainColumn = {
  key: 'gain',
  name: 'Gain',
  spare: '',
} as const;
