import type { UseQueryResult } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactElement } from 'react';
import type {
  Deposit,
  Dust,
  Operations,
  Waiting as WaitingDeposit,
  WaitingList,
} from '../../../../schemas/operations-api/answers.ts';
import { entered } from '../browser.ts';
import { ages, amounts } from '../design/columns.tsx';
import {
  Amount,
  Answer,
  Button,
  Facts,
  Panel,
  PlainHash,
  Table,
  Tag,
  Time,
} from '../design/parts.tsx';
import { amountText, shortened, wordFor } from '../format.ts';
import { TEXT } from '../text.ts';
import { Decide } from './decide.tsx';
import { Known, RecordLink } from './known.tsx';
import { useAsked } from './session.ts';
import { OPS } from './text.ts';

const USDT = TEXT.units.usdt;

export function DepositsPage(props: { readonly of: UseQueryResult<Operations> }): ReactElement {
  return (
    <>
      <header>
        <h1>{OPS.deposits.title}</h1>
      </header>
      <Answer of={props.of} words={OPS.away}>
        {({ waiting }) => <Known of={waiting}>{(list) => <Waiting {...list} />}</Known>}
      </Answer>
    </>
  );
}

const NO_IDS: ReadonlySet<string> = new Set();

/** The deposits that wait, or all of less than an amount; those that are chosen are decided. */
function Waiting(props: WaitingList & { readonly dust: Dust }): ReactElement {
  const [below, setBelow] = useState<string>();
  const [chosen, setChosen] = useState(NO_IDS);
  const small = useAsked<WaitingList>(below && `waiting?below=${below}`);
  const words = OPS.deposits;
  const show = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setChosen(NO_IDS);
    setBelow(encodeURIComponent(entered(event.currentTarget, 'below')));
  };
  const listed = ({ deposits, has_more: hasMore }: WaitingList): ReactElement => {
    const those = deposits.filter(({ id }) => chosen.has(id));
    const toggle = (id: string): void => {
      const [others, isIn] = [[...chosen].filter((each) => each !== id), chosen.has(id)];
      setChosen(new Set(isIn ? others : [...others, id]));
    };
    const isAll = deposits.length > 0 && those.length === deposits.length;
    return (
      <>
        <section className="panel" aria-label={words.title}>
          <WaitingTable deposits={deposits} chosen={chosen} toggle={toggle} />
          {deposits.length > 0 && (
            <p className="foot">
              <button
                type="button"
                className="plain"
                onClick={() => setChosen(isAll ? NO_IDS : new Set(deposits.map(({ id }) => id)))}
              >
                {isAll ? words.noneOfThem : words.all}
              </button>
            </p>
          )}
        </section>
        {hasMore && <p className="note">{below === undefined ? words.more : words.moreBelow}</p>}
        <Decide of={those} />
      </>
    );
  };
  return (
    <>
      <DustNote of={props.dust} />
      <form className="row" onSubmit={show}>
        <label className="row">
          {words.below}
          <input
            name="below"
            inputMode="decimal"
            autoComplete="off"
            required
            pattern="[0-9]{1,20}([.][0-9]{1,6})?"
            defaultValue={amountText(BigInt(props.dust.below)).replaceAll(',', '')}
          />
        </label>
        <button className="button">{words.showBelow}</button>
        {below !== undefined && (
          <Button
            onClick={() => {
              setChosen(NO_IDS);
              setBelow(undefined);
            }}
          >
            {words.showAll}
          </Button>
        )}
      </form>
      {below === undefined ? (
        listed(props)
      ) : (
        <Answer of={small} words={OPS.away}>
          {listed}
        </Answer>
      )}
    </>
  );
}

/** Deposits that nobody sends in earnest: counted, so that the others are seen. */
export function DustNote({ of }: { readonly of: Dust }): ReactElement | null {
  if (of.deposits === 0) return null;
  const [below, amount] = [amountText(BigInt(of.below)), amountText(BigInt(of.amount))];
  return <p className="quiet">{OPS.deposits.dust(of.deposits, below, amount)}</p>;
}

export function WaitingTable(props: {
  readonly deposits: readonly WaitingDeposit[];
  readonly chosen?: ReadonlySet<string>;
  readonly toggle?: (id: string) => void;
}): ReactElement {
  const words = OPS.deposits;
  const { chosen, toggle } = props;
  return (
    <Table
      label={words.title}
      items={props.deposits}
      keyOf={({ id }) => id}
      empty={words.none}
      columns={[
        toggle !== undefined && {
          name: words.choose,
          cell: ({ id }) => (
            <input
              type="checkbox"
              aria-label={words.chooseOne(id.slice(0, 8))}
              checked={chosen?.has(id) === true}
              onChange={() => toggle(id)}
            />
          ),
        },
        {
          name: words.id,
          cell: ({ id }) => (
            <a href={`#/deposits/${id}`} className="hash">
              {id.slice(0, 8)}
            </a>
          ),
        },
        {
          name: OPS.columns.reason,
          cell: ({ reason }) => <span className="wrapped">{reasonText(reason)}</span>,
        },
        amounts(OPS.columns.arrived, 'amount_usdt', { unit: USDT }),
        amounts(words.credit, 'credit_usdt', { isWide: true }),
        {
          name: words.approvals,
          cell: ({ approvals }) => (approvals === null ? '' : words.of(approvals)),
          isWide: true,
        },
        {
          name: words.account,
          cell: ({ clt_address: cltAddress }) => <PlainHash of={cltAddress} what="address" />,
          isWide: true,
        },
        ages(words.created, 'created_at'),
      ]}
    />
  );
}

export function DepositPage({ id }: { readonly id: string }): ReactElement {
  const deposit = useAsked<Deposit>(`deposits/${id}`);
  return (
    <>
      <header>
        <h1>{OPS.deposit.title}</h1>
        <PlainHash of={id} what="id" isWhole />
      </header>
      <Answer of={deposit} words={OPS.away}>
        {(shown) => <Shown deposit={shown} />}
      </Answer>
    </>
  );
}

function Shown({ deposit }: { readonly deposit: Deposit }): ReactElement {
  const words = OPS.deposit;
  const approvedBy = deposit.effects?.approved_by ?? [];
  return (
    <>
      <div className="two">
        <Panel title={words.title}>
          <Facts
            of={[
              [words.status, <StatusWords of={deposit} />],
              [OPS.columns.arrived, <Amount of={deposit.amount_usdt} unit={USDT} />],
              [words.fee, <Amount of={deposit.fee_usdt} unit={USDT} />],
              [words.credit, <Amount of={deposit.credit_usdt} />],
              [words.owner, <PlainHash of={deposit.clt_address} what="address" isWhole />],
              [words.address, <PlainHash of={deposit.deposit_address} what="address" isWhole />],
              [words.transaction, <PlainHash of={deposit.tron_tx_id} what="hash" />],
              deposit.mint_tx_hash !== null && [
                words.mint,
                <PlainHash of={deposit.mint_tx_hash} what="hash" />,
              ],
              approvedBy.length > 0 && [words.approvedBy, approvedBy.map(shortened).join(', ')],
            ]}
          />
        </Panel>
        <Decide
          of={deposit.effects === null ? [] : [deposit]}
          effects={deposit.effects ?? OPS.decide.effects}
          facts={[
            [words.fee, <Amount of={deposit.fee_usdt} unit={USDT} />],
            [words.owner, <PlainHash of={deposit.clt_address} what="address" isWhole />],
          ]}
        />
      </div>
      <Panel title={words.events}>
        <Events of={deposit.events} />
      </Panel>
    </>
  );
}

function StatusWords({ of }: { readonly of: Deposit }): ReactElement {
  const tone = of.status === 'credited' ? 'good' : of.status === 'needs_manual' ? 'warn' : 'accent';
  return (
    <>
      <Tag tone={tone}>{wordFor(TEXT.deposits.statuses, of.status)}</Tag> {reasonText(of.reason)}{' '}
      {of.rejected && <Tag tone="bad">{OPS.deposit.rejected}</Tag>}
    </>
  );
}

function reasonText(reason: string | null): string {
  return wordFor(TEXT.deposits.reasons, reason ?? '');
}

const AMOUNTS = new Set(['gross', 'fee', 'credit']);

function Events({ of }: { readonly of: Deposit['events'] }): ReactElement {
  const words = OPS.deposit;
  return (
    <Table
      label={words.events}
      items={of}
      keyOf={({ topic, partition, offset }) => `${topic}/${partition}@${offset}`}
      empty={TEXT.states.empty}
      columns={[
        { name: words.at, cell: ({ at }) => <Time of={at} /> },
        { name: words.event, cell: ({ event }) => event },
        { name: OPS.columns.record, cell: (event) => <RecordLink {...event} /> },
        {
          name: words.details,
          cell: ({ details }) => (
            <span className="wrapped">
              {Object.entries(details)
                .map(([name, value]) => `${name} ${detailText(name, value)}`)
                .join(', ')}
            </span>
          ),
          isWide: true,
        },
      ]}
    />
  );
}

function detailText(name: string, value: string): string {
  return AMOUNTS.has(name) ? amountText(BigInt(value)) : shortened(value);
}
