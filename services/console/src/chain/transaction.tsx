import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { TransactionDetail } from '../../../../schemas/explorer-api/transactions.ts';
import { one } from '../api/explorer.ts';
import { judged, type Judged } from '../api/finality.ts';
import {
  AddressLink,
  Amount,
  Answer,
  BlockLink,
  Facts,
  Finality,
  Panel,
  PlainHash,
  Tag,
  Time,
} from '../design/parts.tsx';
import { grouped } from '../format.ts';
import { TEXT } from '../text.ts';
import { Effects, useLogPlace } from './effects.tsx';

export function TransactionPage(): ReactElement {
  const { hash } = useParams({ from: '/transactions/$hash' });
  const transaction = useQuery({
    queryKey: ['transaction', hash],
    queryFn: ({ signal }) =>
      judged(() => one<TransactionDetail>(`transactions/${encodeURIComponent(hash)}`, signal)),
  });
  return (
    <>
      <header>
        <h1>{TEXT.transaction.title}</h1>
      </header>
      <Answer of={transaction}>{(shown) => <Shown of={shown} />}</Answer>
    </>
  );
}

function Party({ of }: { readonly of: string | null }): ReactElement {
  return of === null ? (
    <span className="quiet">{TEXT.transaction.none}</span>
  ) : (
    <AddressLink of={of} />
  );
}

/** The transactions by whose hash the hub knows a ride. */
const OF_A_RIDE = new Set(['RideRequest', 'RideOffer', 'RideAcceptance']);

function RideOf(props: { readonly transaction: TransactionDetail }): ReactElement {
  const {
    hash,
    is_ride_related: isRideRelated,
    function_call_type: functionCallType,
  } = props.transaction;
  const words = TEXT.transaction;
  if (!OF_A_RIDE.has(functionCallType)) return <>{isRideRelated ? words.yes : words.no}</>;
  return (
    <Link to="/market/trips/$hash" params={{ hash }}>
      {TEXT.market.story}
    </Link>
  );
}

function Shown({ of }: { readonly of: TransactionDetail & Judged }): ReactElement {
  const words = TEXT.transaction;
  const place = useLogPlace(of.block_height);
  return (
    <>
      <section className="panel" aria-label={words.title}>
        <Facts
          of={[
            [words.hash, <PlainHash of={of.hash} what="hash" isWhole />],
            [
              words.type,
              <Tag tone={of.is_ride_related ? 'accent' : 'plain'}>{of.function_call_type}</Tag>,
            ],
            [TEXT.finality.name, <Finality height={of.block_height} of={of} />],
            [words.block, <BlockLink height={of.block_height} />],
            [words.index, grouped(of.tx_index)],
            [words.time, <Time of={of.timestamp} />],
            [words.from, <AddressLink of={of.from} isWhole />],
            [words.to, <AddressLink of={of.to} isWhole />],
            [words.amount, <Amount of={of.amount} />],
            [words.fee, <Amount of={of.fee} />],
            [words.nonce, grouped(of.nonce)],
            [words.ride, <RideOf transaction={of} />],
            ...place,
          ]}
        />
      </section>
      <Effects of={`transactions/${of.hash}`} empty={TEXT.effects.none} />
      <Panel title={words.referrers}>
        <Facts
          of={[
            [words.referrer, <Party of={of.referrer} />],
            [words.requestReferrer, <Party of={of.request_referrer} />],
            [words.requestReferrerFee, <Amount of={of.request_referrer_fee} />],
            [words.offerReferrer, <Party of={of.offer_referrer} />],
            [words.offerReferrerFee, <Amount of={of.offer_referrer_fee} />],
          ]}
        />
      </Panel>
    </>
  );
}
