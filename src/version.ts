/** The API version (docs/specification.md, Versioning). */
export const version = 'v2';
