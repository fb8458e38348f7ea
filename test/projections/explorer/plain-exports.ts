/** The expected items of exports as JSON text, oldest first, from a plain list of blocks. */
import { exactJson, plainTransaction, type PlainFilter } from './plain-answers.ts';
import type { PlainBlock, PlainEffect } from './plain-block.ts';

export interface PlainSpan {
  /** heights, both included */
  readonly from?: number;
  readonly to?: number;
}

function spanned(
  blocks: readonly PlainBlock[],
  { from = 0, to = Number.MAX_SAFE_INTEGER }: PlainSpan,
): readonly PlainBlock[] {
  return blocks.filter(({ height }) => height >= from && height <= to);
}

export function plainExportedTransactions(
  blocks: readonly PlainBlock[],
  filter: PlainFilter & PlainSpan,
): readonly string[] {
  const { block, address, type } = filter;
  return spanned(blocks, filter)
    .flatMap(({ transactions }) => transactions)
    .filter((one) => block === undefined || one.block_height === block)
    .filter((one) => address === undefined || one.from.equals(address) || one.to.equals(address))
    .filter((one) => type === undefined || one.type === type)
    .map(plainTransaction);
}

type Labels = (kind: string, direction: 'credit' | 'debit') => string;

/**
 * One address: in order of its effects. All: by block, transaction (block effects last), address.
 */
export function plainExportedActivity(
  blocks: readonly PlainBlock[],
  { address, ...span }: PlainSpan & { readonly address?: Buffer },
  labels: Labels,
): readonly string[] {
  return spanned(blocks, span).flatMap((block) => {
    const moved = block.effects
      .filter(({ delta }) => delta !== 0n)
      .filter((one) => address === undefined || one.address.equals(address));
    const ordered = address === undefined ? moved.toSorted(inExportOrder) : moved;
    return ordered.map((effect) => plainActivityItem(block, effect, labels));
  });
}

/** Stable, so that an address' effects of one transaction stay as they were. */
function inExportOrder(one: PlainEffect, other: PlainEffect): number {
  const [index, otherIndex] = [
    one.tx_index ?? Number.MAX_SAFE_INTEGER,
    other.tx_index ?? Number.MAX_SAFE_INTEGER,
  ];
  return index === otherIndex ? Buffer.compare(one.address, other.address) : index - otherIndex;
}

function plainActivityItem(
  block: PlainBlock,
  { address, kind, delta, tx_index: txIndex, counterparty }: PlainEffect,
  labels: Labels,
): string {
  const cause = txIndex === null ? undefined : block.transactions[txIndex];
  const direction = delta < 0n ? 'debit' : 'credit';
  return exactJson({
    address: hex(address),
    kind,
    label: labels(kind, direction),
    delta,
    direction,
    amount: delta < 0n ? -delta : delta,
    tx_hash: cause === undefined ? null : hex(cause.hash),
    block_height: block.height,
    tx_index: txIndex,
    function_call_type: cause?.type ?? null,
    counterparty: cause === undefined ? null : hex(counterparty),
    timestamp: new Date(block.timestamp).toISOString(),
  });
}

function hex(bytes: Buffer | null): string | null {
  return bytes === null ? null : `0x${bytes.toString('hex')}`;
}

/** The fields of an item as exact text, in order; null is empty. */
export function fieldsOf(item: string): ReadonlyMap<string, string> {
  const fields: Record<string, boolean | string | null> = JSON.parse(
    item.replaceAll(/":(-?[0-9]+)(?=[,}])/g, '":"$1"'),
  );
  return new Map(
    Object.entries(fields).map(([name, value]) => [name, value === null ? '' : String(value)]),
  );
}

/** CSV as RFC 4180 has it, nothing else. Throws where the text is not that. */
export function readCsv(text: string): readonly (readonly string[])[] {
  const records: string[][] = [];
  let record: string[] = [];
  let at = 0;
  while (at < text.length) {
    const field = text[at] === '"' ? quotedField(text, at) : plainField(text, at);
    record.push(field.value);
    at = field.end;
    if (text[at] === ',') {
      at += 1;
      if (at === text.length) throw new Error('the text ends after a comma');
    } else if (text.startsWith('\r\n', at)) {
      records.push(record);
      record = [];
      at += 2;
    } else
      throw new Error(
        `neither a comma nor the end of a record at ${at}: ${JSON.stringify(text.slice(at, at + 20))}`,
      );
  }
  if (record.length > 0) throw new Error('the last record does not end');
  return records;
}

interface Field {
  readonly value: string;
  readonly end: number;
}

function plainField(text: string, start: number): Field {
  let end = start;
  while (end < text.length && !',"\r\n'.includes(text[end] ?? '')) end++;
  return { value: text.slice(start, end), end };
}

function quotedField(text: string, start: number): Field {
  let value = '';
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] !== '"') value += text[at];
    else if (text[at + 1] === '"') value += text[++at];
    else return { value, end: at + 1 };
  }
  throw new Error('a quoted field does not end');
}
