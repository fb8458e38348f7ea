/** Containers that are killed or stopped: each payment is credited, once. */
import { expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { composed, type Composed } from './composed.ts';
import { Payer } from './payer.ts';

/** In groups that are killed together; the services are the last one. */
const SERVERS = [['kafka'], ['postgres'], ['registry', 'redis', 'devnet']];
/** A program of Java ends by SIGTERM as if it was killed by it. */
const JAVA = new Set(['kafka', 'registry']);

async function expectAudited(system: Composed): Promise<void> {
  const { code, stdout, stderr } = await system.ops('audit');
  expect(code, stdout + stderr).toBe(0);
}

test('each container that is killed while a deposit is on its way starts again, and the deposit is credited once', async (context) => {
  const system = composed(context);
  const payer = await Payer.signIn(system);
  const others = system.servers.filter((name) => !SERVERS.flat().includes(name));
  const paid: string[] = [];
  for (const killed of [...SERVERS, others]) {
    const before = await system.containers();
    await payer.pay('10000000');
    await system.signal(killed, 'SIGKILL');
    await until(
      async () => {
        const now = await system.containers();
        return killed.filter((name) => {
          const { State, RestartCount = 0 } = now.get(name) ?? {};
          const isNew = RestartCount > (before.get(name)?.RestartCount ?? 0);
          return !isNew || State?.Health?.Status !== 'healthy';
        });
      },
      `${killed.join()} to be started again`,
      (waiting) => waiting.length === 0,
    );
    await system.healthy();
    paid.push('credited');
    await payer.shows(...paid);
  }
  await expectAudited(system);
});

test('each container stops within its grace period with exit code 0, and after down and up nothing is lost', async (context) => {
  const system = composed(context);
  const payer = await Payer.signIn(system);
  await payer.pay('10000000');
  const { code, stderr } = await system.compose(['stop']);
  expect(code, stderr).toBe(0);
  const ended = await system.containers();
  for (const name of system.servers) {
    const { State } = ended.get(name) ?? {};
    expect(State?.Status, name).toBe('exited');
    expect(State?.ExitCode, name).toBe(JAVA.has(name) ? 143 : 0);
  }
  expect((await system.compose(['down'])).code).toBe(0);
  await system.up();
  await payer.shows('credited');
  await expectAudited(system);
});
