/**
 * A process that may die at any of its calls: before a request of its has an effect, after the effect and before the answer,
 * or when a wait of its ends. Between two calls a process does nothing that the world could see, so these are all the moments
 * there are.
 */
import type { RequestFilter, RequestInfo } from '../simulator/base/request-filter.ts';

export interface Call {
  /** Counts from 1, over every life of the process. */
  readonly serial: number;
  readonly kind: 'read' | 'write' | 'wait';
  /** For people. */
  readonly what: string;
}

/** `before`: without effect; `after`: with it, and unanswered. A wait has no effect: both are the same. */
export type Moment = 'before' | 'after';

/** Whether the process dies at this call; asked once for each. */
export type Doom = (call: Call) => Moment | undefined;

export class MortalDoor implements RequestFilter {
  /** Requests of the cluster's that are never answered; zero again with a new life. */
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

  /** How many calls there were, in every life. */
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

  /** A wait of the process is over. */
  wakes(waitedMs: number): void {
    if (!this.#dead && this.#ask('wait', `a wait of ${waitedMs} ms`) !== undefined) this.#die();
  }

  /** Resolves when the process that lives now dies. */
  death(): Promise<undefined> {
    return this.#death.promise;
  }

  /** No word of the process gets out any more, and none in. */
  close(): void {
    this.#dead = true;
    this.#death.resolve(undefined);
  }

  /** A new process. The old one must have nothing on its way any more. */
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

/** Tokens are asked for by POST, and reviews of access, too: they change nothing. */
function kindOf({ method, path }: RequestInfo): Call['kind'] {
  if (method === 'GET' || method === 'HEAD' || /\/oauth2\/|selfsubject/.test(path)) return 'read';
  return 'write';
}
