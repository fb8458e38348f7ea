/** A ride from its request to its end. */
import { useQueries } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect, type ReactElement } from 'react';
import type { Transaction } from '../../../../schemas/explorer-api/transactions.ts';
import { isFinal, judgedOne, type Judged } from '../api/finality.ts';
import {
  RIDE,
  STEPS_MAX,
  useSubscription,
  type Coordinates,
  type Ride,
  type RideStep,
  type StepName,
} from '../api/hub.ts';
import {
  AddressLink,
  Amount,
  Answer,
  BlockLink,
  Facts,
  Figures,
  Finality,
  Panel,
  PlainHash,
  Tag,
  Time,
  TransactionLink,
  type Tone,
} from '../design/parts.tsx';
import { Timeline } from '../design/timeline.tsx';
import { WithService } from '../design/later.tsx';
import { coordinatesText } from '../format.ts';
import { Heading, useTab } from '../design/heading.tsx';
import { CHAIN } from '../chain/text.ts';
import { TEXT } from '../text.ts';
import { useCountries } from './world.ts';

const STATUS_TONES: Readonly<Record<Ride['status'], Tone>> = {
  open: 'accent',
  withdrawn: 'plain',
  active: 'accent',
  completed: 'good',
  cancelled: 'plain',
};
const STEP_TONES: Readonly<Record<StepName, Tone>> = {
  requested: 'accent',
  offered: 'plain',
  accepted: 'accent',
  paid: 'good',
  cancelled: 'plain',
};

export function StoryPage(): ReactElement {
  const { hash } = useParams({ from: '/market/trips/$hash' });
  return (
    <>
      <Heading title={TEXT.ride.title}>
        <PlainHash of={hash} what="hash" isWhole />
        <Link to="/market">{TEXT.ride.all}</Link>
      </Heading>
      <WithService name="hub_url">{(hubUrl) => <Story hubUrl={hubUrl} hash={hash} />}</WithService>
    </>
  );
}

function Story(props: { readonly hubUrl: string; readonly hash: string }): ReactElement {
  const { hubUrl, hash } = props;
  const ride = useSubscription<Ride | null>(hubUrl, RIDE, { hash });
  return (
    <Answer of={ride} words={TEXT.away.hub}>
      {(shown) => (shown === null ? <NoRide /> : <Shown ride={shown} />)}
    </Answer>
  );
}

function NoRide(): ReactElement {
  return (
    <div className="nothing" role="status">
      <h2>{TEXT.states.missing}</h2>
      <p>{TEXT.ride.none}</p>
    </div>
  );
}

function Shown({ ride }: { readonly ride: Ride }): ReactElement {
  const words = TEXT.ride;
  useTab(CHAIN.tabs.of(words.title, words.statuses[ride.status]));
  return (
    <>
      <Figures
        of={[
          [words.status, <StatusTag of={ride} />],
          [words.fare, <Amount of={ride.fare} />],
          [words.paid, <Amount of={ride.fare_paid} />],
          ride.status !== 'withdrawn' && [
            ride.status === 'cancelled' ? words.returned : words.left,
            <Amount of={String(BigInt(ride.fare) - BigInt(ride.fare_paid))} />,
          ],
        ]}
      />
      <div className="two">
        <Panel title={words.steps}>
          <div className="inside">
            <RideSteps ride={ride} />
          </div>
        </Panel>
        <Panel title={words.facts}>
          <Facts
            of={[
              [words.passenger, <AddressLink of={ride.passenger} />],
              [
                words.driver,
                ride.driver === null ? (
                  <span className="quiet">{words.noDriver}</span>
                ) : (
                  <AddressLink of={ride.driver} />
                ),
              ],
              [words.pickup, <Place of={ride.pickupLocation} />],
              [words.dropoff, <Place of={ride.dropoffLocation} />],
            ]}
          />
        </Panel>
      </div>
    </>
  );
}

/** A ride as the hub says it, and whether all its steps are final. */
export interface Followed {
  readonly ride: Ride;
  readonly is_final: boolean;
}

/** The ride that a transaction is a step of; what is known of it goes to `onRide`. */
export function RideOf(props: {
  readonly hash: string;
  readonly onRide: (followed: Followed | undefined) => void;
}): ReactElement {
  return (
    <Panel
      title={TEXT.ride.title}
      aside={
        <Link to="/market/trips/$hash" params={{ hash: props.hash }}>
          {TEXT.market.story}
        </Link>
      }
    >
      <WithService name="hub_url">
        {(hubUrl) => <Following hubUrl={hubUrl} {...props} />}
      </WithService>
    </Panel>
  );
}

function Following(
  props: Parameters<typeof RideOf>[0] & { readonly hubUrl: string },
): ReactElement {
  const { hubUrl, hash, onRide } = props;
  const ride = useSubscription<Ride | null>(hubUrl, RIDE, { hash });
  useEffect(() => {
    if (ride.data === null) onRide(undefined);
  }, [ride.data, onRide]);
  return (
    <Answer of={ride} words={TEXT.away.hub}>
      {(shown) => (shown === null ? <NoRide /> : <Followable ride={shown} onRide={onRide} />)}
    </Answer>
  );
}

function Followable(props: {
  readonly ride: Ride;
  readonly onRide: (followed: Followed | undefined) => void;
}): ReactElement {
  const { ride, onRide } = props;
  const areFinal = useSteps(ride).every(({ is_final }) => is_final);
  useEffect(() => onRide({ ride, is_final: areFinal }), [ride, areFinal, onRide]);
  return (
    <div className="inside">
      <p>
        <StatusTag of={ride} />
      </p>
      <RideSteps ride={ride} />
    </div>
  );
}

/** Amber until all steps are final. */
export function StatusTag({ of }: { readonly of: Ride }): ReactElement {
  const steps = useSteps(of);
  const areFinal = steps.every(({ is_final }) => is_final);
  return (
    <>
      <Tag tone={areFinal ? STATUS_TONES[of.status] : 'warn'}>{TEXT.ride.statuses[of.status]}</Tag>
      {!areFinal && <span className="unit"> {TEXT.ride.open}</span>}
    </>
  );
}

function Place({ of }: { readonly of: Coordinates }): ReactElement {
  const country = useCountries()(of);
  return <>{[coordinatesText(of), ...(country === undefined ? [] : [country])].join(', ')}</>;
}

/** A query of a transaction. */
interface Looked {
  readonly state: { readonly data: (Transaction & Judged) | undefined };
}

interface Step {
  readonly is: RideStep;
  /** undefined: the explorer has it not, or in another block */
  readonly transaction: (Transaction & Judged) | undefined;
  readonly is_final: boolean;
}

function isSettled(transaction: (Transaction & Judged) | undefined): boolean {
  return transaction !== undefined && isFinal(transaction.block_height, transaction);
}

/** The steps as the explorer has them: it knows which are final. */
function useSteps({ steps }: Ride): readonly Step[] {
  const transactions = useQueries({
    queries: steps.map(({ tx_hash: hash }) => ({
      ...judgedOne<Transaction>(`transactions/${hash}`),
      // a block of another branch may replace it until it is final
      refetchInterval: ({ state }: Looked) => (isSettled(state.data) ? false : 1_000),
    })),
  });
  return steps.map((is, at) => {
    const found = transactions[at]?.data;
    const transaction = found?.block_height === is.block_height ? found : undefined;
    return { is, transaction, is_final: isSettled(transaction) };
  });
}

/** With the time, the sender and the finality of each step, from the explorer. */
export function RideSteps({ ride }: { readonly ride: Ride }): ReactElement {
  const steps = useSteps(ride);
  const offers = ride.steps.filter(({ step }) => step === 'offered').length;
  return (
    <>
      {offers >= STEPS_MAX && <p className="quiet">{TEXT.ride.manyOffers(STEPS_MAX)}</p>}
      <Timeline
        label={TEXT.ride.steps}
        next={nextOf(ride)}
        of={steps.map(({ is: step, transaction, is_final: isDone }) => ({
          key: step.tx_hash,
          tone: isDone ? STEP_TONES[step.step] : 'warn',
          name: TEXT.ride.stepNames[step.step],
          amount: step.amount === null ? undefined : <Amount of={step.amount} />,
          facts: <StepFacts step={step} transaction={transaction} />,
        }))}
      />
    </>
  );
}

function StepFacts(props: {
  readonly step: RideStep;
  readonly transaction: Step['transaction'];
}): ReactElement {
  const { step, transaction } = props;
  return (
    <>
      <TransactionLink of={step.tx_hash} />
      <span>
        {TEXT.ride.block} <BlockLink height={step.block_height} />
      </span>
      {transaction === undefined ? (
        <span>{TEXT.ride.noTime}</span>
      ) : (
        <>
          <Finality height={step.block_height} of={transaction} isShort />
          <Time of={transaction.timestamp} />
          <span>
            {TEXT.ride.by} <AddressLink of={transaction.from} isBare />
          </span>
        </>
      )}
    </>
  );
}

function nextOf({ status }: Ride): string | undefined {
  if (status === 'open') return TEXT.ride.nextOpen;
  return status === 'active' ? TEXT.ride.nextActive : undefined;
}
