/** `ops deposit watch`: what the watchers ask TRON's provider about again, and why. */
import { Fault, messageOf } from '../../runtime/process/errors.ts';
import { jsonOf, print } from '../connections.ts';
import { localServices } from '../status/services.ts';
import { printPaged, table } from '../text.ts';
import { Misuse, type SharedArguments } from '../usage.ts';

const WATCHER = 'tron-watcher';
const ANSWER_MS = 4_000;

interface WatchArguments extends SharedArguments {
  readonly watcher: readonly string[];
}

/** As the watcher's `/retries` has it. */
interface Retry {
  readonly kind: string;
  readonly address: string;
  readonly tron_tx_id: string | null;
  readonly since: string;
  readonly why: string;
  readonly failures: number;
  readonly next_attempt: string;
}

export async function watchDeposits(args: WatchArguments): Promise<number> {
  const urls = args.watcher.length > 0 ? args.watcher : watchersOf(args.stack);
  const retries = (await Promise.all(urls.map(readRetries)))
    .flat()
    .toSorted((one, other) => one.since.localeCompare(other.since));
  if (args.json === true) print(jsonOf(retries));
  else printPaged(retriesText(retries));
  return 0;
}

function watchersOf(stackFile: string): readonly string[] {
  const watchers = (localServices(stackFile) ?? []).filter(({ name }) => name.startsWith(WATCHER));
  if (watchers.length === 0)
    throw new Misuse(
      `the stack file ${stackFile} lists no watcher: start the stack (npm run up), or name each: npx ops deposit watch --watcher http://${WATCHER}:17012`,
    );
  return watchers.map(({ url }) => url);
}

async function readRetries(url: string): Promise<readonly Retry[]> {
  try {
    const response = await fetch(`${url}/retries`, { signal: AbortSignal.timeout(ANSWER_MS) });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const { retries }: { readonly retries: readonly Retry[] } = JSON.parse(await response.text());
    return retries;
  } catch (cause) {
    throw new Fault(
      'watcher_unreachable',
      `the watcher at ${url} did not answer /retries: ${messageOf(cause)}; look at its /status, or leave it out with --watcher`,
      { retry: true, cause },
    );
  }
}

/** For people: the longest first. The provider's own words may hold characters of control. */
export function retriesText(retries: readonly Retry[]): string {
  if (retries.length === 0)
    return 'every address is answered, every transfer decided, every balance explained';
  return table(
    ['SINCE (UTC)', 'NEXT', 'FAILED', 'ABOUT', 'ADDRESS', 'TRANSACTION', 'WHY'],
    retries.map(
      ({
        since,
        next_attempt: nextAttempt,
        failures,
        kind,
        address,
        tron_tx_id: tronTxId,
        why,
      }) => [
        since.slice(0, 19).replace('T', ' '),
        nextAttempt.slice(11, 19),
        String(failures),
        kind,
        address,
        tronTxId ?? '',
        why.replaceAll(/[\p{Cc}\p{Cf}]/gu, ' '),
      ],
    ),
  );
}
