import { expect, test } from 'vitest';
import { Ledger } from '../../../../projections/deposits/domain/ledger.ts';
import { ledgerPosition } from '../../../../projections/reserve/position.ts';
import { ChainSupply } from '../../../../projections/reserve/supply.ts';
import { SummedLedger } from '../../../../services/ops/audit/summed-ledger.ts';
import { Random } from '../../../support/random.ts';
import { randomLogs } from './random-logs.ts';

test('a position is that of all deposits, at any offset and block, also at an earlier block', () => {
  for (let seed = 1; seed <= 12; seed++) {
    const { ledger: log, chain } = randomLogs(seed);
    const random = new Random(seed);
    const supply = new ChainSupply();
    for (const event of chain) supply.apply(event, BigInt(event.sequence));
    const top = supply.final?.height ?? 0;
    const summed = new SummedLedger();
    const whole = new Ledger();
    let height = 0;
    for (const [offset, event] of log.entries()) {
      summed.apply(event, BigInt(offset), { supply });
      whole.apply(event, BigInt(offset));
      if (random.chance(0.6)) continue;
      height = random.chance(0.1) ? random.below(top + 1) : Math.min(top, height + random.below(3));
      const position = summed.at({ height }, supply);
      expect({ seed, position }).toEqual({
        seed,
        position: ledgerPosition(whole, supply, { height }),
      });
    }
  }
});
