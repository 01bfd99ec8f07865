import { singleKeys } from '../../state/single-keys.ts';

/** Whether a press flags the row that it is made in. */
export const isFlagKey = ({ key, ctrlKey, metaKey, altKey, repeat }: KeyboardEvent): boolean =>
  singleKeys.value && key.toLowerCase() === 'f' && !(ctrlKey || metaKey || altKey || repeat);
