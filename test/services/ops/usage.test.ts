import { expect, test } from 'vitest';
import {
  commandOf,
  didYouMean,
  Misuse,
  readArguments,
  refuseWords,
} from '../../../services/ops/usage.ts';

const COMMANDS = [
  'status',
  'tail',
  'deposit',
  'reserve',
  'audit',
  'rebuild',
  'verify',
  'quarantine',
];

test.each([
  ['statsu', 'status'],
  ['Status', 'status'],
  ['tial', 'tail'],
  ['deposits', 'deposit'],
  ['quarentine', 'quarantine'],
  ['re', undefined],
  ['verif', 'verify'],
  ['qua', 'quarantine'],
  ['dance', undefined],
  ['', undefined],
])('who types "%s" is asked whether it is %s', (word, meant) => {
  expect(didYouMean(word, COMMANDS)).toBe(meant === undefined ? '' : `, did you mean ${meant}?`);
});

test('an option that there is not is refused, naming the one that was meant; a value that is missing too', () => {
  const options = { json: { type: 'boolean' }, limit: { type: 'string' } } as const;
  const read = (...args: string[]) => readArguments(args, options, 'usage: read\n');
  expect(read('a', '--limit', '5', 'b')).toMatchObject({
    values: { limit: '5' },
    positionals: ['a', 'b'],
  });
  expect(() => read('--limt', '5')).toThrow(
    new Misuse('there is no option --limt, did you mean --limit?', 'usage: read'),
  );
  expect(() => read('--loud')).toThrow(new Misuse('there is no option --loud\n\nusage: read'));
  expect(() => read('--limit')).toThrow(Misuse);
});

test('a command of a command is found; another one, none, and an option that only another one takes are refused with what there is', () => {
  const commands = {
    name: 'deposit',
    options: { list: ['limit'], show: [], reject: ['reason'] },
    usage: 'usage: deposit',
  };
  const asked = (...args: string[]) =>
    commandOf(
      args,
      args.filter((arg) => !arg.startsWith('--')),
      commands,
    );
  expect(asked('list', '--limit=5', '--json')).toEqual(['list']);
  expect(asked('show', 'one', 'two')).toEqual(['show', 'one', 'two']);
  for (const [args, problem] of [
    [[], 'a command is missing: one of list, show, reject'],
    [['lst'], 'there is no deposit lst, did you mean list?'],
    [['constructor'], 'there is no deposit constructor'],
    [['list', '--reason=this'], 'deposit list takes no --reason'],
    [['show', 'one', '--limit', '5'], 'deposit show takes no --limit'],
  ] as const)
    expect(() => asked(...args)).toThrow(new Misuse(`${problem}\n\nusage: deposit`));
  expect(() => refuseWords('audit', ['everything', 'now'], 'usage: audit')).toThrow(
    new Misuse('audit takes no words behind it, not "everything now"', 'usage: audit'),
  );
  expect(refuseWords('audit', [], 'usage: audit')).toBeUndefined();
});
