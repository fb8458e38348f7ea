/** The devnet's Prometheus metrics. */
import { Counter, Gauge, Registry } from 'prom-client';
import type { Block } from '../clt/block.ts';
import type { CltNode } from '../clt/node.ts';
import type { TrafficOutcome } from '../traffic/traffic.ts';
import type { TronNetwork } from '../tron/network.ts';

export class Metrics {
  readonly registry = new Registry();
  readonly #blocks = new Counter({
    name: 'devnet_blocks_total',
    help: 'blocks made, including those of reorganisations',
    registers: [this.registry],
  });
  readonly #transactions = new Counter({
    name: 'devnet_transactions_total',
    help: 'transactions included in blocks',
    labelNames: ['function_call_type'],
    registers: [this.registry],
  });
  readonly #traffic = new Counter({
    name: 'devnet_traffic_total',
    help: 'transactions of the traffic generator',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  /** Adds gauges that read the chains at each scrape. */
  observe(node: CltNode, { chain: tron }: TronNetwork): void {
    const { chain } = node;
    this.#gauge('devnet_head_height', 'height of the newest block', () => chain.head.height);
    this.#gauge(
      'devnet_finalized_height',
      'height of the last final block',
      () => chain.finalizedHeight,
    );
    this.#gauge(
      'devnet_mempool_transactions',
      'transactions that wait for a block',
      () => chain.mempool.size,
    );
    this.#gauge('devnet_long_polls', 'requests that wait for a block', () => node.waiting);
    this.#gauge(
      'devnet_tron_head_number',
      'number of the newest block of TRON',
      () => tron.head.number,
    );
    this.#gauge(
      'devnet_tron_solidified_number',
      'number of the newest solidified block of TRON',
      () => tron.solidified.number,
    );
    this.#gauge(
      'devnet_tron_open_transactions',
      'transactions of TRON that are not solidified',
      () => tron.open.length,
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

  #gauge(name: string, help: string, read: () => number): Gauge {
    return new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }
}
