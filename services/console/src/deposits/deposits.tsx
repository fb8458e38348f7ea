import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import type { Hub } from '../../../../packages/wallet/src/index.ts';
import {
  addressCheck,
  listDeposits,
  openAddress,
  timelineOf,
  type AddressCheck,
  type Caller,
  type Deposit,
  type DepositEvent,
  type Timeline as History,
} from '../api/deposits.ts';
import { useReserve } from '../api/health.ts';
import { ServiceError } from '../api/service.ts';
import type { ConsoleSettings } from '../api/settings.ts';
import {
  AddressLink,
  Age,
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
import { QrCode } from '../design/qr.tsx';
import { Timeline } from '../design/timeline.tsx';
import { WithService } from '../design/with-service.tsx';
import { amountText } from '../format.ts';
import { browserWallet, messageOf } from '../browser.ts';
import { Heading } from '../design/heading.tsx';
import { TEXT } from '../text.ts';
import { Calculator, turnText, useQueue } from './calculator.tsx';
import { turnOf, type Queue } from './estimate.ts';
import {
  isTestnet,
  signInWithKey,
  signInWithWallet,
  signOut,
  storedSession,
  type Session,
} from './session.ts';

export function DepositsPage(): ReactElement {
  return (
    <>
      <header>
        <Heading>{TEXT.deposits.title}</Heading>
        <span className="quiet">{TEXT.deposits.what}</span>
      </header>
      <WithService name="deposits_url">
        {(depositsUrl, settings) => <Page depositsUrl={depositsUrl} settings={settings} />}
      </WithService>
    </>
  );
}

function Page(props: {
  readonly depositsUrl: string;
  readonly settings: ConsoleSettings;
}): ReactElement {
  const { depositsUrl, settings } = props;
  const [session, setSession] = useState(() => storedSession(Date.now()));
  const caller: Caller = { url: depositsUrl, token: session?.token ?? '' };
  const deposits = useQuery({
    queryKey: ['deposits', session?.account],
    queryFn: ({ signal }) => listDeposits(caller, signal),
    enabled: session !== undefined,
  });
  const isExpired = deposits.error instanceof ServiceError && deposits.error.status === 401;
  const leave = (): void => {
    signOut();
    setSession(undefined);
  };
  return (
    <>
      <NoTreasury />
      <div className="two">
        {session === undefined || isExpired ? (
          <SignIn settings={settings} isAgain={isExpired} onSession={setSession} />
        ) : (
          <Address session={session} caller={caller} onLeave={leave} />
        )}
        <Calculator depositsUrl={depositsUrl} deposits={deposits.data?.length} />
      </div>
      {session !== undefined && !isExpired && <Deposits of={deposits} caller={caller} />}
    </>
  );
}

function NoTreasury(): ReactElement | null {
  const { data } = useReserve();
  if (data === undefined || !data.configured || data.available) return null;
  return (
    <p className="note" role="status">
      {TEXT.deposits.noTreasury}
    </p>
  );
}

function SignIn(props: {
  readonly settings: ConsoleSettings;
  readonly isAgain: boolean;
  readonly onSession: (session: Session) => void;
}): ReactElement {
  const { hub_url: hubUrl, chain_id: chainId } = props.settings;
  const words = TEXT.signIn;
  return (
    <Panel title={words.title}>
      <div className="inside stack">
        <p>{props.isAgain ? words.expired : words.what}</p>
        {hubUrl === null || chainId === null ? (
          <p className="quiet">{TEXT.states.notSetUpNext.hub_url}</p>
        ) : (
          <Ways hub={{ url: `${hubUrl}/graphql`, chainId }} onSession={props.onSession} />
        )}
      </div>
    </Panel>
  );
}

function Ways(props: {
  readonly hub: Hub;
  readonly onSession: (session: Session) => void;
}): ReactElement {
  const { hub, onSession } = props;
  const words = TEXT.signIn;
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const testnet = useQuery({
    queryKey: ['testnet', hub.url],
    queryFn: () => isTestnet(hub),
    refetchInterval: ({ state }) => (state.data === undefined ? 1_000 : false),
  });
  const ethereum = browserWallet();
  const sign = async (begin: () => Promise<Session>): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      onSession(await begin());
    } catch (error) {
      setProblem(words.failed(messageOf(error)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <div className="row">
        {ethereum !== undefined && (
          <button
            type="button"
            className="button"
            data-main
            disabled={isBusy}
            onClick={() => void sign(() => signInWithWallet(hub, ethereum))}
          >
            {words.wallet}
          </button>
        )}
        {testnet.data === true && (
          <button
            type="button"
            className="button"
            disabled={isBusy}
            onClick={() => void sign(() => signInWithKey(hub))}
          >
            {words.key}
          </button>
        )}
      </div>
      {ethereum === undefined && <p className="quiet">{words.noWallet}</p>}
      {testnet.data === true && <p className="quiet">{words.keyWhat}</p>}
      {testnet.error !== null && testnet.data === undefined && (
        <p className="note" role="status">
          {TEXT.away.hub.down}. {TEXT.states.downNext}
        </p>
      )}
      {problem !== undefined && (
        <p className="note" data-tone="bad" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

function Address(props: {
  readonly session: Session;
  readonly caller: Caller;
  readonly onLeave: () => void;
}): ReactElement {
  const { session, caller } = props;
  const words = TEXT.deposits;
  const address = useQuery({
    queryKey: ['deposit address', session.account],
    queryFn: ({ signal }) => openAddress(caller, signal),
    // it never changes, but each call makes transfers to it found sooner for a while
    staleTime: 60_000,
    refetchInterval: ({ state }) => (state.data === undefined ? 1_000 : 60_000),
  });
  return (
    <Panel
      title={words.address}
      aside={
        <span className="row">
          <AddressLink of={session.account} isBare />
          <button type="button" className="button" onClick={props.onLeave}>
            {TEXT.signIn.leave}
          </button>
        </span>
      }
    >
      <Answer of={address} words={TEXT.away.deposits}>
        {(shown) => (
          <div className="inside deposit-address">
            <QrCode text={shown} label={words.qr(shown)} />
            <div className="stack">
              <span className="hash">
                <span>{shown}</span>
                <Copy text={shown} what="address" />
              </span>
              <p>{words.send}</p>
              <p className="quiet">{words.permanent}</p>
              <Checked caller={caller} account={session.account} />
            </div>
          </div>
        )}
      </Answer>
    </Panel>
  );
}

/**
 * A watcher with many addresses or a small budget of requests checks each some time after it is
 * due, and its passes may be an hour apart: the words call it no fault. An address that is opened
 * again is due anew, so its last check counts more than the time for which the next one is due.
 */
const CHECKED_MS = 120_000;
const OVERDUE_MS = 15_000;

function isOverdue({ checked_ms_ago: checkedMsAgo, overdue_ms: overdueMs }: AddressCheck): boolean {
  return (
    Number(overdueMs) > OVERDUE_MS && (checkedMsAgo === null || Number(checkedMsAgo) > CHECKED_MS)
  );
}

/** When the address was last checked for transfers, which is how they are found. */
function Checked(props: {
  readonly caller: Caller;
  readonly account: string;
}): ReactElement | null {
  const { data } = useQuery({
    queryKey: ['address check', props.account],
    queryFn: ({ signal }) => addressCheck(props.caller, signal),
  });
  const words = TEXT.deposits;
  if (data === undefined) return null;
  return (
    <>
      {data.checked_at !== null && (
        <p className="quiet">
          {words.checked} <Age of={data.checked_at} /> {words.ago}
        </p>
      )}
      {isOverdue(data) && (
        <p className="note" role="status">
          {words.overdue}
        </p>
      )}
    </>
  );
}

const TONES: Readonly<Record<string, Tone>> = {
  confirmed: 'accent',
  mint_requested: 'accent',
  credited: 'good',
  needs_manual: 'warn',
};

function Deposits(props: {
  readonly of: UseQueryResult<readonly Deposit[]>;
  readonly caller: Caller;
}): ReactElement {
  const words = TEXT.deposits;
  return (
    <Panel title={words.list}>
      <Answer of={props.of} words={TEXT.away.deposits}>
        {(deposits) =>
          deposits.length === 0 ? (
            <p className="nothing">{words.none}</p>
          ) : (
            deposits.map((deposit, at) => (
              <OneDeposit
                key={deposit.id}
                deposit={deposit}
                caller={props.caller}
                isOpenFirst={at === 0 || deposit.status !== 'credited'}
              />
            ))
          )
        }
      </Answer>
    </Panel>
  );
}

/** A status that this page does not know is shown as it is. */
function StatusTag({ of }: { readonly of: string }): ReactElement {
  const known: Readonly<Record<string, string>> = TEXT.deposits.statuses;
  return <Tag tone={TONES[of] ?? 'plain'}>{known[of] ?? of}</Tag>;
}

function OneDeposit(props: {
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
      {isOpen && <Events id={deposit.id} caller={props.caller} />}
    </details>
  );
}

function Events(props: { readonly id: string; readonly caller: Caller }): ReactElement {
  const timeline = useQuery({
    queryKey: ['timeline', props.id],
    queryFn: ({ signal }) => timelineOf(props.caller, props.id, signal),
  });
  const queue = useQueue(props.caller.url);
  return (
    <div className="inside">
      <p className="row quiet">
        {TEXT.deposits.id} <PlainHash of={props.id} what="id" isWhole />
      </p>
      <Answer of={timeline} words={TEXT.away.deposits}>
        {(history) => (
          <Timeline
            label={TEXT.deposits.history}
            next={
              [nextOf(history), turnOfDeposit(history, queue)].filter(Boolean).join(' ') ||
              undefined
            }
            of={history.events.map((event) => ({
              key: `${event.topic} ${event.partition} ${event.offset} ${event.event}`,
              tone: EVENT_TONES[event.event] ?? 'plain',
              name: nameOf(event),
              amount: <EventAmount of={event} />,
              facts: <EventFacts of={event} />,
            }))}
          />
        )}
      </Answer>
    </div>
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
  const known: Readonly<Record<string, string>> = events;
  const why: Readonly<Record<string, string>> = reasons;
  const name = known[event] ?? event;
  return reason === null ? name : `${name}: ${why[reason] ?? reason}`;
}

function EventAmount({
  of: { event, gross, credit },
}: {
  readonly of: DepositEvent;
}): ReactElement {
  if (event === 'TransferObserved' && gross !== null)
    return <Amount of={gross} unit={TEXT.units.usdt} />;
  return credit === null ? <></> : <Amount of={credit} />;
}

function EventFacts({ of }: { readonly of: DepositEvent }): ReactElement {
  const { chain, tx_hash: txHash, block_height: blockHeight } = of;
  const words = TEXT.deposits;
  return (
    <>
      {txHash !== null &&
        (chain === 'clt' ? (
          <TransactionLink of={txHash} />
        ) : (
          <span>
            {words.tron} <PlainHash of={txHash} what="hash" />
          </span>
        ))}
      {blockHeight !== null && (
        <span>
          {TEXT.ride.block}{' '}
          {chain === 'clt' ? (
            <BlockLink height={Number(blockHeight)} />
          ) : (
            <span>{blockHeight}</span>
          )}
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

/** When it will be minted, in words; undefined where it does not wait for that. */
function turnOfDeposit(
  { credit, waiting_before: before, waiting_for: waitingFor }: History,
  queue: Queue | undefined,
): string | undefined {
  if (before === null || before === undefined) return undefined;
  const { outcome, at } = turnOf(queue, BigInt(credit), before);
  const isLate = waitingFor === 'rolling_cap';
  const text = turnText({ outcome, at: isLate ? at : undefined });
  return `${TEXT.deposits.before(amountText(BigInt(before)))} ${text}.`;
}

/** The reason why the deposit waits, in words. */
function nextOf({ status, waiting_for: waitingFor, reason }: History): string | undefined {
  const { next, reasons } = TEXT.deposits;
  const why: Readonly<Record<string, string>> = reasons;
  switch (status) {
    case 'confirmed':
      return waitingFor === 'rolling_cap' ? next.rollingCap : next.confirmed;
    case 'mint_requested':
      return next.mintRequested;
    case 'needs_manual':
      return waitingFor === 'awaiting_approval'
        ? next.person(why[reason ?? ''] ?? reason ?? '')
        : next.rejected;
    case 'credited':
      return undefined;
    default:
      // a status to come
      return undefined;
  }
}
