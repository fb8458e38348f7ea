import { expect, test } from 'vitest';
import { runTarget, type Crash } from './run.ts';

function run(...inputs: readonly string[]): ReturnType<typeof runTarget> {
  return runTarget({
    target: '../faulty',
    seconds: 0,
    seed: 1,
    isTimed: false,
    inputs: inputs.map((each) => Buffer.from(each)),
    progress: () => undefined,
    progress_ms: 60_000,
  });
}

function inputsOf(crashes: readonly Crash[]): string[] {
  return crashes.map(({ bytes }) => String(Buffer.from(bytes)));
}

test('a crash and the inputs before it are not lost when a later input breaks the thread', async () => {
  const { crashes, kept } = await run('fails', 'ends');
  expect(inputsOf(crashes)).toEqual(['fails', 'ends']);
  expect(kept).toHaveLength(1);
});

test('a run ends at the input that adds a property to all objects', async () => {
  const { crashes, essential } = await run('pollutes', 'a');
  expect(inputsOf(crashes)).toEqual(['pollutes']);
  expect(essential).toEqual([]);
});
