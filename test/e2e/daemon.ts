/** The daemon as a process of its own, as far as a scenario looks at it. */
import type { Program } from '../../world/simulator/real-control-plane/program.ts';
import { until } from './until.ts';

/** Started by the world; ends with it. */
export class Daemon {
  readonly name: string;
  readonly program: Program;
  readonly lines: readonly string[];
  /** Who it is to Azure. */
  readonly principal: string;
  readonly #url: () => string | undefined;

  constructor(parts: { readonly name: string; readonly program: Program; readonly lines: readonly string[]; readonly principal: string }) {
    const { lines } = parts;
    this.name = parts.name;
    this.program = parts.program;
    this.lines = lines;
    this.principal = parts.principal;
    this.#url = () => /"url":"(http:[^"]+)"/.exec(lines.find((line) => line.includes('Serving metrics')) ?? '')?.[1];
  }

  async ready(): Promise<void> {
    await until(
      `${this.name} is ready`,
      async () => {
        this.mustRun();
        const url = this.#url();
        return url !== undefined && (await fetch(`${url}/readyz`)).ok;
      },
      60_000,
      () => this.program.tail(),
    );
  }

  /** Serving: it may lead or wait for the lead. */
  async serving(): Promise<void> {
    await until(
      `${this.name} serves`,
      () => this.#url(),
      60_000,
      () => this.program.tail(),
    );
  }

  /** The address that it serves at; empty before it serves. */
  get url(): string {
    return this.#url() ?? '';
  }

  async metric(pattern: RegExp): Promise<number> {
    const answer = await fetch(`${this.#url() ?? ''}/metrics`);
    return Number(pattern.exec(await answer.text())?.[1] ?? 0);
  }

  mustRun(): void {
    if (this.program.end !== undefined) throw new Error(`${this.name} ended with ${this.program.end}:\n${this.program.tail()}`);
  }

  /** Lines of its log that say error, and those that a missing right leaves. */
  complaints(): readonly string[] {
    return this.lines.filter((line) => /"level":"?(error|50)|forbidden/i.test(line));
  }
}
