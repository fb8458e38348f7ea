import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Validator } from '../../../../schemas/explorer-api/accounts.ts';
import { judgedPage, type Judged } from '../api/finality.ts';
import { AddressLink, Answer, Table, Tag } from '../design/parts.tsx';
import { grouped } from '../format.ts';
import { ValidatorShares } from '../series/validator-shares.tsx';
import { Heading } from '../design/heading.tsx';
import { TEXT } from '../text.ts';
import { CHAIN } from './text.ts';

const ROWS = 100;

export function ValidatorsPage(): ReactElement {
  const search = useSearch({ from: '/validators' });
  const validators = useQuery(judgedPage<Validator>('validators', { limit: ROWS }));
  return (
    <>
      <Heading title={TEXT.nav.validators} />
      <section className="panel" aria-label={TEXT.nav.validators}>
        <Answer of={validators}>{(shown) => <Shown validators={shown.items} of={shown} />}</Answer>
      </section>
      <ValidatorShares search={search} />
    </>
  );
}

function Shown(props: {
  readonly validators: readonly Validator[];
  readonly of: Judged;
}): ReactElement {
  const { validators } = props;
  const { head_height: head } = props.of;
  const all = validators.reduce((sum, each) => sum + each.blocks_produced, 0);
  const words = TEXT.validators;
  return (
    <>
      <Table
        label={TEXT.nav.validators}
        items={validators.toSorted((a, b) => b.blocks_produced - a.blocks_produced)}
        keyOf={({ address }) => address}
        empty={TEXT.states.empty}
        columns={[
          { name: words.address, cell: ({ address }) => <AddressLink of={address} /> },
          {
            name: words.state,
            cell: ({ is_active: isActive }) => (
              <Tag tone={isActive ? 'good' : 'plain'}>{isActive ? words.active : words.idle}</Tag>
            ),
          },
          {
            name: words.produced,
            cell: ({ blocks_produced: blocksProduced }) => grouped(blocksProduced),
            isNumber: true,
          },
          {
            name: words.share,
            cell: ({ blocks_produced: blocksProduced }) => <Share of={blocksProduced / all} />,
            isNumber: true,
          },
        ]}
      />
      {head !== undefined && (
        <p className="quiet moment">{CHAIN.validators.counted(grouped(all), grouped(head))}</p>
      )}
    </>
  );
}

function Share({ of }: { readonly of: number }): ReactElement {
  const percent = `${(100 * of).toFixed(1)} %`;
  return (
    <>
      {percent}
      <span className="share wide" aria-hidden>
        <span style={{ width: `${100 * of}%` }} />
      </span>
    </>
  );
}
