import { expect, test } from 'vitest';
import { openProgress } from '../../../services/ops/progress.ts';

function output(isTTY: boolean) {
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  return { written, isTTY, columns: 60, write };
}

test('progress on a terminal is a bar that is drawn over itself and removed at the end', () => {
  const terminal = output(true);
  const progress = openProgress({ json: undefined }, terminal);
  progress.show('loading, about 4 s left', 0.456);
  progress.show('indexing', undefined);
  progress.show('x'.repeat(100), 1);
  progress.end();
  const clear = '\r\u001b[K';
  expect(terminal.written).toEqual([
    `${clear}[#########-----------]  45 %  loading, about 4 s left`,
    `${clear}indexing`,
    `${clear}[####################] 100 %  ${'x'.repeat(29)}`,
    clear,
  ]);
});

test('progress in a pipe is plain lines, each text once', () => {
  const pipe = output(false);
  const progress = openProgress({ json: undefined }, pipe);
  for (const text of ['loading', 'loading', 'switching']) progress.show(text, 0.5);
  progress.end();
  expect(pipe.written).toEqual(['loading\n', 'switching\n']);
});

test('with --json there is no progress', () => {
  const terminal = output(true);
  const progress = openProgress({ json: true }, terminal);
  progress.show('loading', 0.5);
  progress.end();
  expect(terminal.written).toEqual([]);
});
