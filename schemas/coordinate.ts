/**
 * Degrees as canonical decimal text: no exponent, no leading or trailing zeros, no -0, at most 15
 * decimal places.
 */

export const LATITUDE_MAX = 90;
export const LONGITUDE_MAX = 180;

const CANONICAL = /^-?(0|[1-9][0-9]{0,2})(\.[0-9]{0,14}[1-9])?$/;

/** The problem of a coordinate, or undefined when it is canonical and within +-limit. */
export function coordinateProblem(
  text: string,
  limit: number,
): 'coordinate_not_canonical' | 'coordinate_out_of_range' | undefined {
  const match = CANONICAL.exec(text);
  if (match === null || text === '-0') return 'coordinate_not_canonical';
  const whole = Number(match[1]);
  return whole > limit || (whole === limit && match[2] !== undefined)
    ? 'coordinate_out_of_range'
    : undefined;
}

/** Finite degrees as canonical text, rounded to 7 digits (about a centimetre). */
export function coordinateText(degrees: number): string {
  const text = degrees.toFixed(7).replace(/\.?0+$/, '');
  return text === '-0' ? '0' : text;
}
