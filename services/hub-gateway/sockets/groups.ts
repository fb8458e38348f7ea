/**
 * Open subscriptions. All that ask the same are one group: it is executed once, made text once, and that text goes to each member. A group is read again when news
 * touch it, one reading at a time, so that many changes at once are one; and its members hear of it only when the text is another.
 */
import { execute, type DocumentNode, type ExecutionResult, type GraphQLSchema } from 'graphql';
import { Refused, shownError, type Formatting } from '../graphql/errors.ts';
import type { Hub, HubContext, News } from '../hub.ts';
import { Truncation } from '../graphql/truncation.ts';

/** Readings at once: the connections that are left answer queries. */
const READINGS_MAX = 4;
/** After so many, whoever else wants something has a turn. */
const DELIVERIES_TOGETHER = 250;

const FULL: ExecutionResult = {
  errors: [
    new Refused('RATE_LIMITED', 'too many different subscriptions are open: try again later'),
  ],
};

export interface Operation {
  readonly document: DocumentNode;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The newest result of a group: `text` is the payload of a `next`, `bytes` the same once it is wanted. */
export class Body {
  readonly text: string;
  #bytes: Buffer | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(this.text));
  }
}

/** Who gets the results. Must not throw. */
export interface Member {
  deliver(body: Body): void;
}

export interface GroupsOptions {
  readonly schema: GraphQLSchema;
  readonly hub: Hub;
  readonly formatting: Formatting;
  /** of the newest results of all groups together; beyond, no group is added */
  readonly subscription_bytes_max: number;
}

/** How to join a group whose result is known; each is joined or left, or the group stays for ever. */
export interface Entrance {
  /** delivers the newest result at once, and each that follows */
  join(member: Member): void;
  newest(): Body | undefined;
  leave(member: Member): void;
}

interface Group {
  readonly key: string;
  readonly operation: Operation;
  readonly members: Set<Member>;
  /** who waits for the first result, and is no member yet */
  entering: number;
  /** empty until it was read: then anything may touch it */
  news: News[];
  body: Body | undefined;
  first: Promise<ExecutionResult | undefined>;
  reading: boolean;
  /** news came while it was read */
  again: boolean;
  /** reading it again went wrong */
  failed: boolean;
}

export class Groups {
  readonly #options: GroupsOptions;
  readonly #groups = new Map<string, Group>();
  readonly #waiting: Group[] = [];
  #readings = 0;
  #deliveries = 0;
  /** of the newest results of all groups */
  #characters = 0;

  constructor(options: GroupsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#groups.size;
  }

  /** How many results were handed to members so far. */
  get deliveries(): number {
    return this.#deliveries;
  }

  /** Reads the group of this key, which names the operation. Gives how to join it, or the result that says why there is nothing to join. */
  async enter(key: string, operation: Operation): Promise<Entrance | ExecutionResult> {
    const group = this.#groups.get(key) ?? this.#begin(key, operation);
    group.entering++;
    const failed = await group.first;
    if (failed === undefined) return this.#entrance(group);
    group.entering--;
    this.#drop(group);
    return failed;
  }

  /** News of the market with the keys of a notification, or of accounts; without keys they may be about anything. */
  tell(of: News['of'], keys: readonly string[] | undefined): void {
    for (const group of this.#groups.values()) {
      if (isTouched(group, of, keys)) this.#wish(group);
    }
  }

  /** Reads again what could not be read when it should have been. */
  retry(): void {
    for (const group of this.#groups.values()) if (group.failed) this.#wish(group);
  }

  #entrance(group: Group): Entrance {
    let isInside = false;
    const enter = (): void => {
      if (!isInside) group.entering--;
      isInside = true;
    };
    return {
      join: (member) => {
        enter();
        group.members.add(member);
        if (group.body !== undefined) this.#deliver(member, group.body);
      },
      newest: () => group.body,
      leave: (member) => {
        enter();
        group.members.delete(member);
        this.#drop(group);
      },
    };
  }

  #begin(key: string, operation: Operation): Group {
    const group: Group = {
      key,
      operation,
      members: new Set(),
      entering: 0,
      news: [],
      body: undefined,
      first: Promise.resolve(undefined),
      reading: true,
      again: false,
      failed: false,
    };
    this.#groups.set(key, group);
    group.first = this.#first(group);
    return group;
  }

  async #first(group: Group): Promise<ExecutionResult | undefined> {
    const result = await this.#execute(group);
    group.reading = false;
    if (result.errors !== undefined) return result;
    const body = new Body(JSON.stringify(result));
    if (this.#characters + body.text.length > this.#options.subscription_bytes_max) return FULL;
    this.#show(group, body);
    if (group.again) this.#wish(group);
    return undefined;
  }

  /** Nobody is left: a group that cannot be joined ends as well, so that the next one who asks tries anew. */
  #drop(group: Group): void {
    const isOver = group.members.size === 0 && group.entering === 0;
    if ((!isOver && group.body !== undefined) || this.#groups.get(group.key) !== group) return;
    this.#groups.delete(group.key);
    this.#characters -= group.body?.text.length ?? 0;
  }

  #show(group: Group, body: Body): void {
    this.#characters += body.text.length - (group.body?.text.length ?? 0);
    group.body = body;
  }

  #wish(group: Group): void {
    if (group.reading) {
      group.again = true;
      return;
    }
    group.reading = true;
    // those of accounts, of which there may be one for each socket, are read together when they are wished for together
    if (group.news.length > 0 && group.news.every((news) => news.of === 'accounts'))
      return void this.#reread(group);
    this.#waiting.push(group);
    if (this.#readings < READINGS_MAX) void this.#work();
  }

  async #work(): Promise<void> {
    this.#readings++;
    for (let group = this.#waiting.shift(); group !== undefined; group = this.#waiting.shift()) {
      if (this.#groups.get(group.key) === group) await this.#reread(group);
    }
    this.#readings--;
  }

  async #reread(group: Group): Promise<void> {
    group.again = false;
    await this.#refresh(group);
    group.reading = false;
    if (group.again) this.#wish(group);
  }

  async #refresh(group: Group): Promise<void> {
    const result = await this.#execute(group);
    group.failed = result.errors !== undefined;
    for (const error of result.errors ?? [])
      shownError(this.#options.formatting, error.toJSON(), error);
    if (group.failed) return;
    const text = JSON.stringify(result);
    // nobody may be left in it by now
    if (text === group.body?.text || this.#groups.get(group.key) !== group) return;
    const body = new Body(text);
    this.#show(group, body);
    await this.#deliverAll(group, body);
  }

  /** Who came meanwhile has it already, who has left wants it no more. */
  async #deliverAll({ members }: Group, body: Body): Promise<void> {
    const all = [...members];
    for (let from = 0; from < all.length; from += DELIVERIES_TOGETHER) {
      if (from > 0) await new Promise((resolve) => setImmediate(resolve));
      for (const member of all.slice(from, from + DELIVERIES_TOGETHER))
        if (members.has(member)) this.#deliver(member, body);
    }
  }

  #deliver(member: Member, body: Body): void {
    this.#deliveries++;
    member.deliver(body);
  }

  async #execute(group: Group): Promise<ExecutionResult> {
    const { schema, hub } = this.#options;
    const news: News[] = [];
    const truncation = new Truncation();
    const contextValue: HubContext = {
      hub,
      caller: undefined,
      waitFor: (each) => void news.push(each),
      cut: truncation.cut,
    };
    const { document, operationName, variables } = group.operation;
    const result = await execute({
      schema,
      document,
      operationName,
      variableValues: variables,
      contextValue,
    });
    group.news = news;
    return truncation.told(result);
  }
}

function isTouched({ news }: Group, of: News['of'], keys: readonly string[] | undefined): boolean {
  if (news.length === 0) return true;
  return news.some(
    (each) =>
      each.of === of &&
      (keys === undefined || each.of === 'accounts' || keys.some(each.isTouchedBy)),
  );
}
