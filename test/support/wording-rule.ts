/** The rules on comments and test titles: their first words, and the length of their lines. */

const COLUMNS_MAX = 100;

/** The first word of a docstring, a comment, or a title of `test`, `test.each` or `describe`. */
const CLAUSE_FIRST =
  /^\s*(?:\/\*\*?|\*|\/\/)\s+(?:What|Whatever|Whoever|Whose|Of)\b|(?:\b(?:test|describe)|\))\(\s*['"`](?:what|whatever|whoever|whose|of)\b/gm;

/**
 * The first words of a docstring that stand for a noun. An editor shows a docstring without its
 * neighbours. `none:`, as other values, says what a missing value means.
 */
const PRONOUN_FIRST =
  /\/\*\*[\s*]*(?:the (?:same|others)|those|these|theirs?|they|them|its?|that|th(?:is|ese) (?:is|are|was|has|does|may|must)|so|such|then|here|also|none(?!:)|both (?:undefined|of)|(?:all|some) of them|one (?:a|so|after|by|at|of|that|who|whom|without))\b[^\n]*/gi;

/** Lines with a comment or title that begins with a clause or "of" as its subject. */
export function clausesFirst(source: string): readonly string[] {
  return found(source, CLAUSE_FIRST);
}

/** Lines with a docstring that begins with a pronoun. */
export function pronounsFirst(source: string): readonly string[] {
  return found(source, PRONOUN_FIRST);
}

/** Lines of comments beyond the columns of a page. */
export function longComments(source: string): readonly string[] {
  return source
    .split('\n')
    .flatMap((line, at) =>
      line.length > COLUMNS_MAX && /^\s*(\/\*|\*|\/\/)/.test(line) ? [`${at + 1}`] : [],
    );
}

function found(source: string, words: RegExp): readonly string[] {
  return [...source.matchAll(words)].map(
    ({ index, 0: text }) => `${source.slice(0, index).split('\n').length}: ${text.trim()}`,
  );
}
