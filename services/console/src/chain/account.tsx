import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, type ReactElement } from 'react';
import { one, page, type Account, type Activity } from '../api/explorer.ts';
import { Pager } from '../design/pager.tsx';
import {
  AddressLink,
  Age,
  Amount,
  Answer,
  BlockLink,
  Copy,
  Figures,
  Panel,
  Table,
  Tag,
  TransactionLink,
} from '../design/parts.tsx';
import { Plot, type Line } from '../design/plot.tsx';
import { grouped, plotted } from '../format.ts';
import { TEXT } from '../text.ts';

const ROWS = 25;
/** The most that a page may have. */
const PLOTTED = 100;

export function AccountPage(): ReactElement {
  const { address } = useParams({ from: '/accounts/$address' });
  const path = `accounts/${encodeURIComponent(address)}`;
  const account = useQuery({
    queryKey: ['account', address],
    queryFn: ({ signal }) => one<Account>(path, signal),
  });
  return (
    <>
      <header>
        <h1>{TEXT.account.title}</h1>
        <span className="hash">
          <span>{address}</span>
          <Copy text={address} what="address" />
        </span>
        {account.data?.is_contract === true && <Tag>{TEXT.account.contract}</Tag>}
      </header>
      <Answer of={account}>{(shown) => <Shown account={shown} path={path} />}</Answer>
    </>
  );
}

function Shown(props: { readonly account: Account; readonly path: string }): ReactElement {
  const { account, path } = props;
  const { cursor } = useSearch({ from: '/accounts/$address' });
  const activity = useQuery({
    queryKey: ['activity', path, cursor],
    queryFn: ({ signal }) => page<Activity>(`${path}/activity`, signal, { cursor, limit: ROWS }),
  });
  const newest = useQuery({
    queryKey: ['activity', path, 'plot'],
    queryFn: ({ signal }) => page<Activity>(`${path}/activity`, signal, { limit: PLOTTED }),
    refetchInterval: 5_000,
  });
  const words = TEXT.account;
  return (
    <>
      <Figures
        of={[
          [words.balance, <Amount of={account.balance} />],
          [words.nonce, grouped(account.nonce)],
          [
            words.transactions,
            <Link to="/transactions" search={{ address: account.address }}>
              {grouped(account.tx_count)}
            </Link>,
          ],
          [words.activities, grouped(account.activity_count)],
        ]}
      />
      <Answer of={newest}>
        {({ items }) => <Balance balance={account.balance} activity={items} />}
      </Answer>
      <Panel
        title={words.activity}
        aside={
          <span className="row">
            <a href={`/api/v1/export/activity.csv?address=${account.address}`} download>
              {TEXT.transactions.csv}
            </a>
            <a
              href={`/api/v1/export/activity.ndjson?address=${account.address}&amounts=string`}
              download
            >
              {TEXT.transactions.ndjson}
            </a>
          </span>
        }
      >
        <Answer of={activity}>
          {({ items, older }) => (
            <>
              <ActivityTable activity={items} />
              <Pager cursor={cursor} older={older} />
            </>
          )}
        </Answer>
      </Panel>
    </>
  );
}

/** After each change, oldest first: from the balance of now back through the changes. */
export function balancesOf(balance: string, newestFirst: readonly Activity[]): readonly bigint[] {
  let after = BigInt(balance);
  const found = newestFirst.map(({ delta }) => {
    const here = after;
    after -= BigInt(delta);
    return here;
  });
  return found.toReversed();
}

function Balance(props: {
  readonly balance: string;
  readonly activity: readonly Activity[];
}): ReactElement | null {
  const { balance, activity } = props;
  const at = useMemo(
    () => activity.map(({ timestamp }) => Date.parse(timestamp) / 1_000).toReversed(),
    [activity],
  );
  const lines = useMemo(
    (): Line[] => [
      {
        name: TEXT.account.balance,
        color: '--accent',
        values: balancesOf(balance, activity).map(plotted),
      },
    ],
    [balance, activity],
  );
  if (activity.length < 2) return null;
  const title = TEXT.account.plot(activity.length);
  return (
    <Panel title={title} aside={<span className="unit">{TEXT.units.clt}</span>}>
      <div className="inside">
        <Plot label={title} at={at} lines={lines} />
      </div>
    </Panel>
  );
}

function ActivityTable({ activity }: { readonly activity: readonly Activity[] }): ReactElement {
  const words = TEXT.account;
  return (
    <Table
      label={words.activity}
      items={activity}
      keyOf={({ tx_hash: hash, kind, block_height: height }, index) =>
        `${hash ?? height} ${kind} ${index}`
      }
      empty={words.none}
      columns={[
        { name: words.label, cell: ({ label }) => label },
        {
          name: words.delta,
          cell: ({ delta }) => <Amount of={delta} isChange />,
          isNumber: true,
        },
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
        {
          name: words.transaction,
          cell: ({ tx_hash: hash }) =>
            hash === null ? (
              <span className="quiet">{words.ofBlock}</span>
            ) : (
              <TransactionLink of={hash} isBare />
            ),
          isWide: true,
        },
        {
          name: words.block,
          cell: ({ block_height: height }) => <BlockLink height={height} />,
          isNumber: true,
        },
        {
          name: words.time,
          cell: ({ timestamp }) => <Age of={timestamp} />,
          isNumber: true,
          isWide: true,
        },
      ]}
    />
  );
}
