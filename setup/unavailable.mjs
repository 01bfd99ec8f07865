/**
 * Thrown by an optional step for something that is not available now and has a substitute. It is reported in one line, and
 * only `doctor` tries again.
 */
export class Unavailable extends Error {}
