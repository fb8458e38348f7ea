import * as fc from 'fast-check';

const SURROGATES = /^[\ud800-\udfff]$/;

/**
 * A unit of `fc.string`: any character of Unicode. The library's own `binary` is the same and
 * builds a table of all million characters for each arbitrary.
 */
export const anyCharacter = fc
  .nat(0x10ffff)
  .map(
    (code) => String.fromCodePoint(code),
    (text) => {
      const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
      return code !== undefined && String.fromCodePoint(code) === text ? code : -1;
    },
  )
  .filter((text) => !SURROGATES.test(text));
