import { useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import { useRef, useState, type FormEvent, type ReactElement } from 'react';
import { ServiceError } from '../api/service.ts';
import { messageOf } from '../browser-wallet.ts';
import { entered } from '../design/form.ts';
import {
  Age,
  Amount,
  Answer,
  Facts,
  Panel,
  PlainHash,
  Table,
  Tag,
  Time,
} from '../design/parts.tsx';
import { amountText, shortened } from '../format.ts';
import { TEXT } from '../text.ts';
import {
  ask,
  type Decided,
  type Deposit,
  type Operations,
  type Proposal,
  type Waiting,
} from './api.ts';
import { Known, recordQuery } from './known.tsx';
import { useSession } from './session.ts';
import { decisionText, type Decision } from './signed-texts.ts';
import { OPS } from './text.ts';

const USDT = TEXT.units.usdt;

export function DepositsPage(props: { readonly of: UseQueryResult<Operations> }): ReactElement {
  return (
    <>
      <header>
        <h1>{OPS.deposits.title}</h1>
      </header>
      <Answer of={props.of} words={OPS.away}>
        {({ waiting }) => (
          <Known of={waiting}>
            {({ deposits, has_more: hasMore }) => (
              <>
                <section className="panel" aria-label={OPS.deposits.title}>
                  <WaitingTable deposits={deposits} />
                </section>
                {hasMore && <p className="note">{OPS.deposits.more}</p>}
              </>
            )}
          </Known>
        )}
      </Answer>
    </>
  );
}

export function WaitingTable(props: { readonly deposits: readonly Waiting[] }): ReactElement {
  const words = OPS.deposits;
  return (
    <Table
      label={words.title}
      items={props.deposits}
      keyOf={({ id }) => id}
      empty={words.none}
      columns={[
        {
          name: words.id,
          cell: ({ id }) => (
            <a href={`#/deposits/${id}`} className="hash">
              {id.slice(0, 8)}
            </a>
          ),
        },
        { name: words.reason, cell: ({ reason }) => <Tag tone="warn">{reason ?? ''}</Tag> },
        {
          name: words.arrived,
          cell: ({ amount_usdt: amount }) => <Amount of={amount} unit={USDT} />,
          isNumber: true,
        },
        {
          name: words.credit,
          cell: ({ credit_usdt: credit }) => <Amount of={credit} />,
          isNumber: true,
          isWide: true,
        },
        {
          name: words.approvals,
          cell: ({ approvals }) => (approvals === null ? '' : words.of(approvals)),
          isWide: true,
        },
        {
          name: words.account,
          cell: ({ clt_address: address }) => <PlainHash of={address} what="address" />,
          isWide: true,
        },
        {
          name: words.created,
          cell: ({ created_at: at }) => <Age of={at} />,
          isNumber: true,
          isWide: true,
        },
      ]}
    />
  );
}

export function DepositPage({ id }: { readonly id: string }): ReactElement {
  const { token } = useSession();
  const deposit = useQuery({
    queryKey: ['deposit', token, id],
    queryFn: ({ signal }) => ask<Deposit>(`deposits/${id}`, token, { signal }),
  });
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
              [words.arrived, <Amount of={deposit.amount_usdt} unit={USDT} />],
              [words.fee, <Amount of={deposit.fee_usdt} unit={USDT} />],
              [words.credit, <Amount of={deposit.credit_usdt} />],
              [words.owner, <PlainHash of={deposit.clt_address} what="address" isWhole />],
              [words.address, <PlainHash of={deposit.deposit_address} what="address" isWhole />],
              [words.transaction, <PlainHash of={deposit.tron_tx_id} what="hash" />],
              ...(deposit.mint_tx_hash === null
                ? []
                : [[words.mint, <PlainHash of={deposit.mint_tx_hash} what="hash" />] as const]),
              ...(approvedBy.length === 0
                ? []
                : [[words.approvedBy, approvedBy.map(shortened).join(', ')] as const]),
            ]}
          />
        </Panel>
        <Decide deposit={deposit} />
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
      <Tag tone={tone}>{of.status}</Tag> {of.reason}{' '}
      {of.rejected && <Tag tone="bad">{OPS.deposit.rejected}</Tag>}
    </>
  );
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
        {
          name: words.record,
          cell: ({ topic, partition, offset }) => (
            <a href={`#/records?${recordQuery(topic, partition, offset)}`}>
              {topic}/{partition}@{offset}
            </a>
          ),
        },
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

type Verb = Decision['verb'];
/** A key in this page signs once more when another record came first. */
const TRIES_MAX = 5;

/** The decision, its effect and its text, and then its signature. */
function Decide({ deposit }: { readonly deposit: Deposit }): ReactElement | null {
  const { token, signer } = useSession();
  const queries = useQueryClient();
  const dialog = useRef<HTMLDialogElement>(null);
  const [asked, setAsked] = useState<Decision>();
  const [problem, setProblem] = useState<string>();
  const [done, setDone] = useState<string>();
  const [isSigning, setSigning] = useState(false);
  const words = OPS.decide;
  const path = `deposits/${deposit.id}`;

  const propose = async (
    given: Pick<Decision, 'verb' | 'deposit_id' | 'actor' | 'reason'>,
  ): Promise<Decision> => {
    const body = { verb: given.verb, actor: given.actor, reason: given.reason };
    const { text, ...place } = await ask<Proposal>(`${path}/proposals`, token, { body });
    if (text === null) throw new Error(words.before);
    const decision = { ...given, ...place };
    if (text !== decisionText(decision)) throw new Error(words.strange);
    return decision;
  };
  const trying = async (work: () => Promise<void>): Promise<void> => {
    setProblem(undefined);
    try {
      await work();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const question = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const { nativeEvent: native } = event;
    const pressed = native instanceof SubmitEvent ? native.submitter?.getAttribute('value') : null;
    const verb: Verb = pressed === 'reject' ? 'reject' : 'approve';
    const given = {
      deposit_id: deposit.id,
      actor: entered(form, 'actor'),
      reason: entered(form, 'reason'),
    };
    void trying(async () => {
      setAsked(await propose({ ...given, verb }));
      dialog.current?.showModal();
    });
  };
  const sign = (decision: Decision): Promise<void> =>
    trying(async () => {
      setSigning(true);
      try {
        for (let [tries, made] = [1, decision]; ; tries++) {
          const body = { ...made, signature: await signer.sign(decisionText(made)) };
          try {
            const { appended } = await ask<Decided>(`${path}/decisions`, token, { body });
            setDone(
              appended === null
                ? words.before
                : words.appended(`${appended.topic}/${appended.partition}@${appended.offset}`),
            );
            break;
          } catch (error) {
            const isLate = error instanceof ServiceError && error.code === 'ledger_moved';
            if (!isLate) throw error;
            made = await propose(made);
            setAsked(made);
            // a wallet asks the person, who is told why
            if (!signer.isHere || tries === TRIES_MAX) throw error;
          }
        }
        dialog.current?.close();
        await queries.invalidateQueries();
      } finally {
        setSigning(false);
      }
    });
  const note = (problem ?? done) !== undefined && (
    <p className="note" data-tone={problem === undefined ? 'good' : undefined} role="status">
      {problem ?? done}
    </p>
  );
  if (deposit.effects === null) return done === undefined ? null : <>{note}</>;
  return (
    <Panel title={words.title}>
      <form className="inside stack" onSubmit={question}>
        <label>
          {words.actor}
          <input name="actor" required maxLength={1_000} autoComplete="name" />
        </label>
        <label>
          {words.why}
          <textarea name="reason" required maxLength={1_000} />
        </label>
        <p className="quiet">{words.kept}</p>
        <div className="row">
          <button className="button" data-main value="approve">
            {words.approve}
          </button>
          <button className="button" value="reject">
            {words.reject}
          </button>
        </div>
        {asked === undefined && note}
        {asked !== undefined && !isOpen(dialog.current) && note}
      </form>
      <dialog ref={dialog} aria-label={words.title} onClose={() => setProblem(undefined)}>
        {asked !== undefined && (
          <div className="inside stack">
            <h2>{words.question[asked.verb]}</h2>
            <Facts
              of={[
                [words.effect, deposit.effects[asked.verb]],
                [OPS.deposit.arrived, <Amount of={deposit.amount_usdt} unit={USDT} />],
                [OPS.deposit.fee, <Amount of={deposit.fee_usdt} unit={USDT} />],
                [OPS.deposit.credit, <Amount of={deposit.credit_usdt} />],
                [OPS.deposit.owner, <PlainHash of={deposit.clt_address} what="address" isWhole />],
              ]}
            />
            <p className="quiet">{words.text}</p>
            <pre className="text">{decisionText(asked)}</pre>
            {problem !== undefined && (
              <p className="note" role="alert">
                {problem}
              </p>
            )}
            {isSigning && !signer.isHere && <p className="quiet">{words.asking}</p>}
            <div className="row">
              <button
                type="button"
                className="button"
                data-main
                disabled={isSigning}
                onClick={() => void sign(asked)}
              >
                {words.sign[asked.verb]}
              </button>
              <button type="button" className="button" onClick={() => dialog.current?.close()}>
                {words.cancel}
              </button>
            </div>
          </div>
        )}
      </dialog>
    </Panel>
  );
}

function isOpen(dialog: HTMLDialogElement | null): boolean {
  return dialog?.open === true;
}
