/** Whether a process can do its work: named checks, each within a time limit, asked anew at every request of `/ready`. */
import { Fault, messageOf } from './errors.ts';
import type { Logger } from './log.ts';

const CHECK_MS = 2_000;

export interface Check {
  readonly name: string;
  /** undefined when ready, otherwise what is the matter and what to do, as may be shown to anyone; a `Fault` counts as not ready */
  readonly check: () => Promise<string | undefined> | string | undefined;
}

/** Asks all checks at once; the answer lists what is the matter. Changes are logged with what was thrown. */
export function readiness(checks: readonly Check[], log: Logger): () => Promise<readonly string[]> {
  let last = '';
  return async () => {
    const answers = await Promise.all(checks.map(ask));
    const matters = answers.filter((answer) => answer !== undefined);
    const now = matters.map(({ text }) => text).join('; ');
    // a number in it may change each time
    const matter = now.replaceAll(/[0-9]+/g, '0');
    if (matter !== last) {
      if (matters.length === 0) log.info('ready again');
      else
        log.warn(
          { causes: matters.map(({ cause }) => cause).filter((cause) => cause !== undefined) },
          `not ready: ${now}`,
        );
      last = matter;
    }
    return matters.map(({ text }) => text);
  };
}

interface Matter {
  readonly text: string;
  readonly cause?: unknown;
}

async function ask({ name, check }: Check): Promise<Matter | undefined> {
  const limit = Promise.withResolvers<string>();
  const timer = setTimeout(() => limit.resolve(`no answer within ${CHECK_MS} ms`), CHECK_MS);
  try {
    const text = await Promise.race([check(), limit.promise]);
    return text === undefined ? undefined : { text: `${name}: ${text}` };
  } catch (error) {
    // the message may name hosts, so it goes to the log only
    if (!(error instanceof Fault)) throw error;
    return { text: `${name}: ${error.code}`, cause: messageOf(error) };
  } finally {
    clearTimeout(timer);
  }
}
