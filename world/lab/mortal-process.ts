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
export type CrashMoment = 'before' | 'after';

/** Decides at which call the process dies. Called once for each call. */
export type CrashPlan = (call: Call) => CrashMoment | undefined;

export class MortalProcess implements RequestFilter {
  /** Requests to the cluster that never get a response. Reset to zero by a new life. */
  unansweredRequests = 0;
  #calls = 0;
  #dead = false;
  #death = Promise.withResolvers<undefined>();
  readonly #crashPlan: CrashPlan;
  readonly #onDeath: () => void;
  readonly #dyingRequests = new WeakSet<RequestInfo>();

  constructor(crashPlan: CrashPlan, onDeath: () => void) {
    this.#crashPlan = crashPlan;
    this.#onDeath = onDeath;
  }

  /** Number of calls in all lives. */
  get calls(): number {
    return this.#calls;
  }

  admitsRequest(request: RequestInfo): boolean {
    const moment = this.#dead ? undefined : this.#nextMoment(kindOf(request), `${request.method} ${request.path}`);
    if (moment === 'before') this.#die();
    if (moment === 'after') this.#dyingRequests.add(request);
    return this.#isAnswered(request);
  }

  sendsResponse(request: RequestInfo): boolean {
    if (this.#dyingRequests.has(request)) this.#die();
    return this.#isAnswered(request);
  }

  /** Records that a wait of the process is over. */
  endWait(waitedMs: number): void {
    if (!this.#dead && this.#nextMoment('wait', `a wait of ${waitedMs} ms`) !== undefined) this.#die();
  }

  /** Resolves when the process of the current life dies. */
  died(): Promise<undefined> {
    return this.#death.promise;
  }

  /** Drops every further request and response of the process. */
  dropRequests(): void {
    this.#dead = true;
    this.#death.resolve(undefined);
  }

  /** Starts a new process. The old one must have no request in flight. */
  restart(): void {
    this.#dead = false;
    this.#death = Promise.withResolvers();
    this.unansweredRequests = 0;
  }

  #nextMoment(kind: Call['kind'], what: string): CrashMoment | undefined {
    return this.#crashPlan({ serial: ++this.#calls, kind, what });
  }

  #die(): void {
    this.dropRequests();
    this.#onDeath();
  }

  #isAnswered({ side }: RequestInfo): boolean {
    if (this.#dead && side === 'cluster') this.unansweredRequests++;
    return !this.#dead;
  }
}

/** Token requests and access reviews use POST but change nothing. */
function kindOf({ method, path }: RequestInfo): Call['kind'] {
  if (method === 'GET' || method === 'HEAD' || /\/oauth2\/|selfsubject/.test(path)) return 'read';
  return 'write';
}
