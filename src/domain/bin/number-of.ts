/** The number in an ID such as `train_7`. */
export const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf('_') + 1));
