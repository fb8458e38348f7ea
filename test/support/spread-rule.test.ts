import { expect, test } from 'vitest';
import { spreadBags } from './spread-rule.ts';

test.each([
  'new Prover({ ...context, now });',
  'new Prover({ ...this.#options, now });',
  'open({ ...service.config, log }, topics);',
  'open({ log, more: { ...config } });',
  'open(isOn ? { ...options, log } : { log });',
])('a call that spreads a bag into its argument is found: %s', (source) => {
  expect(spreadBags(source)).toHaveLength(1);
});

test.each([
  'new Prover(context, now);',
  'new Prover({ settings: config, now });',
  'const { log, ...options } = given;',
  'this.#options = { retry_ms: 50, ...options };',
  'append({ ...draft, sequence });',
  'Math.max(...parts);',
  '// all of it: a client takes the settings of clients\nsuper({ ...config, port });',
])('a call that names what it passes is not: %s', (source) => {
  expect(spreadBags(source)).toEqual([]);
});
