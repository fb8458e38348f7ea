import { expect, onTestFinished, test } from 'vitest';
import { parseBlock, type NodeBlock, type Wire } from '../../../../schemas/chain-node.ts';
import type { ChainBlock } from '../../../../schemas/explorer-api/blocks.ts';
import { blockPieces } from '../../../../services/explorer-gateway/export/blocks.ts';
import { NDJSON } from '../../../../services/explorer-gateway/export/formats.ts';
import { ScriptedNode } from '../../../support/scripted-node.ts';
import { HEALTHY } from '../../console/verified-run.ts';
import { openExplorer } from '../explorer-server.ts';

/** A node with these blocks; `asked` gets the range of each question. */
function nodeOf(blocks: readonly NodeBlock[], asked: (readonly [number, number])[] = []) {
  return {
    blocks: (from: number, limit: number) => {
      asked.push([from, limit]);
      return Promise.resolve({ blocks: blocks.slice(from, from + limit), bytes: 1_000 * limit });
    },
  };
}

function spanOf(low: number, high: number, hash = HEALTHY[high]?.hash ?? Buffer.alloc(32)) {
  return {
    heights: { low: BigInt(low), high: BigInt(high) },
    end: { height: BigInt(high), hash },
  };
}

async function linesOf(pieces: AsyncIterable<string>): Promise<readonly string[]> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text.split('\n').slice(0, -1);
}

// these compile only while the document and the node say the same fields of a block
const described = (block: Wire<NodeBlock>): ChainBlock => block;
const said = (block: ChainBlock): Wire<NodeBlock> => block;

test('each line is a block as the node says it, and is read back as it was', async () => {
  const asked: (readonly [number, number])[] = [];
  const lines = await linesOf(blockPieces(nodeOf(HEALTHY, asked), spanOf(1, 3), NDJSON.row));
  const { type: _type, sequence: _sequence, ...second } = HEALTHY[1] ?? {};
  expect(parseBlock(said(described(JSON.parse(lines[0] ?? ''))))).toEqual({ value: second });
  expect(lines).toHaveLength(3);
  expect(asked).toEqual([[1, 3]]);
});

test('a long chain is asked for in parts, which grow as far as their size allows', async () => {
  const [block] = HEALTHY;
  const long = Array.from({ length: 2_000 }, (_, height): NodeBlock => ({
    ...Object(block),
    height,
  }));
  const asked: (readonly [number, number])[] = [];
  const end = spanOf(0, 1_999, long[0]?.hash);
  expect(await linesOf(blockPieces(nodeOf(long, asked), end, NDJSON.row))).toHaveLength(2_000);
  expect(asked.slice(0, 4).map(([, limit]) => limit)).toEqual([20, 40, 80, 160]);
  expect(Math.max(...asked.map(([, limit]) => limit))).toBe(262);
});

test('a last block that the index does not have breaks the file off', async () => {
  const pieces = blockPieces(nodeOf(HEALTHY), spanOf(0, 3, Buffer.alloc(32, 9)), NDJSON.row);
  await expect(linesOf(pieces)).rejects.toMatchObject({ code: 'storage_conflict', retry: true });
});

test('a node without a block of the index breaks the file off', async () => {
  const pieces = blockPieces(nodeOf(HEALTHY.slice(0, 2)), spanOf(0, 3), NDJSON.row);
  await expect(linesOf(pieces)).rejects.toMatchObject({ code: 'chain_node', retry: true });
});

test('a request for which no slot is free asks the node for nothing', async () => {
  const node = new ScriptedNode();
  const explorer = await openExplorer({
    postgres_reader_url: 'postgres://127.0.0.1:1/clt',
    node_url: await node.listen(),
    exports_max: 1,
    reader: () => ({ rows: () => Promise.withResolvers<never>().promise }),
  });
  node.grow(1);
  const path = '/api/v1/export/blocks.ndjson';
  const holder = new AbortController();
  const held = fetch(explorer.url + path, { signal: holder.signal }).catch(() => undefined);
  onTestFinished(async () => {
    holder.abort();
    await held;
    await explorer.close();
    await node.close();
  });
  await expect.poll(() => node.asked).toEqual(['/v1/chain']);
  expect((await explorer.get(path)).status).toBe(429);
  expect(node.asked).toEqual(['/v1/chain']);
});
