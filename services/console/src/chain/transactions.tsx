import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { FormEvent, ReactElement } from 'react';
import type { Transaction } from '../../../../schemas/explorer-api/transactions.ts';
import { page, queryText } from '../api/explorer.ts';
import { judged } from '../api/finality.ts';
import { entered } from '../design/form.ts';
import { shortened } from '../format.ts';
import { Pager } from '../design/pager.tsx';
import { Answer } from '../design/parts.tsx';
import { Heading } from '../design/heading.tsx';
import { CHAIN } from './text.ts';
import { TEXT } from '../text.ts';
import { TYPES } from './types.ts';
import { TransactionTable } from './transaction-table.tsx';

const ROWS = 50;

export function TransactionsPage(): ReactElement {
  const filter = useSearch({ from: '/transactions' });
  const transactions = useQuery({
    queryKey: ['transactions', filter],
    queryFn: ({ signal }) =>
      judged(() => page<Transaction>('transactions', signal, { ...filter, limit: ROWS })),
  });
  const { type, address, block } = filter;
  const chosen = [
    ...(type === undefined ? [] : [type]),
    ...(address === undefined ? [] : [shortened(address)]),
    ...(block === undefined ? [] : [`${CHAIN.tabs.block} ${block}`]),
  ].join(', ');
  return (
    <>
      <header>
        <Heading
          tab={chosen.length === 0 ? undefined : CHAIN.tabs.of(TEXT.transactions.title, chosen)}
        >
          {TEXT.transactions.title}
        </Heading>
      </header>
      <Filter />
      <section className="panel" aria-label={TEXT.transactions.title}>
        <Answer of={transactions}>
          {(shown) => (
            <>
              <TransactionTable
                transactions={shown.items}
                of={shown}
                empty={TEXT.transactions.none}
              />
              <Pager cursor={filter.cursor} older={shown.older} />
            </>
          )}
        </Answer>
      </section>
    </>
  );
}

function Filter(): ReactElement {
  const { type, address, block } = useSearch({ from: '/transactions' });
  const navigate = useNavigate({ from: '/transactions' });
  const apply = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const search = Object.fromEntries(
      ['type', 'address', 'block'].flatMap((name) => {
        const value = entered(form, name);
        return value === '' ? [] : [[name, value]];
      }),
    );
    void navigate({ search });
  };
  const exported = queryText({ type, address, block });
  return (
    <form className="row" key={`${type} ${address} ${block}`} onSubmit={apply}>
      <label className="field">
        <span className="quiet">{TEXT.transactions.type}</span>
        <select name="type" defaultValue={type ?? ''}>
          <option value="">{TEXT.transactions.anyType}</option>
          {TYPES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label className="field grow">
        <span className="quiet">{TEXT.transactions.address}</span>
        <input name="address" defaultValue={address} placeholder="0x…" spellCheck={false} />
      </label>
      <label className="field short">
        <span className="quiet">{TEXT.transactions.block}</span>
        <input name="block" defaultValue={block} inputMode="numeric" />
      </label>
      <button className="button" data-main>
        {TEXT.transactions.filter}
      </button>
      <a className="button" href={`/api/v1/export/transactions.csv?${exported}`} download>
        {TEXT.transactions.csv}
      </a>
      <a
        className="button"
        href={`/api/v1/export/transactions.ndjson?${queryText({ type, address, block, amounts: 'string' })}`}
        download
      >
        {TEXT.transactions.ndjson}
      </a>
    </form>
  );
}
