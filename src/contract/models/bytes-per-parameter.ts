/** What a parameter takes in the files of most models of the hub, whose weights have 16 bits. */
export const bytesPerParameter = 2;
