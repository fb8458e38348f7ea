import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useCallback, useState, type ReactElement } from 'react';
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
import { browserWallet, messageOf } from '../browser.ts';
import { Heading } from '../design/heading.tsx';
import { AddressLink, Age, Amount, Answer, Copy, Panel } from '../design/parts.tsx';
import { QrCode } from '../design/qr.tsx';
import { WithService } from '../design/with-service.tsx';
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
      <header>
        <Heading>{id === undefined ? TEXT.deposits.title : DEPOSIT.title}</Heading>
        {id === undefined ? (
          <span className="quiet">{TEXT.deposits.what}</span>
        ) : (
          <Link to="/deposits">{DEPOSIT.all}</Link>
        )}
      </header>
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
  if (session === undefined || isExpired) {
    const signingIn = (
      <SignIn settings={settings} isAgain={isExpired} isForOne={isOne} onSession={setSession} />
    );
    return (
      <>
        <NoTreasury />
        {isOne ? signingIn : <WithCalculator url={depositsUrl}>{signingIn}</WithCalculator>}
      </>
    );
  }
  const account = <Account session={session} onLeave={leave} />;
  return (
    <>
      <NoTreasury />
      {id === undefined ? (
        <WithCalculator url={depositsUrl} deposits={deposits.data?.length}>
          <Address session={session} caller={caller} hubUrl={settings.hub_url} aside={account} />
        </WithCalculator>
      ) : (
        <>
          {account}
          <DepositPanel id={id} caller={caller} account={session.account} />
        </>
      )}
      <Told of={notices} deposits={deposits.data} />
      {id === undefined && <Deposits of={deposits} caller={caller} />}
    </>
  );
}

function WithCalculator(props: {
  readonly url: string;
  /** how many the account has; undefined: nobody is signed in */
  readonly deposits?: number | undefined;
  readonly children: ReactElement;
}): ReactElement {
  return (
    <div className="two">
      {props.children}
      <Calculator depositsUrl={props.url} deposits={props.deposits} />
    </div>
  );
}

/** The account that is signed in. */
function Account(props: { readonly session: Session; readonly onLeave: () => void }): ReactElement {
  return (
    <span className="row">
      <AddressLink of={props.session.account} isBare />
      <button type="button" className="button" onClick={props.onLeave}>
        {TEXT.signIn.leave}
      </button>
    </span>
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
  /** null: the deployment has none */
  readonly hubUrl: string | null;
  readonly aside: ReactElement;
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
    <Panel title={words.address} aside={props.aside}>
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
              {props.hubUrl !== null && <Balance hubUrl={props.hubUrl} account={session.account} />}
              <Checked caller={caller} account={session.account} />
            </div>
          </div>
        )}
      </Answer>
    </Panel>
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
      {isOverdue(data) && (
        <p className="note" role="status">
          {words.overdue}
        </p>
      )}
    </>
  );
}

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
        <button type="button" className="button" onClick={() => (isOn ? stop() : void ask())}>
          {isOn ? words.stop : words.ask}
        </button>
      )}
      {said !== undefined && (
        <span className="quiet" role="status">
          {said}
        </span>
      )}
    </div>
  );
}
