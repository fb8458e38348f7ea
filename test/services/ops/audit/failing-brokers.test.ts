/** The audit of a log whose brokers fail meanwhile. */
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { DEPOSIT_ADDRESSES, PROJECTOR_SKIPS } from '../../../../schemas/topics.ts';
import {
  AUDITED_TOPICS,
  auditLogs,
  type AuditResult,
} from '../../../../services/ops/audit/audit.ts';
import type { Codec } from '../../../../services/runtime/kafka/codec.ts';
import type { Retrying } from '../../../../services/runtime/kafka/ends.ts';
import { openCodec } from '../../../support/codec.ts';
import { patience, retryingWithNotes } from '../../../../services/ops/connections.ts';
import { USDT_CONTRACT } from '../../../support/deposit-log.ts';
import { insisting, never } from '../../../support/kafka.ts';
import { MemoryKafka } from '../../../support/memory-kafka.ts';
import { ScriptedRegistry } from '../../../support/scripted-registry.ts';
import { ADDRESSES } from './audited.ts';

let registry: ScriptedRegistry;
let codec: Codec;

beforeAll(async () => {
  registry = await ScriptedRegistry.open();
  codec = await openCodec(registry.url, AUDITED_TOPICS);
});
afterAll(() => registry.close());

const RESET = new Error('the connection was reset');

/** The audit, of which the requests that `fails` get this error, and how many requests it made. */
async function audited(
  fails: (request: number) => boolean,
  retrying?: Retrying,
  error = RESET,
): Promise<{ readonly result: AuditResult; readonly requests: number }> {
  let requests = 0;
  let isOpen = false;
  const onRequest = (): void => {
    if (isOpen && fails(++requests)) throw error;
  };
  const kafka = new MemoryKafka([...AUDITED_TOPICS, PROJECTOR_SKIPS], { onRequest });
  for (const event of ADDRESSES)
    kafka.append(DEPOSIT_ADDRESSES.name, 0, [
      { key: 'k', value: codec.encode(event), headers: {}, timestamp: 1 },
    ]);
  isOpen = true;
  const sources = { kafka, codec, reader: undefined, usdt_contract: USDT_CONTRACT };
  const result = await auditLogs(retrying === undefined ? sources : { ...sources, retrying });
  return { result, requests };
}

test('an audit reads on through a request that fails, with the same result', async () => {
  const { result: whole, requests: last } = await audited(() => false);
  await expect(audited((request) => request === last)).rejects.toMatchObject({
    code: 'kafka',
    retry: true,
  });
  for (const failing of [last - 1, last]) {
    const asked: string[] = [];
    const { result, requests } = await audited(
      (request) => request === failing,
      (what, attempt) => {
        asked.push(what);
        return insisting(what, attempt);
      },
    );
    expect(result).toEqual(whole);
    expect(requests).toBe(last + 1);
    expect(asked).toContain(`reading ${DEPOSIT_ADDRESSES.name}/0`);
  }
});

/** As the command reads. */
function withPatience(): Retrying {
  return retryingWithNotes(never, () => undefined, patience());
}

test.each(['UNKNOWN_TOPIC_ID', 'UNKNOWN_TOPIC_OR_PARTITION', 'TOPIC_AUTHORIZATION_FAILED'])(
  'an audit ends where the brokers say %s of a log that it reads for ten seconds',
  async (type) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { requests: last } = await audited(() => false);
    for (const first of [last - 1, last]) {
      let failed = 0;
      const fails = (request: number): boolean => {
        if (request < first) return false;
        failed++;
        vi.advanceTimersByTime(10_000);
        return true;
      };
      const error = Object.assign(new Error(type), { type });
      await expect(audited(fails, withPatience(), error)).rejects.toMatchObject({
        code: 'kafka',
        retry: false,
      });
      expect(failed).toBe(2);
    }
  },
);

test('an audit whose brokers fail for ten minutes ends with their last fault', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { requests: last } = await audited(() => false);
  let failed = 0;
  const fails = (request: number): boolean => {
    if (request < last) return false;
    failed++;
    vi.advanceTimersByTime(300_000);
    return true;
  };
  await expect(audited(fails, withPatience())).rejects.toMatchObject({
    code: 'kafka',
    retry: true,
    cause: RESET,
  });
  expect(failed).toBe(3);
});
