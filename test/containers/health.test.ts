/** Health checks of a container of each kind, whose first process is frozen. */
import { expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { composed, type Inspected } from './composed.ts';

const FROZEN = ['kafka', 'registry', 'postgres', 'redis', 'projector-series', 'explorer-gateway'];

function seconds({ State }: Inspected): readonly number[] {
  const log = State.Health?.Log ?? [];
  return log.map(({ Start, End }) => (Date.parse(End) - Date.parse(Start)) / 1_000);
}

test('a server, service or gateway that is frozen is unhealthy, and healthy once it goes on', async (context) => {
  const system = composed(context);
  await system.healthy();
  await system.signal(FROZEN, 'SIGSTOP');
  try {
    await until(
      async () => {
        const running = await system.containers();
        return FROZEN.filter((name) => running.get(name)?.State.Health?.Status !== 'unhealthy');
      },
      'all that are frozen to be unhealthy',
      (others) => others.length === 0,
    );
    for (const name of FROZEN) {
      // limit under test
      // two checks that fail come after the one that has lasted: each has to end by itself
      const [first = Infinity, second = Infinity] = seconds(await system.container(name)).slice(-2);
      expect(Math.max(first, second), name).toBeLessThan(120);
    }
  } finally {
    await system.signal(FROZEN, 'SIGCONT');
  }
  await system.healthy();
});
