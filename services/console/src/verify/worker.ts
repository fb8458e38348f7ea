/** Verifies a run beside the page, which stays quick whatever the length of the chain. */
import './node-buffer.ts';
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { verify } from './reading.ts';

addEventListener('message', ({ data: run }: MessageEvent<RecordedRun>) => {
  void verify(
    run,
    (told) => postMessage(told),
    () => performance.now(),
  );
});
