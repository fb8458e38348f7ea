import { readCommon } from './choices.ts';
import type { BootOptions } from './instance.ts';
import { seconds } from './report.ts';
import { runInstance } from './run.ts';
import { summaryOf } from './summary.ts';

/** Runs the stack in the foreground until a signal. Gives the exit code. */
export async function start(options: BootOptions): Promise<number> {
  const { folder, report } = options;
  const { network, chain_id } = readCommon(options.env);
  const begun = performance.now();
  report.line(`\n  CLT stack · ${network} · chain ${chain_id}\n`);
  return await runInstance(options, new AbortController(), () => {
    report.line('');
    for (const line of summaryOf(folder)) report.line(line);
    report.line(
      `\n  ready in ${seconds(performance.now() - begun)} · Ctrl-C stops everything, the data stays\n`,
    );
  });
}
