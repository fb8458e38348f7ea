import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useState, type ChangeEvent, type ReactElement } from 'react';
import type { Activity, Balance } from '../../../../schemas/explorer-api/accounts.ts';
import { readAccount, type KnownAccount } from '../api/chain.ts';
import { judged, judgedPage, type Judged } from '../api/finality.ts';
import { ages, amounts, BLOCK, withFinality } from '../design/columns.tsx';
import { NAME_CHARACTERS_MAX, nameAddress, useName } from '../design/names.ts';
import { Pager } from '../design/pager.tsx';
import {
  AddressLink,
  Age,
  Amount,
  Answer,
  AnswerPanel,
  BlockLink,
  Button,
  Copy,
  Exports,
  Figures,
  Finality,
  Table,
  Tag,
  TransactionLink,
} from '../design/parts.tsx';
import { Plot, type Line } from '../design/plot.tsx';
import { amountText, grouped, plotted, shortened } from '../format.ts';
import { Heading } from '../design/heading.tsx';
import { CHAIN } from './text.ts';
import { TEXT } from '../text.ts';

const ROWS = 25;
const HISTORY_MS = 5_000;

export function AccountPage(): ReactElement {
  const { address } = useParams({ from: '/accounts/$address' });
  const path = `accounts/${encodeURIComponent(address)}`;
  const account = useQuery({
    queryKey: ['account', address],
    queryFn: ({ signal }) => judged(() => readAccount(path, signal)),
  });
  const key = account.data?.is.address ?? '';
  const name = useName(key)?.name;
  return (
    <>
      <Heading
        title={TEXT.account.title}
        tab={CHAIN.tabs.account(name ?? shortened(address))}
        error={account.error}
      >
        <span className="hash">
          <span data-address={account.data?.is.address}>{address}</span>
          <Copy text={address} what="address" />
          {name !== undefined && <span className="name">{name}</span>}
        </span>
        {account.data?.is.is_contract === true && <Tag>{TEXT.account.contract}</Tag>}
      </Heading>
      <Answer of={account}>{(shown) => <Shown of={shown} path={path} />}</Answer>
    </>
  );
}

function Shown(props: { readonly of: KnownAccount & Judged; readonly path: string }): ReactElement {
  const { of, path } = props;
  const { is: account, newest } = of;
  const words = TEXT.account;
  return (
    <>
      <Figures
        of={[
          [words.balance, <Amount of={newest?.balance ?? '0'} />],
          newest !== undefined && [CHAIN.account.after, <BlockLink height={newest.block_height} />],
          newest !== undefined && [
            TEXT.finality.name,
            <Finality height={newest.block_height} of={of} />,
          ],
          [words.nonce, grouped(account.nonce)],
          [
            TEXT.home.transactions,
            <Link to="/transactions" search={{ address: account.address }}>
              {grouped(account.tx_count)}
            </Link>,
          ],
          [words.activities, grouped(account.activity_count)],
        ]}
      />
      {of.head_height !== undefined && (
        <p className="quiet moment">{CHAIN.account.counted(grouped(of.head_height))}</p>
      )}
      <NameForm key={account.address} address={account.address} />
      <BalancePlot path={path} changes={account.activity_count} />
      <ActivityPanel address={account.address} path={path} />
    </>
  );
}

function NameForm({ address }: { readonly address: string }): ReactElement {
  const name = useName(address);
  const isOwn = name?.is_own === true;
  const [text, setText] = useState(isOwn ? name.name : '');
  const words = CHAIN.names;
  const save = (to: string): void => {
    setText(to);
    nameAddress(address, to);
  };
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        save(text);
      }}
    >
      <label>
        {words.label}{' '}
        <input
          value={text}
          maxLength={NAME_CHARACTERS_MAX}
          autoComplete="off"
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button className="button">{words.save}</button>
      {isOwn && <Button onClick={() => save('')}>{words.remove}</Button>}
      <span className="quiet">{words.where}</span>
    </form>
  );
}

function BalancePlot(props: { readonly path: string; readonly changes: number }): ReactElement {
  const history = useQuery({
    ...judgedPage<Balance>(`${props.path}/balance-history`, {}),
    refetchInterval: HISTORY_MS,
  });
  const { changes } = props;
  const { data } = history;
  const points = data?.items.length ?? 0;
  const newest = data?.items.at(-1)?.block_height;
  const isWhole = points >= changes;
  return (
    <AnswerPanel
      title={TEXT.account.plot}
      aside={
        <span className="row">
          <span className="unit">
            {isWhole || points === 0
              ? TEXT.units.clt
              : TEXT.account.points(points, grouped(changes))}
          </span>
          {data !== undefined && newest !== undefined && (
            <>
              <span className="quiet">{TEXT.home.upTo(grouped(newest))}</span>
              {newest > (data.final_height ?? newest) ? (
                <Tag tone="warn">{CHAIN.account.behind}</Tag>
              ) : (
                <Finality height={newest} of={data} isShort />
              )}
            </>
          )}
        </span>
      }
      of={history}
    >
      {({ items, final_height: final }) => <Balances of={items} {...{ final, isWhole }} />}
    </AnswerPanel>
  );
}

function Balances(props: {
  readonly of: readonly Balance[];
  /** undefined: not known */
  readonly final: number | undefined;
  /** whether each change is a point */
  readonly isWhole: boolean;
}): ReactElement {
  const { of, final = Infinity, isWhole } = props;
  const at = useMemo(() => of.map(({ timestamp }) => Date.parse(timestamp) / 1_000), [of]);
  const open = of.findIndex(({ block_height: height }) => height > final);
  // between two points there may be changes that are not final
  const from = open > 0 && !isWhole ? open - 1 : open;
  const lines = useMemo(
    (): Line[] => [
      {
        name: TEXT.account.balance,
        color: '--accent',
        values: of.map(({ balance }) => plotted(BigInt(balance))),
        texts: of.map(({ balance, block_height: height }) => {
          const text = `${amountText(BigInt(balance))} ${TEXT.units.clt}`;
          return height > final ? `${text} (${TEXT.finality.openShort})` : text;
        }),
      },
    ],
    [of, final],
  );
  if (of.length < 2) return <p className="nothing">{TEXT.states.few}</p>;
  return (
    <div className="inside">
      <Plot label={TEXT.account.plot} at={at} lines={lines} open_from={at[from]} />
    </div>
  );
}

function ActivityPanel(props: { readonly address: string; readonly path: string }): ReactElement {
  const { address, path } = props;
  const filter = useSearch({ from: '/accounts/$address' });
  const activity = useQuery(judgedPage<Activity>(`${path}/activity`, { ...filter, limit: ROWS }));
  const isFiltered = filter.kind !== undefined || filter.direction !== undefined;
  return (
    <AnswerPanel
      title={TEXT.account.activity}
      aside={<ActivityFilter address={address} />}
      of={activity}
    >
      {(shown) => (
        <>
          <ActivityTable
            activity={shown.items}
            of={shown}
            empty={isFiltered ? TEXT.account.noneSuch : TEXT.account.none}
          />
          <Pager cursor={filter.cursor} older={shown.older} />
        </>
      )}
    </AnswerPanel>
  );
}

/** As the chain names them; others are shown too, but not offered. */
const KINDS = [
  'transfer_in',
  'transfer_out',
  'mint',
  'burn',
  'ride_escrow',
  'ride_pay',
  'ride_refund',
  'tx_fee_paid',
  'tx_fee_earned',
  'block_reward',
  'referrer_fee',
] as const;

function ActivityFilter({ address }: { readonly address: string }): ReactElement {
  const { kind, direction } = useSearch({ from: '/accounts/$address' });
  const navigate = useNavigate({ from: '/accounts/$address' });
  const words = TEXT.account;
  const apply = (event: ChangeEvent<HTMLSelectElement>): void => {
    const { name, value } = event.currentTarget;
    void navigate({
      search: (before) => ({
        ...before,
        cursor: undefined,
        [name]: value === '' ? undefined : value,
      }),
    });
  };
  return (
    <span className="row">
      <select name="kind" aria-label={words.kind} value={kind ?? ''} onChange={apply}>
        <option value="">{words.anyKind}</option>
        {KINDS.map((each) => (
          <option key={each} value={each}>
            {each.replaceAll('_', ' ')}
          </option>
        ))}
      </select>
      <select
        name="direction"
        aria-label={words.direction}
        value={direction ?? ''}
        onChange={apply}
      >
        <option value="">{words.directions.both}</option>
        <option value="credit">{words.directions.credit}</option>
        <option value="debit">{words.directions.debit}</option>
      </select>
      <Exports of="activity" filter={{ address }} />
    </span>
  );
}

function ActivityTable(props: {
  readonly activity: readonly Activity[];
  readonly of: Judged;
  readonly empty: string;
}): ReactElement {
  const words = TEXT.account;
  return (
    <Table
      label={words.activity}
      items={props.activity}
      keyOf={({ tx_hash: txHash, kind, block_height: blockHeight }, index) =>
        `${txHash ?? blockHeight} ${kind} ${index}`
      }
      empty={props.empty}
      columns={withFinality<Activity>(
        [
          { name: words.kind, cell: ({ label }) => label },
          amounts(words.delta, 'delta', {
            isChange: true,
            below: (item: Activity) => (
              <>
                <Cause of={item} /> <Age of={item.timestamp} />
              </>
            ),
          }),
          {
            name: words.counterparty,
            cell: ({ counterparty }) =>
              counterparty === null ? (
                <span className="quiet">–</span>
              ) : (
                <AddressLink of={counterparty} isBare />
              ),
            isWide: true,
          },
          { name: TEXT.transaction.title, cell: (item) => <Cause of={item} />, isWide: true },
          BLOCK,
          ages(TEXT.transaction.time, 'timestamp'),
        ],
        props.of,
      )}
    />
  );
}

/** The transaction that changed the balance, or its block. */
function Cause({ of }: { readonly of: Activity }): ReactElement {
  return of.tx_hash === null ? (
    <Link to="/blocks/$id" params={{ id: String(of.block_height) }}>
      {TEXT.account.ofBlock}
    </Link>
  ) : (
    <TransactionLink of={of.tx_hash} isBare />
  );
}
