/** Bounds of requests to the explorer, for its code and its OpenAPI document. */

export const LIMIT_DEFAULT = 20;
export const LIMIT_MAX = 100;
/** Hours or days of a series. */
export const BUCKETS_DEFAULT = 168;
export const BUCKETS_MAX = 1_000;
/** of a balance history */
export const POINTS_DEFAULT = 200;
export const POINTS_MAX = 500;
/** of any one parameter */
export const PARAMETER_CHARACTERS_MAX = 256;
/** A cursor: 12 bytes in base64url. */
export const CURSOR = /^[A-Za-z0-9_-]{16}$/;
