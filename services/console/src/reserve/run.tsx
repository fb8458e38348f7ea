import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { verdictOf } from '../../../../schemas/explorer-api/words.ts';
import { oneQuery } from '../api/explorer.ts';
import { Amount, Answer, BlockLink, Facts, Panel, PlainHash, Time } from '../design/parts.tsx';
import { grouped } from '../format.ts';
import { CHAIN } from '../chain/text.ts';
import { Heading } from '../design/heading.tsx';
import { TEXT } from '../text.ts';
import { Verify } from '../verify/verify.tsx';
import { isWhole } from './equation.ts';
import { Check, Equation, StatusTag, wordOf } from './run-parts.tsx';

export function RunPage(): ReactElement {
  const { run: id } = useParams({ from: '/reserve/$run' });
  const run = useQuery({
    ...oneQuery<RecordedRun>(`reserve/runs/${encodeURIComponent(id)}`),
    // a run never changes
    refetchInterval: ({ state }) => (state.data === undefined ? 1_000 : false),
  });
  const tab = run.data && CHAIN.tabs.of(TEXT.reserve.run, wordOf(run.data));
  return (
    <>
      <Heading title={TEXT.reserve.run} tab={tab} error={run.error}>
        {run.data !== undefined && <StatusTag of={verdictOf(run.data)} />}
        <Link to="/reserve">{TEXT.reserve.all}</Link>
      </Heading>
      <Answer of={run}>{(shown) => <Shown run={shown} />}</Answer>
    </>
  );
}

function Shown({ run }: { readonly run: RecordedRun }): ReactElement {
  const words = TEXT.reserve;
  const usdt = TEXT.units.usdt;
  return (
    <>
      {isWhole(run) && <Equation run={run} />}
      <div className="two">
        <Panel title={words.figures}>
          <Facts
            of={[
              [words.id, <PlainHash of={run.run_id} what="id" isWhole />],
              [words.at, <Time of={run.run_at} />],
              [words.supply, <Amount of={run.onchain_supply} />],
              [words.genesis, <Amount of={run.genesis_allocation} />],
              [words.minted, <Amount of={run.treasury_minted} />],
              [words.burned, <Amount of={run.burned} />],
              [words.held, <Amount of={run.held} unit={usdt} />],
            ]}
          />
        </Panel>
        <Panel title={words.inputs}>
          <Facts
            of={[
              [words.offset, words.ledgerAt(grouped(run.ledger_offset))],
              [words.block, <BlockLink height={run.block_height} />],
              [words.blockHash, <PlainHash of={run.block_hash} what="hash" isWhole />],
            ]}
          />
        </Panel>
      </div>
      {isWhole(run) && <Verify key={run.run_id} run={run} />}
      <Check run={run} />
    </>
  );
}
