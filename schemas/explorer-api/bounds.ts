/** What may be asked of the explorer, as its code and its document both say. */

export const LIMIT_DEFAULT = 20;
export const LIMIT_MAX = 100;
/** of any one parameter */
export const PARAMETER_CHARACTERS_MAX = 256;
/** A cursor: 12 bytes in base64url. */
export const CURSOR = /^[A-Za-z0-9_-]{16}$/;
