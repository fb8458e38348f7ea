/** Random input to a hub in front of a moving chain, for as long as wanted. */
import { defaultSettings } from '../../infra/services/settings.ts';
import { fuzz } from '../services/hub-gateway/fuzz.ts';
import { startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { countsLine, type FaultRun } from './fault-run.ts';
import { goodToken } from '../support/tokens.ts';

const SERVICES = [
  'devnet',
  'chain-ingester',
  'projector-explorer',
  'projector-ride-market',
  'hub-gateway',
];
const SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  devnet: { APP_BLOCK_INTERVAL_MS: '500', APP_TRAFFIC_PER_SECOND: '5' },
  'hub-gateway': { APP_RATE_PER_SECOND: '0' },
};
/** Inputs of one round, a tenth of them conversations on a socket. */
const TOGETHER = 5_000;

export const hubFuzz: FaultRun<'inputs'> = {
  about:
    'random operations, variables, tokens, requests and socket messages to the hub: every answer of the right shape, no fault of ours',
  options: { inputs: { about: 'how many', default: 50_000 } },
  async run({ inputs }, { seed, progress }) {
    const stack = await startStack();
    try {
      let hub: Awaited<ReturnType<typeof stack.spawnService>> | undefined;
      for (const name of SERVICES) {
        hub = await stack.spawnService(name, SETTINGS[name]);
        await hub.ready();
      }
      if (hub === undefined) throw new Error('no hub was started');
      const { url } = hub;
      let known: readonly string[] = [];
      await until(async () => {
        known = await namesIn(url);
        return known.length > 50;
      }, 'a market with some trips in it');
      const token = goodToken(
        {
          pk: known.find((each) => each.length === 42) ?? '',
          exp: Math.floor(Date.now() / 1_000) + 86_400,
        },
        defaultSettings.APP_JWT_SECRET,
      );
      const violations: string[] = [];
      const counts: Record<string, number> = {};
      for (let done = 0; done < inputs && violations.length < 10; done += TOGETHER) {
        const some = Math.min(TOGETHER, inputs - done);
        const sockets = Math.floor(some / 10);
        const report = await fuzz(
          { url, token, known },
          { requests: some - sockets, sockets, seed: seed + done },
        );
        violations.push(...report.wrong);
        for (const [what, count] of Object.entries(report.counts))
          counts[what] = (counts[what] ?? 0) + count;
        progress(`${done + some} of ${inputs}`);
      }
      const alive = await fetch(`${url}/ready`).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (!alive) violations.push('the hub is not ready any more');
      const faults = hub
        .log()
        .split('\n')
        .filter((line) => /"level":"(?:error|fatal)"/.test(line));
      violations.push(...faults.slice(0, 10).map((line) => `it logged ${line.slice(0, 500)}`));
      return {
        lines: [
          countsLine(
            Object.fromEntries(
              Object.entries(counts).toSorted(([one], [other]) => one.localeCompare(other)),
            ),
          ),
        ],
        violations,
      };
    } finally {
      await stack.stop();
    }
  },
};

/** Hashes and addresses that the hub shows. */
async function namesIn(url: string): Promise<readonly string[]> {
  const fields = 'txHash passengerAddress';
  const query = `{ listRideRequests { ${fields} } listActiveTrips { ${fields} driverAddress rideOfferTxHash } listRecentTrips { ${fields} driverAddress } }`;
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ query }),
  });
  return [...new Set((await response.text()).match(/0x[0-9a-f]{40,64}/g) ?? [])];
}
