/** Work that a reader begins, such as a signature: whether it goes on, and why it failed. */
import { useState } from 'react';
import { messageOf } from '../browser.ts';

/** `problem`: of the last one; `run` never rejects. */
export function useWork() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const forget = (): void => setProblem(undefined);
  const run = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    forget();
    try {
      await work();
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, problem, run, forget };
}
