/** The search box: suggests as one types, offers earlier finds, and opens what is chosen. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import type { Found } from '../../../../schemas/explorer-api/network.ts';
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { one, page } from '../api/explorer.ts';
import { ServiceError } from '../api/service.ts';
import { shortened } from '../format.ts';
import { CHAIN } from '../chain/text.ts';
import { allNames } from '../design/names.ts';
import { TEXT } from '../text.ts';
import { TIME_ZONE } from '../zone.ts';
import { forget, recentHits, remember } from './recent.ts';
import { runNear, timeOf } from './time.ts';
import {
  askedText,
  heightIn,
  isDepositId,
  isOfTron,
  isRunId,
  namedHits,
  type Hit,
} from './typed.ts';

/** Waits for the next key. */
const DEBOUNCE_MS = 120;
const LIST = 'search-list';
/** The address of a hit's page, without the identifier. */
const PATHS = {
  block: '/blocks/',
  transaction: '/transactions/',
  account: '/accounts/',
  run: '/reserve/',
  deposit: '/deposits/',
  type: '/transactions?type=',
} as const;
const FORGET: Hit = { kind: 'forget', identifier: '', name: TEXT.search.forget };

/** By the explorer. A deposit is shown to its owner alone, so any other id can be one. */
async function found(
  path: 'search' | 'search/suggestions',
  typed: string,
  signal = new AbortController().signal,
): Promise<readonly Hit[]> {
  const at = timeOf(typed, Date.now(), TIME_ZONE);
  if (at !== undefined) return runNear(at, signal);
  if (!isRunId(typed)) {
    const q = askedText(typed);
    const { items } = await page<Found>(path, signal, { q });
    const height = heightIn(typed);
    return height === undefined
      ? items
      : items.filter(({ identifier }) => identifier === String(height));
  }
  const identifier = typed.toLowerCase();
  try {
    const { run_at: summary } = await one<RecordedRun>(
      `reserve/runs/${encodeURIComponent(identifier)}`,
      signal,
    );
    return [{ kind: 'run', identifier, summary }];
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== 404) throw error;
    return isDepositId(typed) ? [{ kind: 'deposit', identifier }] : [];
  }
}

/** With the name that its account has now, which may be another since it was found. */
function named(hit: Hit): Hit {
  const { name } = (hit.kind === 'account' && allNames().get(hit.identifier)) || hit;
  return name === undefined ? hit : { ...hit, name };
}

function nothingText(typed: string): string {
  if (timeOf(typed, Date.now(), TIME_ZONE) !== undefined) return CHAIN.search.noRun;
  return isOfTron(typed) ? TEXT.search.tron : TEXT.search.none;
}

/** The text as it was a moment ago. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

export function Search(): ReactElement {
  const navigate = useNavigate();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const [recent, setRecent] = useState<readonly Hit[]>([]);
  const [problem, setProblem] = useState<string>();
  const q = useSettled(text.trim());
  const suggested = useQuery({
    queryKey: ['suggestions', q],
    queryFn: ({ signal }) => found('search/suggestions', q, signal),
    enabled: q !== '',
    refetchInterval: false,
    gcTime: 60_000,
  });
  const typed = text.trim();
  const isRecent = typed === '';
  const asked = q === typed ? (suggested.data ?? []) : [];
  const kept = recent.length === 0 ? [] : [...recent, FORGET];
  const byName = namedHits(typed, allNames());
  const others = asked.filter(({ identifier }) =>
    byName.every((hit) => hit.identifier !== identifier),
  );
  const options = isRecent ? kept : [...byName, ...others];
  const isShown = isOpen && options.length > 0;

  const open = (hit: Hit): void => {
    const { kind, identifier } = hit;
    if (kind === 'forget') {
      forget();
      return setRecent([]);
    }
    remember(kind === 'account' ? { kind, identifier } : hit);
    setText('');
    setOpen(false);
    setProblem(undefined);
    input.current?.blur();
    const path = kind === 'page' ? identifier : PATHS[kind] + encodeURIComponent(identifier);
    void navigate({ href: path });
  };
  const submit = async (): Promise<void> => {
    if (isRecent && !isShown) return;
    const [chosen] = isShown ? options.slice(active) : [];
    if (chosen !== undefined) return open(chosen);
    try {
      const [first] = [
        ...(await found('search', typed)),
        ...(await found('search/suggestions', typed)),
      ];
      if (first === undefined) setProblem(nothingText(typed));
      else open(first);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && options.length > 0) {
      event.preventDefault();
      setOpen(true);
      setActive((active + step + options.length) % options.length);
    } else if (event.key === 'Escape') {
      if (!isShown) input.current?.blur();
      setOpen(false);
      setProblem(undefined);
    }
  };

  return (
    <form
      className="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <input
        ref={input}
        type="search"
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={LIST}
        aria-activedescendant={isShown ? `${LIST}-${active}` : undefined}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        aria-label={TEXT.search.label}
        placeholder={TEXT.search.placeholder}
        value={text}
        onChange={(event) => {
          const { value } = event.currentTarget;
          setText(value);
          setActive(0);
          // Escape empties the box, too
          setOpen(value !== '');
          setProblem(undefined);
        }}
        onFocus={() => {
          setRecent(recentHits().map(named));
          setOpen(true);
        }}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      <ul id={LIST} role="listbox" aria-label={TEXT.search.label} hidden={!isShown}>
        {options.map((option, at) => (
          <li
            key={`${option.kind} ${option.identifier}`}
            id={`${LIST}-${at}`}
            role="option"
            aria-selected={at === active}
            // before the box loses the focus
            onPointerDown={(event) => {
              event.preventDefault();
              open(option);
            }}
            onPointerMove={() => setActive(at)}
          >
            <span className="quiet">{TEXT.search.kinds[option.kind]}</span>
            <strong className={option.name === undefined ? 'mono' : undefined}>
              {option.name ?? shortened(option.identifier)}
            </strong>
            <span className="quiet">{option.summary}</span>
          </li>
        ))}
      </ul>
      {problem !== undefined && (
        <p className="note search-problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
