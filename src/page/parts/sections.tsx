/** Headed parts and lists of facts inside a sheet. */
import type { ComponentChildren } from 'preact';

export function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="sec">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

export type Fact = readonly [name: string, value: ComponentChildren | undefined];

/** A fact without a value is left out. */
export function Facts({ rows }: { readonly rows: readonly Fact[] }) {
  return (
    <dl class="kv">
      {rows
        .filter(([, value]) => value !== undefined)
        .map(([name, value], at) => (
          <div key={`${name} ${at}`}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
