import { expect, test } from 'vitest';
import { pronounsFirst } from './wording-rule.ts';

test.each([
  '/** The same of these servers. */',
  '/** those before this cursor */',
  '/**\n * The same, once they are read.\n */',
  '/** Its position, or -1. */',
  '/** So many bytes. */',
  '/** One after the other. */',
  '/** None is started. */',
  '/** They send the password as it is. */',
])('a docstring that begins with a pronoun is found: %s', (docstring) => {
  expect(pronounsFirst(`\n${docstring}\nexport const a = 1;`)).toHaveLength(1);
});

test.each([
  '/** One row, or none. */',
  '/** one process that is broker and controller */',
  '/** none: the runs open no gate */',
  '/** This process, as the group knows it. */',
  '/** other names than the declared ones */',
  '/** Sorted: the same order as before. */',
  '/** Sockets of a client. */',
  '// those before this cursor',
])('a docstring that names its noun is not: %s', (docstring) => {
  expect(pronounsFirst(`\n${docstring}\nexport const a = 1;`)).toEqual([]);
});
