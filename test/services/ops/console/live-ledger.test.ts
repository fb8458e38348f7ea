import { expect, test } from 'vitest';
import { LiveLedger } from '../../../../services/ops/console/live-ledger.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { MintLedger } from '../../../support/mint-ledger.ts';
import { addressOf, alice, operatorsSet } from '../../../support/operators.ts';

function decide(): Promise<never> {
  return Promise.reject(new Error('nothing is decided'));
}

/** A live ledger that has read these events once. */
async function read({ ledger }: MintLedger): Promise<LiveLedger> {
  const stop = new AbortController();
  const catchUp = (): Promise<void> => Promise.resolve(stop.abort());
  const live = new LiveLedger(
    () => Promise.resolve({ ledger, catchUp, decide }),
    () => 0,
  );
  await live.follow(stop.signal);
  return live;
}

test('the operators in force are admitted', async () => {
  const made = new MintLedger();
  made.setPolicy();
  made.write(operatorsSet(alice));
  expect((await read(made)).admission()).toEqual({ operators: [addressOf(alice)] });
});

test('without operators any key is admitted on a testnet, and none on the mainnet', async () => {
  const made = new MintLedger();
  expect((await read(made)).admission()).toMatchObject({ refused: 'not_ready' });
  made.setPolicy();
  expect((await read(made)).admission()).toEqual({ operators: undefined });
  const mainnet = new MintLedger();
  const { policy } = made.ledger;
  if (policy === undefined) throw new Error('no policy');
  mainnet.write({ ...policy, type: 'PolicySet', sequence: 0, network: 'mainnet', decided_at: 0 });
  expect((await read(mainnet)).admission()).toMatchObject({ refused: 'not_ready' });
});

test('nobody is admitted before the ledger is read, and the problem is named', async () => {
  const stop = new AbortController();
  const live = new LiveLedger(
    () => {
      stop.abort();
      return Promise.reject(
        new Fault('kafka_unreachable', 'the brokers are away', { retry: true }),
      );
    },
    () => 0,
  );
  await live.follow(stop.signal);
  expect(live.problem).toBe('the brokers are away');
  expect(live.admission()).toEqual({ refused: 'not_ready', message: 'the brokers are away' });
});
