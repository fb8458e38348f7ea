import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { FormEvent, ReactElement } from 'react';
import type { Transaction } from '../../../../schemas/explorer-api/transactions.ts';
import { FUNCTION_CALL_TYPES } from '../../../../schemas/function-call.ts';
import { judgedPage } from '../api/finality.ts';
import { enteredOf } from '../browser.ts';
import { shortened } from '../format.ts';
import { Pager } from '../design/pager.tsx';
import { Answer, Exports } from '../design/parts.tsx';
import { Heading } from '../design/heading.tsx';
import { CHAIN } from './text.ts';
import { TEXT } from '../text.ts';
import { TransactionTable } from './transaction-table.tsx';

const ROWS = 50;

export function TransactionsPage(): ReactElement {
  const filter = useSearch({ from: '/transactions' });
  const transactions = useQuery(
    judgedPage<Transaction>('transactions', { ...filter, limit: ROWS }),
  );
  const { type, address, block } = filter;
  const chosen = [
    ...(type === undefined ? [] : [type]),
    ...(address === undefined ? [] : [shortened(address)]),
    ...(block === undefined ? [] : [`${CHAIN.tabs.block} ${block}`]),
  ].join(', ');
  return (
    <>
      <Heading
        title={TEXT.nav.transactions}
        tab={chosen.length === 0 ? undefined : CHAIN.tabs.of(TEXT.nav.transactions, chosen)}
      />
      <Filter />
      <section className="panel" aria-label={TEXT.nav.transactions}>
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
    void navigate({ search: enteredOf(form, ['type', 'address', 'block']) });
  };
  return (
    <form className="row" key={`${type} ${address} ${block}`} onSubmit={apply}>
      <label className="field">
        <span className="quiet">{TEXT.transaction.type}</span>
        <select name="type" defaultValue={type ?? ''}>
          <option value="">{TEXT.transactions.anyType}</option>
          {FUNCTION_CALL_TYPES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label className="field grow">
        <span className="quiet">{TEXT.transactions.address}</span>
        <input name="address" defaultValue={address} placeholder="0x…" spellCheck={false} />
      </label>
      <label className="field short">
        <span className="quiet">{TEXT.transaction.block}</span>
        <input name="block" defaultValue={block} inputMode="numeric" />
      </label>
      <button className="button" data-main>
        {TEXT.transactions.filter}
      </button>
      <Exports of="transactions" filter={{ type, address, block }} />
    </form>
  );
}
