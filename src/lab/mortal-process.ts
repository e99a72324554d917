/**
 * A process that may die at any of its calls: before a request takes effect, after the effect and before the response, or at the
 * end of a wait. Between two calls a process does nothing that the world could see, so these are all the moments.
 */
import type { RequestFilter, RequestInfo } from '../simulator/base/request-filter.ts';

export interface Call {
  /** Counts from 1, over all lives of the process. */
  readonly serial: number;
  readonly kind: 'read' | 'write' | 'wait';
  /** A description for people. */
  readonly what: string;
}

/** `before`: the call has no effect. `after`: it has its effect and gets no response. For a wait both are the same. */
export type Moment = 'before' | 'after';

/** Decides at which call the process dies. Called once for each call. */
export type Doom = (call: Call) => Moment | undefined;

export class MortalDoor implements RequestFilter {
  /** Requests to the cluster that never get a response. Reset to zero by a new life. */
  silenced = 0;
  #calls = 0;
  #dead = false;
  #death = Promise.withResolvers<undefined>();
  readonly #doom: Doom;
  readonly #onDeath: () => void;
  readonly #doomed = new WeakSet<RequestInfo>();

  constructor(doom: Doom, onDeath: () => void) {
    this.#doom = doom;
    this.#onDeath = onDeath;
  }

  /** Number of calls in all lives. */
  get calls(): number {
    return this.#calls;
  }

  admits(visitor: RequestInfo): boolean {
    const moment = this.#dead ? undefined : this.#ask(kindOf(visitor), `${visitor.method} ${visitor.path}`);
    if (moment === 'before') this.#die();
    if (moment === 'after') this.#doomed.add(visitor);
    return this.#heard(visitor);
  }

  answers(visitor: RequestInfo): boolean {
    if (this.#doomed.has(visitor)) this.#die();
    return this.#heard(visitor);
  }

  /** Records that a wait of the process is over. */
  wakes(waitedMs: number): void {
    if (!this.#dead && this.#ask('wait', `a wait of ${waitedMs} ms`) !== undefined) this.#die();
  }

  /** Resolves when the process of the current life dies. */
  death(): Promise<undefined> {
    return this.#death.promise;
  }

  /** Drops every further request and response of the process. */
  close(): void {
    this.#dead = true;
    this.#death.resolve(undefined);
  }

  /** Starts a new process. The old one must have no request in flight. */
  reopen(): void {
    this.#dead = false;
    this.#death = Promise.withResolvers();
    this.silenced = 0;
  }

  #ask(kind: Call['kind'], what: string): Moment | undefined {
    return this.#doom({ serial: ++this.#calls, kind, what });
  }

  #die(): void {
    this.close();
    this.#onDeath();
  }

  #heard({ side }: RequestInfo): boolean {
    if (this.#dead && side === 'cluster') this.silenced++;
    return !this.#dead;
  }
}

/** Token requests and access reviews use POST but change nothing. */
function kindOf({ method, path }: RequestInfo): Call['kind'] {
  if (method === 'GET' || method === 'HEAD' || /\/oauth2\/|selfsubject/.test(path)) return 'read';
  return 'write';
}
