/** The audit of a log whose brokers fail meanwhile. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEPOSIT_ADDRESSES, PROJECTOR_SKIPS } from '../../../../schemas/topics.ts';
import {
  AUDITED_TOPICS,
  auditLogs,
  type AuditResult,
} from '../../../../services/ops/audit/audit.ts';
import type { Codec } from '../../../../services/runtime/kafka/codec.ts';
import type { Retrying } from '../../../../services/runtime/kafka/ends.ts';
import { openCodec } from '../../../support/codec.ts';
import { USDT_CONTRACT } from '../../../support/deposit-log.ts';
import { insisting } from '../../../support/kafka.ts';
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

/** The audit, whose request number `failing` fails, and how many requests it made. */
async function audited(
  failing: number | undefined,
  retrying?: Retrying,
): Promise<{ readonly result: AuditResult; readonly requests: number }> {
  let requests = 0;
  let isOpen = false;
  const onRequest = (): void => {
    if (isOpen && ++requests === failing) throw new Error('the connection was reset');
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
  const { result: whole, requests: last } = await audited(undefined);
  await expect(audited(last)).rejects.toMatchObject({ code: 'kafka', retry: true });
  for (const failing of [last - 1, last]) {
    const asked: string[] = [];
    const { result, requests } = await audited(failing, (what, attempt) => {
      asked.push(what);
      return insisting(what, attempt);
    });
    expect(result).toEqual(whole);
    expect(requests).toBe(last + 1);
    expect(asked).toContain(`reading ${DEPOSIT_ADDRESSES.name}/0`);
  }
});
