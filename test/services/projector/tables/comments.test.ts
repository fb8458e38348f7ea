import { expect, test } from 'vitest';
import { commentsOf, withViews } from '../../../../services/projector/tables/comments.ts';

const ONE = `-- Figures.
CREATE FUNCTION analytics.figures() RETURNS TABLE (
  height bigint,       -- of the block
  fee    numeric(38,6) -- CLT
) LANGUAGE sql STABLE AS $$
  SELECT height, fee FROM explorer.figures
$$;
`;

test('a view has each column of its function, with its type and comment', () => {
  expect(withViews(ONE)).toContain(
    'CREATE VIEW "analytics"."figures" AS SELECT "height"::bigint AS "height", "fee"::numeric(38,6) AS "fee" FROM "analytics"."figures"();',
  );
  expect(commentsOf(ONE)).toContain(`COMMENT ON COLUMN "analytics"."figures"."fee" IS 'CLT';`);
});

test.each([' -- of the block', ' -- CLT'])(
  'a column without its comment%s is refused',
  (comment) => {
    const bare = ONE.replace(comment, '');
    expect(() => withViews(bare)).toThrow('of analytics.figures');
    expect(() => commentsOf(bare)).toThrow('of analytics.figures');
  },
);
