import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesNear } from './inputs.ts';
import { check, inputsOf, loadTarget, TARGET_NAMES } from './target.ts';

test.each(TARGET_NAMES)('the kept inputs of %s hold its claims', async (name) => {
  const target = await loadTarget(name);
  const inputs = inputsOf(name, target);
  expect(inputs.length).toBeGreaterThan(0);
  for (const bytes of inputs) await check(target, bytes);
});

test.each(TARGET_NAMES)(
  'inputs near the seeds and kept inputs of %s hold its claims',
  async (name) => {
    const target = await loadTarget(name);
    const bytes = bytesNear(inputsOf(name, target), target.words ?? []);
    await fc.assert(fc.asyncProperty(bytes, (each) => check(target, each)));
  },
);

test('a word in an input is found, and the input is made smaller', () => {
  const bytes = bytesNear([Buffer.from('a 1 b'), Buffer.from('other')], ['transfer']);
  const property = fc.property(bytes, (each) => !each.includes('transfer'));
  const { counterexample } = fc.check(property, { seed: 1, numRuns: 1_000 });
  expect(counterexample?.map(String)).toEqual(['transfera 1 b']);
});

function pollute(): void {
  Object.assign(Object.prototype, { added: 1 });
}

test('a target that adds a property to all objects is found', async () => {
  try {
    await expect(check({ fuzz: pollute }, Buffer.of(1))).rejects.toThrow(
      /a prototype of all objects/,
    );
  } finally {
    Reflect.deleteProperty(Object.prototype, 'added');
  }
});
