/** The search box: suggests as one types, and opens what is chosen. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import type { Found } from '../../../schemas/explorer-api/network.ts';
import { page } from './api/explorer.ts';
import { shortened } from './format.ts';
import { TEXT } from './text.ts';

/** Waits for the next key. */
const DEBOUNCE_MS = 120;
const LIST = 'search-list';

async function found(path: string, q: string, signal?: AbortSignal): Promise<readonly Found[]> {
  const { items } = await page<Found>(path, signal ?? new AbortController().signal, { q });
  return items;
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
  const [problem, setProblem] = useState<string>();
  const q = useSettled(text.trim());
  const suggested = useQuery({
    queryKey: ['suggestions', q],
    queryFn: ({ signal }) => found('search/suggestions', q, signal),
    enabled: q !== '',
    refetchInterval: false,
    gcTime: 60_000,
  });
  const isCurrent = q !== '' && q === text.trim();
  const options = isCurrent ? (suggested.data ?? []) : [];
  const isShown = isOpen && options.length > 0;

  const open = ({ kind, identifier }: Found): void => {
    setText('');
    setOpen(false);
    setProblem(undefined);
    input.current?.blur();
    if (kind === 'block') void navigate({ to: '/blocks/$id', params: { id: identifier } });
    else if (kind === 'transaction')
      void navigate({ to: '/transactions/$hash', params: { hash: identifier } });
    else void navigate({ to: '/accounts/$address', params: { address: identifier } });
  };
  const submit = async (): Promise<void> => {
    const wanted = text.trim();
    if (wanted === '') return;
    const [chosen] = isShown ? options.slice(active) : [];
    if (chosen !== undefined) return open(chosen);
    try {
      const [first] = [
        ...(await found('search', wanted)),
        ...(await found('search/suggestions', wanted)),
      ];
      if (first === undefined) setProblem(TEXT.search.none);
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
          setText(event.currentTarget.value);
          setActive(0);
          setOpen(true);
          setProblem(undefined);
        }}
        onFocus={() => setOpen(true)}
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
            <strong className="mono">{shortened(option.identifier)}</strong>
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
