/** The process with the large world, as its parent sees it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { WorldAnswers, WorldOrder, WorldReady, WorldSize } from './world-orders.ts';

/** What 5,000 nodes need is far below what Node.js allows; three times as many are not. */
function heapMb({ nodes, pods }: WorldSize): number {
  return Math.max(4_000, Math.ceil(nodes / 5 + pods / 50));
}

type Message = { readonly ready: WorldReady } | { readonly answer: WorldAnswers[WorldOrder['verb']] } | { readonly error: string };

export class WorldProcess {
  readonly ready: Promise<WorldReady>;
  readonly #child: ChildProcess;
  #answer = Promise.withResolvers<Message>();

  constructor(size: WorldSize, nodeOptions: readonly string[]) {
    this.#child = fork(join(import.meta.dirname, 'world-process.ts'), [JSON.stringify(size)], {
      execArgv: ['--disable-warning=ExperimentalWarning', `--max-old-space-size=${heapMb(size)}`, ...nodeOptions],
      serialization: 'advanced',
    });
    this.#child.on('message', (message: Message) => this.#answer.resolve(message));
    this.#child.on('exit', () => this.#answer.resolve({ error: 'the process of the world ended' }));
    this.ready = this.#answer.promise.then((message) => ('ready' in message ? message.ready : fail(message)));
  }

  async obey<Verb extends WorldOrder['verb']>(order: Extract<WorldOrder, { readonly verb: Verb }>): Promise<WorldAnswers[Verb]> {
    this.#answer = Promise.withResolvers<Message>();
    this.#child.send(order);
    const message = await this.#answer.promise;
    return 'answer' in message ? (message.answer as WorldAnswers[Verb]) : fail(message);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    // It ends by itself when its parent has disconnected: so a profile is written.
    this.#child.disconnect();
    await ended;
  }
}

function fail(message: Message): never {
  throw new Error('error' in message ? message.error : 'an unexpected answer of the world');
}
