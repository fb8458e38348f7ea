import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState, type ReactElement, type ReactNode } from 'react';
import type { TransactionDetail } from '../../../../schemas/explorer-api/transactions.ts';
import { sentenceOf, transactionTitle } from '../../../../schemas/explorer-api/words.ts';
import { isFinal, judgedOne, type Judged } from '../api/finality.ts';
import type { Ride } from '../api/hub.ts';
import { Heading } from '../design/heading.tsx';
import { later } from '../design/later.tsx';
import {
  AddressLink,
  Amount,
  Answer,
  BlockLink,
  Facts,
  Note,
  Panel,
  PlainHash,
  Tag,
  Time,
  TransactionLink,
  type Named,
} from '../design/parts.tsx';
import { coordinatesText, grouped } from '../format.ts';
import { TEXT } from '../text.ts';
import type { Followed } from '../market/story.tsx';
import { Confirmations } from './confirmations.tsx';
import { Effects, useLogPlace } from './effects.tsx';
import { Said } from './sentence.tsx';
import { CHAIN } from './text.ts';

export function TransactionPage(): ReactElement {
  const { hash } = useParams({ from: '/transactions/$hash' });
  const transaction = useQuery(
    judgedOne<TransactionDetail>(`transactions/${encodeURIComponent(hash)}`),
  );
  return (
    <>
      <Heading
        title={TEXT.transaction.title}
        tab={transaction.data && transactionTitle(transaction.data)}
        error={transaction.error}
      />
      <Answer of={transaction}>{(shown) => <Shown key={hash} of={shown} />}</Answer>
    </>
  );
}

const RideOf = later<{
  readonly hash: string;
  readonly onRide: (followed: Followed | undefined) => void;
}>('ride of a transaction', async () => (await import('../market/story.tsx')).RideOf);

function Shown({ of }: { readonly of: TransactionDetail & Judged }): ReactElement {
  const [followed, setFollowed] = useState<Followed>();
  const [first] = useState(of);
  const words = TEXT.transaction;
  const place = useLogPlace(String(of.block_height));
  const isMoved = of.block_height !== first.block_height || of.tx_index !== first.tx_index;
  return (
    <>
      {isMoved && !isFinal(of.block_height, of) && (
        <Note>{CHAIN.place.moved(grouped(first.block_height), first.tx_index)}</Note>
      )}
      <section className="panel answer" aria-label={CHAIN.answer.title}>
        <Sentence of={of} followed={followed} />
        <Confirmations height={of.block_height} of={of} />
      </section>
      <Panel title={CHAIN.call.title}>
        <Facts of={callFacts(of, followed?.ride)} />
      </Panel>
      {of.is_ride_related && <RideOf hash={of.hash} onRide={setFollowed} />}
      <Effects of={`transactions/${of.hash}`} empty={TEXT.effects.none} />
      <Panel title={CHAIN.place.title}>
        <Facts
          of={[
            [words.hash, <PlainHash of={of.hash} what="hash" isWhole />],
            [words.block, <BlockLink height={of.block_height} />],
            [words.index, grouped(of.tx_index)],
            [words.time, <Time of={of.timestamp} />],
            ...place,
          ]}
        />
      </Panel>
    </>
  );
}

function Sentence(props: {
  readonly of: TransactionDetail & Judged;
  readonly followed: Followed | undefined;
}): ReactElement {
  const { of, followed } = props;
  const words = CHAIN.answer;
  const { final_height: final } = of;
  const isOpen = final !== undefined && of.block_height > final;
  return (
    <p>
      <Said of={sentenceOf(of, followed?.ride)} />
      {isOpen && <span className="warn"> {words.notFinal}</span>}
      {!isOpen && followed?.is_final === false && (
        <span className="warn"> {words.rideNotFinal}</span>
      )}
    </p>
  );
}

function fact<Value>(name: string, value: Value | null, cell: (value: Value) => ReactNode): Named {
  return value !== null && [name, cell(value)];
}

function address(of: string): ReactNode {
  return <AddressLink of={of} isWhole />;
}

function linked(hash: string): ReactNode {
  return <TransactionLink of={hash} isWhole />;
}

/** Parties and arguments of the call; the ride has the coordinates and hashes among them. */
function callFacts(of: TransactionDetail, ride: Ride | undefined): readonly Named[] {
  const words = TEXT.transaction;
  return [
    [words.type, <Tag tone={of.is_ride_related ? 'accent' : 'plain'}>{of.function_call_type}</Tag>],
    ...partiesOf(of),
    BigInt(of.amount) !== 0n && [amountName(of), <Amount of={of.amount} />],
    ...argumentsOf(of, ride),
    fact(CHAIN.call.referrer, of.referrer, address),
    referrerFact(CHAIN.call.requestReferrer, of.request_referrer, of.request_referrer_fee),
    referrerFact(CHAIN.call.offerReferrer, of.offer_referrer, of.offer_referrer_fee),
    [words.fee, <Amount of={of.fee} />],
    [words.nonce, grouped(of.nonce)],
  ];
}

function referrerFact(name: string, referrer: string | null, fee: string): Named {
  return fact(name, referrer, (each) => (
    <span className="row">
      <AddressLink of={each} /> {CHAIN.call.gets} <Amount of={fee} />
    </span>
  ));
}

const WITHOUT_RECEIVER: ReadonlySet<string> = new Set(['RideRequest', 'RideRequestCancel', 'Burn']);

function partiesOf(of: TransactionDetail): readonly Named[] {
  const { function_call_type: type, from, to } = of;
  const { driver, passenger } = TEXT.ride;
  const [sender, receiver] =
    !of.is_ride_related || type === 'RideCancel'
      ? [TEXT.transaction.from, TEXT.transaction.to]
      : type === 'RideOffer'
        ? [driver, passenger]
        : [passenger, driver];
  return [[sender, address(from)], !WITHOUT_RECEIVER.has(type) && [receiver, address(to)]];
}

function amountName({ function_call_type: type }: TransactionDetail): string {
  const isFare = type === 'RideRequest' || type === 'RideOffer' || type === 'RideAcceptance';
  return isFare ? TEXT.ride.fare : TEXT.transaction.amount;
}

function argumentsOf(
  { function_call_type: type }: TransactionDetail,
  ride: Ride | undefined,
): readonly Named[] {
  if (ride === undefined) return [];
  switch (type) {
    case 'RideRequest':
      return [
        [TEXT.ride.pickup, coordinatesText(ride.pickupLocation)],
        [TEXT.ride.dropoff, coordinatesText(ride.dropoffLocation)],
      ];
    case 'RideOffer':
    case 'RideAcceptance':
    case 'RideRequestCancel':
      return [[CHAIN.call.request, linked(ride.rideRequestTxHash)]];
    case 'RidePay':
    case 'RideCancel':
      return [fact(CHAIN.call.acceptance, ride.tripTxHash, linked)];
    default:
      return [];
  }
}
