import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useCallback, useState, type ReactElement, type ReactNode } from 'react';
import type { Hub } from '../../../../packages/wallet/src/index.ts';
import {
  addressCheck,
  listDeposits,
  openAddress,
  type AddressCheck,
  type Caller,
  type Deposit,
} from '../api/deposits.ts';
import { useReserve } from '../api/health.ts';
import { BALANCE, useSubscription } from '../api/hub.ts';
import { ServiceError } from '../api/service.ts';
import type { ConsoleSettings } from '../api/settings.ts';
import { Heading } from '../design/heading.tsx';
import {
  AddressLink,
  Age,
  Amount,
  AnswerPanel,
  Button,
  Note,
  Panel,
  PlainHash,
} from '../design/parts.tsx';
import { QrCode } from '../design/qr.tsx';
import { WithService } from '../design/later.tsx';
import { useWork } from '../design/work.ts';
import { TEXT } from '../text.ts';
import { Calculator } from './calculator.tsx';
import { DepositPanel, OneDeposit } from './deposit.tsx';
import { useNotices, useNotified, type Notices } from './notices.ts';
import {
  isTestnet,
  signInWithKey,
  signInWithWallet,
  signOut,
  storedSession,
  type Session,
} from './session.ts';
import { DEPOSIT } from './text.ts';

/** All deposits of an account, or the one that the address names. */
export function DepositsPage(): ReactElement {
  const { id } = useParams({ strict: false });
  return (
    <>
      <Heading title={id === undefined ? TEXT.nav.deposits : DEPOSIT.title}>
        {id === undefined ? (
          <span className="quiet">{TEXT.deposits.what}</span>
        ) : (
          <Link to="/deposits">{DEPOSIT.all}</Link>
        )}
      </Heading>
      <WithService name="deposits_url">
        {(depositsUrl, settings) => <Page depositsUrl={depositsUrl} settings={settings} id={id} />}
      </WithService>
    </>
  );
}

function Page(props: {
  readonly depositsUrl: string;
  readonly settings: ConsoleSettings;
  /** of the one deposit that is shown */
  readonly id: string | undefined;
}): ReactElement {
  const { depositsUrl, settings, id } = props;
  const isOne = id !== undefined;
  const notices = useNotices();
  const [session, setSession] = useState(() => storedSession(Date.now()));
  const caller: Caller = { url: depositsUrl, token: session?.token ?? '' };
  const deposits = useQuery({
    queryKey: ['deposits', session?.account],
    queryFn: ({ signal }) => listDeposits(caller, signal),
    enabled: session !== undefined,
    refetchIntervalInBackground: notices.isOn,
  });
  const isExpired = deposits.error instanceof ServiceError && deposits.error.status === 401;
  const leave = (): void => {
    signOut();
    setSession(undefined);
  };
  const isOut = session === undefined || isExpired;
  const account = isOut ? null : (
    <span className="row">
      <AddressLink of={session.account} isBare />
      <Button onClick={leave}>{TEXT.signIn.leave}</Button>
    </span>
  );
  const first = isOut ? (
    <SignIn settings={settings} isAgain={isExpired} isForOne={isOne} onSession={setSession} />
  ) : isOne ? (
    <>
      {account}
      <DepositPanel id={id} caller={caller} account={session.account} />
    </>
  ) : (
    <Address session={session} caller={caller} hubUrl={settings.hub_url} aside={account} />
  );
  const known = isOut ? undefined : deposits.data;
  return (
    <>
      <NoTreasury />
      {isOne ? (
        first
      ) : (
        <div className="two">
          {first}
          <Calculator depositsUrl={depositsUrl} deposits={known?.length} />
        </div>
      )}
      {!isOut && <Told of={notices} deposits={known} />}
      {!isOut && !isOne && <Deposits of={deposits} caller={caller} />}
    </>
  );
}

function NoTreasury(): ReactElement | null {
  const { data } = useReserve();
  if (data === undefined || !data.configured || data.available) return null;
  return <Note>{TEXT.deposits.noTreasury}</Note>;
}

function SignIn(props: {
  readonly settings: ConsoleSettings;
  readonly isAgain: boolean;
  /** to see one deposit, which is of one account */
  readonly isForOne: boolean;
  readonly onSession: (session: Session) => void;
}): ReactElement {
  const { hub_url: hubUrl, chain_id: chainId } = props.settings;
  const words = TEXT.signIn;
  return (
    <Panel title={words.title}>
      <div className="inside stack">
        <p>{props.isAgain ? words.expired : words.what}</p>
        {props.isForOne && <p>{DEPOSIT.signIn}</p>}
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
  const { isBusy, problem, run } = useWork();
  const testnet = useQuery({
    queryKey: ['testnet', hub.url],
    queryFn: () => isTestnet(hub),
    refetchInterval: ({ state }) => (state.data === undefined ? 1_000 : false),
  });
  const { ethereum } = window;
  const sign = (begin: () => Promise<Session>): void =>
    void run(async () => onSession(await begin()));
  return (
    <>
      <div className="row">
        {ethereum !== undefined && (
          <Button
            data-main
            disabled={isBusy}
            onClick={() => sign(() => signInWithWallet(hub, ethereum))}
          >
            {words.wallet}
          </Button>
        )}
        {testnet.data === true && (
          <Button disabled={isBusy} onClick={() => sign(() => signInWithKey(hub))}>
            {words.key}
          </Button>
        )}
      </div>
      {ethereum === undefined && <p className="quiet">{words.noWallet}</p>}
      {testnet.data === true && <p className="quiet">{words.keyWhat}</p>}
      {testnet.error !== null && testnet.data === undefined && (
        <Note>
          {TEXT.away.hub.down}. {TEXT.states.downNext}
        </Note>
      )}
      {problem !== undefined && (
        <Note data-tone="bad" role="alert">
          {words.failed(problem)}
        </Note>
      )}
    </>
  );
}

function Address(props: {
  readonly session: Session;
  readonly caller: Caller;
  /** null: the deployment has none */
  readonly hubUrl: string | null;
  readonly aside: ReactNode;
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
    <AnswerPanel title={words.address} aside={props.aside} of={address} words={TEXT.away.deposits}>
      {(shown) => (
        <div className="inside deposit-address">
          <QrCode text={shown} label={words.qr(shown)} />
          <div className="stack">
            <PlainHash of={shown} what="address" isWhole />
            <p>{words.send}</p>
            <p className="quiet">{words.permanent}</p>
            {props.hubUrl !== null && <Balance hubUrl={props.hubUrl} account={session.account} />}
            <Checked caller={caller} account={session.account} />
          </div>
        </div>
      )}
    </AnswerPanel>
  );
}

/** The CLT of the account, as the newest block has them. */
function Balance(props: {
  readonly hubUrl: string;
  readonly account: string;
}): ReactElement | null {
  const { data } = useSubscription<string>(props.hubUrl, BALANCE, { account: props.account });
  if (data === undefined) return null;
  return (
    <p>
      {DEPOSIT.balance}{' '}
      <strong>
        <Amount of={data} />
      </strong>
    </p>
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
      {isOverdue(data) && <Note>{words.overdue}</Note>}
    </>
  );
}

function Deposits(props: {
  readonly of: UseQueryResult<readonly Deposit[]>;
  readonly caller: Caller;
}): ReactElement {
  const words = TEXT.deposits;
  return (
    <AnswerPanel title={words.list} of={props.of} words={TEXT.away.deposits}>
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
    </AnswerPanel>
  );
}

/** Asks the browser to tell when a deposit is credited, and says in words where it refuses. */
function Told(props: {
  readonly of: Notices;
  readonly deposits: readonly Deposit[] | undefined;
}): ReactElement {
  const { permission, isOn, ask, stop } = props.of;
  const navigate = useNavigate();
  const open = useCallback(
    (id: string) => void navigate({ to: '/deposits/$id', params: { id } }),
    [navigate],
  );
  const problem = useNotified(props.deposits, isOn, open);
  const words = DEPOSIT.notices;
  const states = {
    absent: words.absent,
    denied: words.refused,
    default: undefined,
    granted: isOn ? words.on : undefined,
  };
  const said = problem ?? states[permission];
  return (
    <div className="row">
      {permission !== 'absent' && (
        <Button onClick={() => (isOn ? stop() : void ask())}>
          {isOn ? words.stop : words.ask}
        </Button>
      )}
      {said !== undefined && (
        <span className="quiet" role="status">
          {said}
        </span>
      )}
    </div>
  );
}
