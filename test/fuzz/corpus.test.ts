import { expect, test } from 'vitest';
import { check, inputsOf, loadTarget, TARGET_NAMES } from './target.ts';

test.each(TARGET_NAMES)('the kept inputs of %s hold its claims', async (name) => {
  const target = await loadTarget(name);
  const inputs = inputsOf(name, target);
  expect(inputs.length).toBeGreaterThan(0);
  for (const bytes of inputs) await check(target, bytes);
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
