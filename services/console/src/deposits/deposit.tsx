/** One deposit: its id and link, its steps, and the reason why it waits. */
import { useQuery } from '@tanstack/react-query';
import { Link, useRouter } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import {
  timelineOf,
  type Caller,
  type Deposit,
  type DepositEvent,
  type Timeline as History,
} from '../api/deposits.ts';
import { ServiceError } from '../api/service.ts';
import { useSettings } from '../api/settings.ts';
import { useNow } from '../design/clock.ts';
import { useMark } from '../design/lamp.tsx';
import {
  Amount,
  Answer,
  BlockLink,
  Copy,
  Panel,
  PlainHash,
  Tag,
  Time,
  TransactionLink,
  type Tone,
} from '../design/parts.tsx';
import { Timeline } from '../design/timeline.tsx';
import { durationText, localTime, shortened, wordFor } from '../format.ts';
import { TEXT } from '../text.ts';
import { useQueue } from './calculator.tsx';
import { DEPOSIT } from './text.ts';
import { markOf, waitOf, type Wait } from './wait.ts';

/** In the list of the account's deposits. */
export function OneDeposit(props: {
  readonly deposit: Deposit;
  readonly caller: Caller;
  readonly isOpenFirst: boolean;
}): ReactElement {
  const { deposit } = props;
  const [isOpen, setOpen] = useState(props.isOpenFirst);
  return (
    <details
      className="deposit"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <Amount of={deposit.amount_usdt} unit={TEXT.units.usdt} />
        <StatusTag of={deposit.status} />
        <span className="quiet">
          <Time of={deposit.created_at} />
        </span>
      </summary>
      {isOpen && <Story id={deposit.id} caller={props.caller} />}
    </details>
  );
}

/** By its own address. */
export function DepositPanel(props: {
  readonly id: string;
  readonly caller: Caller;
  readonly account: string;
}): ReactElement {
  const timeline = useTimeline(props.id, props.caller);
  const { data, error } = timeline;
  useMark(error === null && data !== undefined ? markOf(data) : undefined);
  if (error instanceof ServiceError && error.status === 404)
    return (
      <Panel title={DEPOSIT.title}>
        <p className="nothing" role="alert">
          {DEPOSIT.notYours(shortened(props.account))}
        </p>
      </Panel>
    );
  return (
    <Panel
      title={DEPOSIT.title}
      aside={
        data !== undefined && (
          <span className="row">
            <Amount of={data.gross} unit={TEXT.units.usdt} />
            <StatusTag of={data.status} />
          </span>
        )
      }
    >
      <Story id={props.id} caller={props.caller} />
    </Panel>
  );
}

const TONES: Readonly<Record<string, Tone>> = {
  confirmed: 'accent',
  mint_requested: 'accent',
  credited: 'good',
  needs_manual: 'warn',
};

function StatusTag({ of }: { readonly of: string }): ReactElement {
  return <Tag tone={TONES[of] ?? 'plain'}>{wordFor(TEXT.deposits.statuses, of)}</Tag>;
}

function useTimeline(id: string, caller: Caller) {
  return useQuery({
    queryKey: ['timeline', caller.token, id],
    queryFn: ({ signal }) => timelineOf(caller, id, signal),
    // a tab that is hidden still shows its icon
    refetchIntervalInBackground: true,
  });
}

function Story(props: { readonly id: string; readonly caller: Caller }): ReactElement {
  const timeline = useTimeline(props.id, props.caller);
  return (
    <div className="inside">
      <p className="row quiet">
        {TEXT.deposits.id} <PlainHash of={props.id} what="id" isWhole />
        <DepositLink id={props.id} />
      </p>
      <Answer of={timeline} words={TEXT.away.deposits}>
        {(history) => <Steps of={history} depositsUrl={props.caller.url} />}
      </Answer>
    </div>
  );
}

function Steps(props: { readonly of: History; readonly depositsUrl: string }): ReactElement {
  const wait = waitOf(props.of, useQueue(props.depositsUrl));
  return (
    <Timeline
      label={TEXT.deposits.history}
      next={wait === undefined ? undefined : <WaitText of={wait} />}
      of={props.of.events.map((event) => ({
        key: `${event.topic} ${event.partition} ${event.offset} ${event.event}`,
        tone: EVENT_TONES[event.event] ?? 'plain',
        name: nameOf(event),
        amount: amountOf(event),
        facts: <EventFacts of={event} />,
      }))}
    />
  );
}

function WaitText({ of: { reasons, until } }: { readonly of: Wait }): ReactElement {
  const now = useNow();
  const words = DEPOSIT.until;
  return (
    <>
      {reasons.join(' ')} {until === 'person' && words.person}
      {until !== undefined && until !== 'person' && (
        <time dateTime={until.at} title={TEXT.time.utc(until.at)}>
          {words.time(localTime(until.at), durationText(leftSeconds(until.at, now)))}
        </time>
      )}
    </>
  );
}

function leftSeconds(at: string, now: number): number {
  return Math.max(0, Math.round((Date.parse(at) - now) / 1_000));
}

/** The address in the console, to keep or to send: only the owner sees the deposit there. */
function DepositLink({ id }: { readonly id: string }): ReactElement {
  const { href } = useRouter().buildLocation({ to: '/deposits/$id', params: { id } });
  return (
    <span className="row">
      <Link to="/deposits/$id" params={{ id }}>
        {DEPOSIT.link}
      </Link>
      <Copy text={location.origin + href} what="link" />
    </span>
  );
}

const EVENT_TONES: Readonly<Record<string, Tone>> = {
  TransferObserved: 'accent',
  DepositConfirmed: 'accent',
  DepositHeld: 'warn',
  DepositApproved: 'good',
  DepositRejected: 'bad',
  MintIntended: 'accent',
  MintCredited: 'good',
  MintDead: 'bad',
  MintVoided: 'warn',
  RefundRecorded: 'plain',
};

function nameOf({ event, reason }: DepositEvent): string {
  const { events, reasons } = TEXT.deposits;
  const name = wordFor(events, event);
  return reason === null ? name : `${name}: ${wordFor(reasons, reason)}`;
}

function amountOf({ event, gross, credit }: DepositEvent): ReactElement | undefined {
  if (event === 'TransferObserved' && gross !== null)
    return <Amount of={gross} unit={TEXT.units.usdt} />;
  return credit === null ? undefined : <Amount of={credit} />;
}

function EventFacts({ of }: { readonly of: DepositEvent }): ReactElement {
  const { chain, tx_hash: txHash, block_height: blockHeight } = of;
  const words = TEXT.deposits;
  return (
    <>
      {txHash !== null &&
        (chain === 'clt' ? <TransactionLink of={txHash} /> : <TronHash of={txHash} />)}
      {blockHeight !== null && (
        <span>
          {TEXT.ride.block}{' '}
          {chain === 'clt' ? <BlockLink height={Number(blockHeight)} /> : blockHeight}
        </span>
      )}
      {of.fee !== null && (
        <span>
          {words.fee} <Amount of={of.fee} unit={TEXT.units.usdt} />
        </span>
      )}
      <Time of={of.at} />
      <span>{words.position(of.topic, of.partition, of.offset)}</span>
    </>
  );
}

/** A transaction of TRON, with a link where this deployment knows an explorer that has it. */
function TronHash({ of }: { readonly of: string }): ReactElement {
  const url = useSettings().data?.tron_url ?? null;
  return (
    <span>
      {TEXT.deposits.tron} <PlainHash of={of} what="hash" />{' '}
      {url !== null && (
        <a href={url + of} target="_blank" rel="noreferrer">
          {DEPOSIT.tron}
        </a>
      )}
    </span>
  );
}
