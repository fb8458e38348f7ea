/** The devnet's Prometheus metrics. */
import { Counter, Gauge, Registry } from 'prom-client';
import type { Block } from '../clt/block.ts';
import type { CltNode } from '../clt/node.ts';
import type { TrafficOutcome } from '../traffic/traffic.ts';
import type { TronNetwork } from '../tron/network.ts';

export class Metrics {
  readonly registry = new Registry();
  readonly #blocks = this.#counter(
    'devnet_blocks_total',
    'blocks made, including those of reorganisations',
  );
  readonly #transactions = this.#counter(
    'devnet_transactions_total',
    'transactions included in blocks',
    'function_call_type',
  );
  readonly #traffic = this.#counter(
    'devnet_traffic_total',
    'transactions of the traffic generator',
    'outcome',
  );

  /** Adds gauges that read the chains at each scrape. */
  observe(node: CltNode, { chain: tron }: TronNetwork): void {
    const { chain } = node;
    const gauges: readonly (readonly [name: string, help: string, read: () => number])[] = [
      ['head_height', 'height of the newest block', () => chain.head.height],
      ['finalized_height', 'height of the last final block', () => chain.finalized_height],
      ['mempool_transactions', 'transactions that wait for a block', () => chain.mempool.size],
      ['long_polls', 'requests that wait for a block', () => node.waiting],
      ['tron_head_number', 'number of the newest block of TRON', () => tron.head.number],
      [
        'tron_solidified_number',
        'number of the newest solidified block of TRON',
        () => tron.solidified.number,
      ],
      [
        'tron_open_transactions',
        'transactions of TRON that are not solidified',
        () => tron.open.length,
      ],
    ];
    for (const [name, help, read] of gauges)
      this.registry.registerMetric(
        new Gauge({
          name: `devnet_${name}`,
          help,
          registers: [],
          collect() {
            this.set(read());
          },
        }),
      );
  }

  blocksAdded(blocks: readonly Block[]): void {
    this.#blocks.inc(blocks.length);
    for (const block of blocks)
      for (const { call } of block.transactions)
        this.#transactions.inc({ function_call_type: call.function_call_type });
  }

  trafficCounted(outcome: TrafficOutcome): void {
    this.#traffic.inc({ outcome });
  }

  #counter<Label extends string>(
    name: string,
    help: string,
    ...labelNames: Label[]
  ): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}
