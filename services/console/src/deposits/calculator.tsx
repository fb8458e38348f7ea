/** Reckons the credit of a deposit before it is sent, by the policy in force. */
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';

import { policyInForce, type Policy } from '../api/deposits.ts';
import { Age, Amount, Answer, Facts, Panel, Tag } from '../design/parts.tsx';
import { baseUnits } from '../format.ts';
import { TEXT } from '../text.ts';
import { estimate, type Estimate } from './estimate.ts';

export function Calculator(props: {
  readonly depositsUrl: string;
  /** how many deposits the account has; undefined: nobody is signed in */
  readonly deposits: number | undefined;
}): ReactElement {
  const policy = useQuery({
    queryKey: ['policy', props.depositsUrl],
    queryFn: ({ signal }) => policyInForce(props.depositsUrl, signal),
    refetchInterval: 10_000,
  });
  const words = TEXT.calculator;
  return (
    <Panel
      title={words.title}
      aside={
        policy.data !== undefined && (
          <span className="quiet">
            {words.policy(policy.data.version)} <Age of={policy.data.in_force_since} />
          </span>
        )
      }
    >
      <Answer of={policy} words={TEXT.away.deposits}>
        {(inForce) => <Shown policy={inForce} deposits={props.deposits} />}
      </Answer>
    </Panel>
  );
}

function Shown(props: {
  readonly policy: Policy;
  readonly deposits: number | undefined;
}): ReactElement {
  const { limits } = props.policy;
  const words = TEXT.calculator;
  const [text, setText] = useState('100');
  const [chosen, setFirst] = useState<boolean>();
  const isFirst = chosen ?? (props.deposits ?? 0) === 0;
  const gross = baseUnits(text);
  return (
    <>
      <div className="inside calculator">
        <label>
          <span>{words.amount}</span>
          <input
            inputMode="decimal"
            autoComplete="off"
            value={text}
            aria-invalid={gross === undefined}
            onChange={({ target }) => setText(target.value)}
          />
        </label>
        <label className="check-box">
          <input
            type="checkbox"
            checked={isFirst}
            onChange={({ target }) => setFirst(target.checked)}
          />
          <span>{words.first}</span>
        </label>
      </div>
      <output className="calculated">
        {gross === undefined ? (
          <p className="inside bad">{words.unreadable}</p>
        ) : (
          <Outcome of={estimate(limits, gross, isFirst)} />
        )}
      </output>
      <p className="inside quiet">
        {words.limits} <Amount of={String(limits.minimum)} /> {words.to}{' '}
        <Amount of={String(limits.single_cap)} />. {words.rolling}{' '}
        <Amount of={String(limits.rolling_cap)} /> {words.rollingEnd}
      </p>
    </>
  );
}

function Outcome({ of: { fee, credit, outcome } }: { readonly of: Estimate }): ReactElement {
  const words = TEXT.calculator;
  return (
    <Facts
      of={[
        [words.fee, <Amount of={String(fee)} unit={TEXT.units.usdt} />],
        [
          words.credit,
          <strong>
            <Amount of={String(credit)} />
          </strong>,
        ],
        [
          words.outcome,
          <Tag tone={outcome === 'minted' ? 'good' : 'warn'}>{words.outcomes[outcome]}</Tag>,
        ],
      ]}
    />
  );
}
